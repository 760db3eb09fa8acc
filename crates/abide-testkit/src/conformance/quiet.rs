//! Signals sent without waking: looked at when the instance runs for another reason.

use abide::Delivery;

use crate::Lab;
use crate::fixture::{Does, does, signal};

fn quiet(id: &str) -> Delivery {
    Delivery { wake: false, ..signal("a", "s", id) }
}

pub async fn the_next_commit_looks_at_it_for_waits_that_were_open(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_signal("w", "s").waits()).await;
    assert_eq!(lab.accepted(quiet("m1")).await, (0, true));
    assert_eq!(lab.status("a").await, "waiting");
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
    lab.stored(a, does().completes_step("other").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1"]);
    assert_eq!(lab.status("a").await, "running");
}

pub async fn it_keeps_its_place_before_a_later_one(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(quiet("m1")).await;
    lab.accepted(signal("a", "s", "m2")).await;
    lab.stored(a, does().hears_signal("w", "s").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1"]);
}
