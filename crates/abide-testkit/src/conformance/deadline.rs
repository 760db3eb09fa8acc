//! What falls due: deadlines of waits, and what was sent to be seen later.

use std::time::Duration;

use abide::{Buffer, Delivery, Kind, NewWait, Phase};

use crate::Lab;
use crate::fixture::{Does, does, event, signal, wait};

fn later(lab: &Lab, ms: i64, sent: Delivery) -> Delivery {
    Delivery { visible_at: Some(lab.in_ms(ms)), ..sent }
}

pub async fn a_wait_past_its_deadline_expires(lab: &Lab) {
    let waits = does()
        .hears_until("past", "e", lab.in_ms(5))
        .hears_until("later", "e", lab.in_ms(6))
        .hears("open", "e");
    lab.begin_doing("a", waits.waits_until(lab.in_ms(5))).await;
    lab.clock.advance(Duration::from_millis(4));
    let before = lab.everything().await;
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.everything().await, before, "not before its deadline");
    lab.clock.advance(Duration::from_millis(1));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["past expired", "later active", "open active"]);
    assert_eq!((lab.status("a").await, lab.get("a").await.wake_at), ("running", None));
    lab.hears(&["arrived a wait.expired"]).await;
}

pub async fn it_names_what_did_not_come_and_how_long_it_waited(lab: &Lab) {
    lab.begin_doing("a", does().hears_until("w", "e.*", lab.in_ms(5)).waits()).await;
    lab.clock.advance(Duration::from_millis(50));
    lab.fall_due(&["a"]).await;
    let error = lab.history("a").await.pop().unwrap().entry.error.unwrap();
    assert_eq!((&*error.code, error.step.as_deref()), ("EVENT_TIMEOUT", Some("w")));
    assert!(error.message.contains("Event timeout"), "{error:?}");
    let details: serde_json::Value = error.details.unwrap().decode().unwrap();
    assert_eq!((&details["eventType"], &details["timeoutMs"]), (&"e.*".into(), &5.into()));
}

pub async fn the_earliest_deadline_expires_first(lab: &Lab) {
    let waits = does()
        .hears_until("second", "e", lab.in_ms(6))
        .hears_until("first", "e", lab.in_ms(5))
        .hears_until("third", "e", lab.in_ms(6));
    lab.begin_doing("a", waits.waits()).await;
    lab.clock.advance(Duration::from_millis(9));
    lab.fall_due(&["a"]).await;
    let told = ["wait.expired first", "wait.expired second", "wait.expired third"];
    assert_eq!(lab.news("a", 1).await, told);
}

pub async fn only_the_given_instances_are_looked_at_in_their_order(lab: &Lab) {
    for name in ["a", "b", "c"] {
        let late = NewWait {
            id: format!("sub_{name}").into(),
            timeout_at: Some(lab.in_ms(5)),
            ..wait("w", Kind::Event, "e")
        };
        lab.begin_doing(name, does().reaches(late).waits()).await;
    }
    lab.clock.advance(Duration::from_millis(5));
    lab.forget_hints().await;
    lab.fall_due(&["c", "a"]).await;
    assert_eq!(lab.subscriptions("b").await, ["w active"]);
    lab.hears(&["arrived c wait.expired", "arrived a wait.expired"]).await;
    lab.fall_due(&["c", "a"]).await;
    lab.hears(&[]).await;
}

pub async fn nothing_falls_due_at_what_is_gone_or_has_ended(lab: &Lab) {
    let a = lab.begin_doing("a", does().completes(1)).await;
    let before = lab.everything().await;
    let unknown = abide::InstanceKey(a.key.0 + 1000);
    lab.store.fall_due(vec![a.key, unknown]).await.unwrap();
    lab.store.fall_due(vec![]).await.unwrap();
    assert_eq!(lab.everything().await, before);
}

