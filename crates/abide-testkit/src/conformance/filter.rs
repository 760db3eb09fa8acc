//! Waits that want only some of what they hear.

use abide::{Buffer, Delivery, Kind, NewWait};

use crate::Lab;
use crate::fixture::{Does, does, event, folding, json, signal, wait};

fn only(step: &str, kind: Kind, pattern: &str, filter: &str) -> NewWait {
    NewWait { filter: Some(folding(filter)), ..wait(step, kind, pattern) }
}

pub async fn what_the_filter_refuses_leaves_the_wait_open(lab: &Lab) {
    let wants = only("w", Kind::Event, "e", "event.payload === 'm2'");
    lab.begin_doing("a", does().reaches(wants).waits()).await;
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (0, true));
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
    assert_eq!(lab.accepted(event("a", "e", "m2")).await, (1, false));
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m2"]);
    assert_eq!(lab.buffered("a").await, ["m1"]);
}

pub async fn the_first_buffered_entry_that_it_wants_meets_it(lab: &Lab) {
    let a = lab.begin("a").await;
    for id in ["m1", "m2", "m3", "m4"] {
        lab.accepted(Delivery { buffer: Buffer::Queue, ..event("a", "e", id) }).await;
    }
    let wants = only("w", Kind::Event, "*", "event.payload >= 'm2' && event.id !== 'm2'");
    lab.stored(a, does().reaches(wants).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m3"]);
    assert_eq!(lab.buffered("a").await, ["m1", "m2", "m4"]);
}

pub async fn a_signal_goes_to_the_oldest_wait_that_wants_it(lab: &Lab) {
    let wants = only("w", Kind::Signal, "s", "event.payload === 'm2'");
    lab.begin_doing("a", does().reaches(wants).hears_signal("v", "s").waits()).await;
    assert_eq!(lab.accepted(signal("a", "s", "m1")).await, (1, false));
    assert_eq!(lab.subscriptions("a").await, ["w active", "v fulfilled by m1"]);
}

pub async fn two_waits_reached_together_take_what_each_wants(lab: &Lab) {
    let a = lab.begin("a").await;
    for id in ["m1", "m2"] {
        lab.accepted(signal("a", "s", id)).await;
    }
    let wants = only("w", Kind::Signal, "s", "event.payload === 'm2'");
    lab.stored(a, does().reaches(wants).hears_signal("v", "s").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m2", "v fulfilled by m1"]);
}

pub async fn a_filter_that_fails_does_not_match(lab: &Lab) {
    let fails = only("w", Kind::Event, "e", "event.payload.includes(1)");
    lab.begin_doing("a", does().reaches(fails).waits()).await;
    let number = Delivery { payload: Some(json(7)), ..event("a", "e", "m1") };
    assert_eq!(lab.accepted(number).await, (0, true));
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
}

pub async fn an_absent_payload_is_undefined(lab: &Lab) {
    let wants = only("w", Kind::Event, "e", "event.payload === undefined");
    lab.begin_doing("a", does().reaches(wants).waits()).await;
    let null = Delivery { payload: Some(json(())), ..event("a", "e", "m1") };
    assert_eq!(lab.accepted(null).await, (0, true));
    let absent = Delivery { payload: None, ..event("a", "e", "m2") };
    assert_eq!(lab.accepted(absent).await, (1, false));
}

pub async fn what_was_written_and_what_was_folded_are_kept(lab: &Lab) {
    let wants = only("w", Kind::Event, "e", "event.payload === 'm2' && 1 + 1 > 1");
    lab.begin_doing("a", does().reaches(wants.clone()).waits()).await;
    assert_eq!(lab.waits("a").await[0].filter, wants.filter);
}
