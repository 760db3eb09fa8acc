//! Waits for several, which hold what came until the last of them did.

use abide::{Buffer, Count, Delivery, Kind, NewWait};

use crate::Lab;
use crate::fixture::{Does, does, event, folding, json, signal, wait};

fn counts(needed: u32, step: &str, kind: Kind, pattern: &str) -> NewWait {
    let count = Some(Count { needed, distinct_by: None, held: vec![] });
    NewWait { count, ..wait(step, kind, pattern) }
}

fn distinct(needed: u32, step: &str) -> NewWait {
    let distinct_by = Some(folding("event.payload.user"));
    let count = Some(Count { needed, distinct_by, held: vec![] });
    NewWait { count, ..wait(step, Kind::Event, "e") }
}

fn vote(user: &str, id: &str) -> Delivery {
    let payload = Some(json(serde_json::json!({ "user": user })));
    Delivery { payload, ..event("a", "e", id) }
}

/// The ids of what a counted wait was given.
async fn given(lab: &Lab, step: &str) -> Vec<String> {
    let history = lab.store.history(&crate::fixture::id("a"), 0, 1000).await.unwrap();
    let found = history.iter().rev().find(|recorded| {
        recorded.entry.outcome().is_some() && recorded.entry.name.as_deref() == Some(step)
    });
    let events: Vec<serde_json::Value> =
        found.unwrap().entry.payload.as_ref().unwrap().decode().unwrap();
    events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

async fn holds(lab: &Lab, step: &str) -> Vec<String> {
    let waits = lab.waits("a").await;
    let wait = waits.iter().find(|wait| *wait.step == *step).unwrap();
    let held = &wait.count.as_ref().unwrap().held;
    held.iter().map(|held| held.id.to_string()).collect()
}

pub async fn the_last_one_fulfils_it_with_all_of_them_in_order(lab: &Lab) {
    lab.begin_doing("a", does().reaches(counts(3, "w", Kind::Event, "e")).waits()).await;
    let known = lab.get("a").await.next_seq - 1;
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (0, true));
    assert_eq!(lab.accepted(event("a", "e", "m2")).await, (0, true), "nothing is superseded");
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
    assert_eq!(lab.buffered("a").await, ["m1", "m2"]);
    assert_eq!(holds(lab, "w").await, ["m1", "m2"]);
    assert_eq!(lab.status("a").await, "waiting", "it is not woken for half of it");
    assert_eq!(lab.accepted(event("a", "e", "m3")).await, (1, false));
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m3"]);
    assert_eq!(given(lab, "w").await, ["m1", "m2", "m3"]);
    assert!(lab.buffered("a").await.is_empty());
    let told = ["event.received e", "event.buffered e", "event.received e", "event.buffered e"];
    assert_eq!(lab.news("a", known).await[..4], told);
}

pub async fn what_came_early_counts(lab: &Lab) {
    let a = lab.begin("a").await;
    for id in ["m1", "m2", "m3"] {
        lab.accepted(signal("a", "s", id)).await;
    }
    lab.stored(a, does().reaches(counts(2, "w", Kind::Signal, "s")).waits()).await;
    assert_eq!(given(lab, "w").await, ["m1", "m2"]);
    assert_eq!(lab.buffered("a").await, ["m3"]);
    lab.stored(a, does().reaches(counts(2, "v", Kind::Signal, "s")).waits()).await;
    assert_eq!(holds(lab, "v").await, ["m3"]);
    lab.accepted(signal("a", "s", "m4")).await;
    assert_eq!(given(lab, "v").await, ["m3", "m4"]);
}

pub async fn what_is_held_is_met_taken_and_replaced_by_nobody(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(counts(2, "w", Kind::Event, "e")).waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().hears("v", "e").takes("t", Kind::Event, "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w active", "v active"]);
    assert_eq!(lab.accepted(event("a", "e", "m2")).await, (2, false), "both hear the next");
    assert_eq!(given(lab, "w").await, ["m1", "m2"]);
}

pub async fn a_distinct_key_counts_once(lab: &Lab) {
    lab.begin_doing("a", does().reaches(distinct(2, "w")).waits()).await;
    assert_eq!(lab.accepted(vote("ann", "m1")).await, (0, true));
    assert_eq!(lab.accepted(vote("ann", "m2")).await, (0, true), "no match, so it is buffered");
    assert_eq!(holds(lab, "w").await, ["m1"]);
    assert_eq!(lab.accepted(vote("bob", "m3")).await, (1, false));
    assert_eq!(given(lab, "w").await, ["m1", "m3"]);
    assert_eq!(lab.buffered("a").await, ["m2"]);
}