pub async fn what_came_before_the_deadline_wins_however_late_anybody_looks(lab: &Lab) {
    let waits = does().hears_until("w", "e", lab.in_ms(10)).waits();
    lab.begin_doing("a", waits).await;
    lab.accepted(later(lab, 9, event("a", "e", "m1"))).await;
    lab.clock.advance(Duration::from_millis(99));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1"]);
    assert!(lab.buffered("a").await.is_empty());
}

pub async fn what_came_at_the_deadline_or_after_it_loses_however_late_anybody_looks(lab: &Lab) {
    let waits = does().hears_until("w", "e", lab.in_ms(10)).waits();
    lab.begin_doing("a", waits).await;
    lab.accepted(later(lab, 10, event("a", "e", "m1"))).await;
    lab.clock.advance(Duration::from_millis(99));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired"]);
    assert_eq!(lab.buffered("a").await, ["m1"]);
}

pub async fn a_delivery_decides_first_what_fell_due(lab: &Lab) {
    let in_time = NewWait { timeout_at: Some(lab.in_ms(10)), ..wait("w", Kind::Signal, "s") };
    lab.begin_doing("a", does().reaches(in_time).hears_signal("open", "s").waits()).await;
    lab.accepted(later(lab, 9, signal("a", "s", "m1"))).await;
    lab.clock.advance(Duration::from_millis(99));
    assert_eq!(lab.accepted(signal("a", "s", "m2")).await, (1, false));
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1", "open fulfilled by m2"]);
}

pub async fn what_became_visible_is_accepted_in_order_of_its_time(lab: &Lab) {
    let waits = does().hears_signal("one", "s").hears_signal("two", "s").waits();
    lab.begin_doing("a", waits).await;
    lab.accepted(later(lab, 20, signal("a", "s", "second"))).await;
    lab.accepted(later(lab, 10, signal("a", "s", "first"))).await;
    lab.accepted(later(lab, 30, signal("a", "s", "third"))).await;
    lab.clock.advance(Duration::from_millis(25));
    lab.forget_hints().await;
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["one fulfilled by first", "two fulfilled by second"]);
    assert_eq!(lab.buffered("a").await, ["third"]);
    lab.hears(&["arrived a wait.fulfilled", "arrived a wait.fulfilled"]).await;
}

pub async fn what_became_visible_and_meets_no_wait_follows_its_policy(lab: &Lab) {
    lab.begin_doing("a", does().waits()).await;
    lab.accepted(event("a", "e", "old")).await;
    lab.accepted(later(lab, 5, event("a", "e", "new"))).await;
    let none = Delivery { buffer: Buffer::None, ..event("a", "f", "dropped") };
    lab.accepted(later(lab, 5, none)).await;
    lab.accepted(later(lab, 5, signal("a", "s", "queued"))).await;
    lab.clock.advance(Duration::from_millis(5));
    let known = lab.get("a").await.next_seq - 1;
    lab.forget_hints().await;
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.buffered("a").await, ["new", "queued"]);
    assert_eq!(lab.news("a", known).await, ["event.superseded e"]);
    assert_eq!(lab.status("a").await, "waiting");
    lab.hears(&[]).await;
}

pub async fn before_it_expires_a_wait_looks_for_what_was_sent_without_waking(lab: &Lab) {
    let late = NewWait { timeout_at: Some(lab.in_ms(10)), ..wait("w", Kind::Signal, "s") };
    let too = NewWait { timeout_at: Some(lab.in_ms(10)), ..wait("v", Kind::Signal, "s") };
    lab.begin_doing("a", does().reaches(late).reaches(too).waits()).await;
    lab.accepted(Delivery { wake: false, ..signal("a", "s", "m1") }).await;
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await[0], "w active", "not before");
    lab.clock.advance(Duration::from_millis(10));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1", "v expired"]);
}

