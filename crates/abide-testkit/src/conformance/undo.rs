//! Dropping waits, and giving back what one of them had.

use std::time::Duration;

use abide::{Buffer, Delivery};

use crate::Lab;
use crate::fixture::{Does, does, event, signal};

pub async fn a_dropped_wait_is_cancelled_and_meets_nothing(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").hears("v", "e").waits()).await;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v active"]);
    assert_eq!(lab.news("a", 1).await.len(), 0, "the runner records it itself");
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (1, false));
    assert_eq!(lab.subscriptions("a").await[0], "w cancelled");
}

pub async fn what_fulfilled_it_meanwhile_returns_to_its_place(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_signal("w", "s").waits()).await;
    lab.accepted(signal("a", "s", "m1")).await;
    lab.accepted(signal("a", "s", "m2")).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.forget_hints().await;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert_eq!(lab.waits("a").await[0].fulfilled_at, None);
    assert_eq!(lab.buffered("a").await, ["m1", "m2"]);
    assert_eq!(lab.news("a", known).await, ["event.buffered s"]);
    assert_eq!(lab.status("a").await, "waiting");
    lab.hears(&[]).await;
    assert_eq!(lab.accepted(signal("a", "s", "m1")).await, (1, false), "the answer stays");
}

pub async fn another_wait_that_it_fulfilled_keeps_it(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").hears("v", "e").waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().drops("w")).await;
    assert!(lab.buffered("a").await.is_empty());
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v fulfilled by m1"]);
    lab.stored(a, does().drops("v")).await;
    assert_eq!(lab.buffered("a").await, ["m1"], "until that one is dropped as well");
}

pub async fn two_dropped_at_once_return_it_once(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").hears("v", "e").waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().drops("w").drops("v")).await;
    assert_eq!(lab.buffered("a").await, ["m1"]);
    assert_eq!(lab.news("a", 4).await, ["event.buffered e"]);
}

pub async fn a_latest_gives_way_to_a_newer_one(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.accepted(event("a", "e", "m2")).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.buffered("a").await, ["m2"]);
    assert_eq!(lab.news("a", known).await, ["event.superseded e"]);
}

pub async fn a_latest_does_not_give_way_to_one_whose_time_has_not_come(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    let later = Delivery { visible_at: Some(lab.in_ms(9)), ..event("a", "e", "m2") };
    lab.accepted(later).await;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.buffered("a").await, ["m1", "m2"]);
}

pub async fn a_queued_event_gives_way_to_nobody(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    let sent = |id| Delivery { buffer: Buffer::Queue, ..event("a", "e", id) };
    lab.accepted(sent("m1")).await;
    lab.accepted(sent("m2")).await;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.buffered("a").await, ["m1", "m2"]);
}

pub async fn it_is_offered_to_the_open_waits(lab: &Lab) {
    let a =
        lab.begin_doing("a", does().hears_signal("w", "s").hears_signal("v", "s").waits()).await;
    lab.accepted(signal("a", "s", "m1")).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v fulfilled by m1"]);
    assert_eq!(lab.news("a", known).await, ["event.buffered s", "wait.fulfilled v"]);
    assert_eq!(lab.status("a").await, "running");
}

pub async fn it_is_offered_to_the_waits_of_the_same_commit_the_oldest_first(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_signal("w", "s").waits()).await;
    lab.accepted(signal("a", "s", "m1")).await;
    lab.stored(a, does().drops("w").hears_signal("v", "s")).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v fulfilled by m1"]);
    lab.stored(a, does().hears_signal("open", "s")).await;
    lab.stored(a, does().drops("v").hears_signal("new", "s")).await;
    assert_eq!(lab.subscriptions("a").await[2..], ["open fulfilled by m1", "new active"]);
}

pub async fn an_event_is_offered_to_old_and_new_waits_alike(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().hears("open", "e")).await;
    lab.stored(a, does().drops("w").hears("new", "e")).await;
    let expected = ["w cancelled", "open fulfilled by m1", "new fulfilled by m1"];
    assert_eq!(lab.subscriptions("a").await, expected);
}

pub async fn one_that_expired_stays_expired(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_until("w", "e", lab.in_ms(5)).waits()).await;
    lab.clock.advance(Duration::from_millis(5));
    lab.fall_due(&["a"]).await;
    lab.stored(a, does().drops("w").drops("unknown").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired"]);
}

pub async fn a_dropped_wait_for_an_output_gives_nothing_back(lab: &Lab) {
    let b = lab.begin("b").await;
    let waits = does().reaches(crate::fixture::wait_for_output("w", "b", "k")).waits();
    let a = lab.begin_doing("a", waits).await;
    lab.stored(b, does().sets("k", 1)).await;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert!(lab.buffered("a").await.is_empty());
}
