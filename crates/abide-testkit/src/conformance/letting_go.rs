//! Published events that a wait had and gave back.

use std::time::Duration;

use abide::{Kind, NewWait, Since};

use crate::Lab;
use crate::fixture::{Does, does, event, published, wait, wait_for_many};

pub async fn what_an_undone_wait_had_is_in_the_buffer(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert_eq!(lab.buffered("a").await, ["p1"]);
    assert_eq!(lab.buffer("a").await[0].log.as_ref().unwrap().seq, 1);
    assert_eq!(lab.news("a", known).await, ["event.buffered e"]);
    assert_eq!(lab.takers("p1").await, ["a"], "it had it");
    lab.stored(a, does().hears("v", "e").hears("u", "f").waits()).await;
    assert_eq!(lab.subscriptions("a").await[1..], ["v fulfilled by p1", "u active"]);
    assert!(lab.buffered("a").await.is_empty());
}

pub async fn it_is_taken_from_the_buffer_once(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().drops("w")).await;
    lab.stored(a, does().hears("v", "e")).await;
    lab.stored(a, does().hears("u", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await[1..], ["v fulfilled by p1", "u active"]);
}

pub async fn what_was_found_in_the_log_returns_too(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.published(published("e", "p1")).await;
    lab.published(published("e", "p2")).await;
    lab.stored(a, does().hears("w", "e")).await;
    lab.stored(a, does().drops("w").hears("v", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v fulfilled by p1"]);
}

pub async fn a_wait_that_does_not_reach_back_to_it_leaves_it(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().drops("w")).await;
    let now = NewWait { since: Since::Now, ..wait("now", Kind::Event, "e") };
    lab.stored(a, does().reaches(now).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "now active"]);
    assert_eq!(lab.buffered("a").await, ["p1"]);
    assert_eq!(lab.published(published("e", "p2")).await, ["now of a"]);
}

pub async fn it_is_offered_to_the_waits_that_were_open(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(wait_for_many("w", "e", 2)).waits()).await;
    lab.published(published("e", "p1")).await;
    let now = NewWait { since: Since::Now, ..wait("now", Kind::Event, "e") };
    lab.stored(a, does().hears("v", "e").reaches(now).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w active", "v active", "now active"]);
    lab.stored(a, does().drops("w").waits()).await;
    let expected = ["w cancelled", "v fulfilled by p1", "now active"];
    assert_eq!(lab.subscriptions("a").await, expected);
}

pub async fn what_an_expired_count_held_goes_back(lab: &Lab) {
    let counted = NewWait { timeout_at: Some(lab.in_ms(5)), ..wait_for_many("w", "e", 3) };
    let a = lab.begin_doing("a", does().reaches(counted).waits()).await;
    lab.published(published("e", "p1")).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.clock.advance(Duration::from_millis(5));
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired"]);
    assert_eq!(lab.buffered("a").await, ["p1", "m1"], "in the order they came");
    lab.stored(a, does().reaches(wait_for_many("v", "e", 2)).waits()).await;
    assert_eq!(lab.subscriptions("a").await[1], "v fulfilled by m1");
}

pub async fn it_gives_way_to_nobody(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().drops("w").waits()).await;
    lab.accepted(event("a", "e", "m2")).await;
    assert_eq!(lab.buffered("a").await, ["p1", "m2"]);
}

pub async fn another_wait_that_it_fulfilled_keeps_it(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").hears("v", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().drops("w")).await;
    assert!(lab.buffered("a").await.is_empty());
    lab.stored(a, does().drops("v")).await;
    assert_eq!(lab.buffered("a").await, ["p1"], "until that one is dropped as well");
}

pub async fn it_can_be_taken_without_waiting(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().drops("w").takes("t", Kind::Event, "e")).await;
    assert!(lab.buffered("a").await.is_empty());
    assert_eq!(lab.history("a").await.pop().unwrap().entry.event_id.as_deref(), Some("p1"));
    lab.stored(a, does().hears("v", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await[1], "v active");
}

pub async fn the_log_alone_is_not_there_to_be_taken(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().takes("t", Kind::Event, "e")).await;
    assert_eq!(lab.history("a").await.pop().unwrap().entry.event_id, None);
}

pub async fn the_end_discards_it(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(wait_for_many("w", "e", 2)).waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().completes(1)).await;
    assert!(lab.buffered("a").await.is_empty());
    let told = lab.news("a", 2).await;
    let expected = ["wait.cancelled w", "event.buffered e", "event.discarded e"];
    assert_eq!(told, expected);
    assert_eq!(lab.takers("p1").await, ["a"]);
}

pub async fn the_next_run_finds_it_in_the_buffer(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(wait_for_many("w", "e", 2)).waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().continues(2)).await;
    assert_eq!(lab.buffered("a").await, ["p1"]);
    let a = lab.take("a").await;
    lab.stored(a, does().hears("v", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v fulfilled by p1"]);
}

pub async fn it_stays_although_the_log_forgets_it(lab: &Lab) {
    use abide::LogRetention;
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().drops("w")).await;
    let all = LogRetention { max_per_type: Some(0), ..LogRetention::default() };
    assert_eq!(lab.store.prune_log(all, 10).await.unwrap(), 1);
    assert_eq!(lab.buffered("a").await, ["p1"]);
    lab.stored(a, does().hears("v", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await[1], "v fulfilled by p1");
}