pub async fn on_expiry_they_go_back_and_it_says_how_many_there_were(lab: &Lab) {
    let at = lab.in_ms(5);
    let wants = NewWait { timeout_at: Some(at), ..counts(3, "w", Kind::Event, "e") };
    let a = lab.begin_doing("a", does().reaches(wants).waits_until(at)).await;
    for id in ["m1", "m2"] {
        lab.accepted(Delivery { buffer: Buffer::Queue, ..event("a", "e", id) }).await;
    }
    let known = lab.get("a").await.next_seq - 1;
    lab.clock.set(at);
    lab.fall_due(&["a"]).await;
    assert_eq!(
        lab.news("a", known).await,
        ["wait.expired w", "event.buffered e", "event.buffered e"]
    );
    let history = lab.store.history(&crate::fixture::id("a"), known, 1).await.unwrap();
    let details = history[0].entry.error.as_ref().unwrap().details.as_ref().unwrap();
    let details: serde_json::Value = details.decode().unwrap();
    assert_eq!(details["received"], 2);
    lab.stored(a, does().hears("v", "e")).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired", "v fulfilled by m1"]);
    assert_eq!(lab.buffered("a").await, ["m2"]);
}

pub async fn what_an_expired_one_lets_go_is_offered_to_the_others(lab: &Lab) {
    let at = lab.in_ms(5);
    let wants = NewWait { timeout_at: Some(at), ..counts(3, "w", Kind::Signal, "s") };
    lab.begin_doing("a", does().reaches(wants).hears_signal("v", "s").waits_until(at)).await;
    lab.accepted(signal("a", "s", "m1")).await;
    assert_eq!(lab.subscriptions("a").await, ["w active", "v active"], "the oldest holds it");
    lab.clock.set(at);
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired", "v fulfilled by m1"]);
}

pub async fn of_the_latest_only_the_newest_goes_back(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(counts(3, "w", Kind::Event, "e")).waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.accepted(event("a", "e", "m2")).await;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert_eq!(lab.buffered("a").await, ["m2"]);
}

pub async fn another_wait_that_it_fulfilled_keeps_what_is_let_go(lab: &Lab) {
    let a = lab
        .begin_doing("a", does().reaches(counts(2, "w", Kind::Event, "e")).hears("v", "e").waits())
        .await;
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (1, false));
    assert_eq!(holds(lab, "w").await, ["m1"]);
    lab.stored(a, does().drops("w").waits()).await;
    assert!(lab.buffered("a").await.is_empty());
}

pub async fn two_that_hold_the_same_let_it_go_together(lab: &Lab) {
    let two =
        does().reaches(counts(2, "w", Kind::Event, "e")).reaches(counts(3, "v", Kind::Event, "e"));
    let a = lab.begin_doing("a", two.waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(holds(lab, "v").await, ["m1"]);
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v active"]);
    lab.stored(a, does().drops("v").hears("x", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await[2], "x fulfilled by m1");
}

pub async fn one_that_was_met_unseen_gives_all_of_them_back(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(counts(2, "w", Kind::Signal, "s")).waits()).await;
    lab.accepted(signal("a", "s", "m1")).await;
    lab.accepted(signal("a", "s", "m2")).await;
    lab.stored(a, does().drops("w").waits()).await;
    assert_eq!(lab.buffered("a").await, ["m1", "m2"]);
}

pub async fn what_is_held_counts_for_the_limit_of_the_buffer(lab: &Lab) {
    lab.begin_doing("a", does().reaches(counts(5000, "w", Kind::Signal, "s")).waits()).await;
    for n in 0..1000 {
        lab.accepted(signal("a", "s", &format!("m{n}"))).await;
    }
    assert_eq!(lab.refused(signal("a", "s", "more")).await, "BUFFER_FULL");
}

pub async fn the_end_discards_what_is_held(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(counts(2, "w", Kind::Event, "e")).waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.stored(a, does().completes(1)).await;
    assert!(lab.buffered("a").await.is_empty());
    assert!(lab.news("a", known).await.contains(&"event.discarded e".to_owned()));
}

pub async fn the_next_run_finds_what_was_held_in_the_buffer(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(counts(2, "w", Kind::Event, "e")).waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().continues(2)).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert_eq!(lab.buffered("a").await, ["m1"]);
}
