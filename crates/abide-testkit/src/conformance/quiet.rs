//! Signals sent without waking: looked at when the instance runs for another reason.

use abide::lifecycle::Control;
use abide::{Clock, Delivery};

use crate::Lab;
use crate::fixture::{Does, does, id, signal};

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

pub async fn a_nudge_has_it_looked_at(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_signal("w", "s").waits()).await;
    lab.accepted(quiet("m1")).await;
    lab.forget_hints().await;
    lab.clock.advance(std::time::Duration::from_millis(3));
    let woken = lab.store.control(&id("a"), Control::Wake { at: None }).await.unwrap();
    assert_eq!((woken.status().as_str(), woken.updated_at), ("running", lab.clock.now()));
    lab.hears(&["runnable a"]).await;
    lab.stored(a, does().waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1"]);
}

pub async fn a_nudge_may_come_later(lab: &Lab) {
    lab.begin_doing("a", does().hears_signal("w", "s").waits()).await;
    lab.forget_hints().await;
    let at = lab.in_ms(5);
    for at in [at, lab.in_ms(9)] {
        let told = lab.store.control(&id("a"), Control::Wake { at: Some(at) }).await.unwrap();
        assert_eq!(told.status().as_str(), "waiting");
    }
    assert_eq!(lab.get("a").await.wake_at, Some(at), "the earlier one counts");
    lab.hears(&["due a"]).await;
}

pub async fn a_nudge_moves_nobody_who_is_paused_or_has_ended(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_signal("w", "s").waits()).await;
    lab.pause("a").await;
    let told = lab.store.control(&id("a"), Control::Wake { at: None }).await.unwrap();
    assert_eq!(told.status().as_str(), "paused");
    lab.store.control(&id("a"), Control::Resume).await.unwrap();
    lab.stored(a, does().completes(1)).await;
    let refused = lab.store.control(&id("a"), Control::Wake { at: None }).await.unwrap_err();
    assert_eq!(refused.code(), "INVALID_TRANSITION");
}