pub async fn what_comes_later_without_waking_wakes_nobody_then_either(lab: &Lab) {
    lab.begin_doing("a", does().hears_signal("w", "s").waits()).await;
    let sent = Delivery { wake: false, ..signal("a", "s", "m1") };
    lab.accepted(later(lab, 5, sent)).await;
    lab.clock.advance(Duration::from_millis(5));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
    assert_eq!(lab.buffered("a").await, ["m1"]);
}

pub async fn a_paused_instance_gets_the_next_moment_as_its_wake_up_or_none(lab: &Lab) {
    let waits = does().hears_until("one", "e", lab.in_ms(5)).hears_until("two", "e", lab.in_ms(9));
    lab.begin_doing("a", waits.waits_until(lab.in_ms(5)).pauses()).await;
    lab.begin_doing("sleeps", does().sleeps_until(lab.in_ms(5)).pauses()).await;
    lab.clock.advance(Duration::from_millis(5));
    lab.forget_hints().await;
    lab.fall_due(&["a", "sleeps"]).await;
    let now = lab.get("a").await;
    assert_eq!((now.phase, now.paused, now.wake_at), (Phase::Running, true, Some(lab.in_ms(4))));
    let sleeps = lab.get("sleeps").await;
    assert_eq!((sleeps.phase, sleeps.wake_at), (Phase::Sleeping, None));
    lab.hears(&["arrived a wait.expired", "due a"]).await;
    lab.clock.advance(Duration::from_millis(4));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.get("a").await.wake_at, None);
    assert_eq!(lab.subscriptions("a").await, ["one expired", "two expired"]);
    assert_eq!(lab.status("a").await, "paused");
}

pub async fn a_paused_start_keeps_its_moment(lab: &Lab) {
    let new = abide::NewInstance { start_at: Some(lab.in_ms(5)), ..crate::fixture::instance("a") };
    lab.start(vec![new], abide::IfExists::Error).await.unwrap();
    lab.pause("a").await;
    lab.clock.advance(Duration::from_millis(5));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.get("a").await.wake_at, Some(lab.in_ms(0)));
}

pub async fn an_open_wait_can_be_given_another_deadline(lab: &Lab) {
    lab.begin_doing("a", does().hears_until("w", "e", lab.in_ms(50)).waits()).await;
    lab.forget_hints().await;
    let edited = lab.edit_wait("w", Some(lab.in_ms(10))).await.unwrap();
    assert_eq!(edited.timeout_at, Some(lab.in_ms(10)));
    assert_eq!(lab.waits("a").await, [edited]);
    assert_eq!(lab.get("a").await.wake_at, Some(lab.in_ms(10)));
    lab.hears(&["due a"]).await;
    assert_eq!(lab.edit_wait("w", None).await.unwrap().timeout_at, None);
    lab.clock.advance(Duration::from_millis(99));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
    lab.hears(&[]).await;
}

pub async fn a_deadline_moved_into_the_past_expires_when_it_is_next_looked_at(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.edit_wait("w", Some(lab.in_ms(-5))).await.unwrap();
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
    assert_eq!(lab.due(lab.in_ms(0)).await, ["a"]);
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired"]);
}

pub async fn a_runner_that_knows_the_old_deadline_is_woken_at_the_new_one(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_until("w", "e", lab.in_ms(50))).await;
    lab.edit_wait("w", Some(lab.in_ms(10))).await.unwrap();
    assert_eq!(lab.get("a").await.wake_at, None, "it runs");
    lab.stored(a, does().waits_until(lab.in_ms(50))).await;
    assert_eq!(lab.get("a").await.wake_at, Some(lab.in_ms(10)));
}

pub async fn a_wait_that_is_not_open_or_not_there_has_no_deadline_to_move(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    let before = lab.everything().await;
    let closed = lab.edit_wait("w", None).await.unwrap_err();
    let unknown = lab.edit_wait("x", None).await.unwrap_err();
    assert_eq!((closed.code(), unknown.code()), ("INVALID_TRANSITION", "SUBSCRIPTION_NOT_FOUND"));
    assert_eq!(lab.everything().await, before);
}
