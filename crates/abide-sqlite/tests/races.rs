//! Who loses a race, who has given up before it, and who lets go, however late anybody looks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

mod common;

use abide::history::EntryKind;
use abide::store::Store;
use abide::{Count, Delivery, Hears, Kind, NewWait, Timestamp, Transition};
use abide_sqlite::SqliteStore;
use common::events::{
    MS, answer, cancels, count, hears, kept, met, queued, reaches, signal, story, timed, waits,
};
use common::{commit, end, id, start};

fn racing(wait: NewWait) -> NewWait {
    NewWait { race: Some("r".into()), ..wait }
}

fn counts(step: &str, pattern: &str, timeout_at: Option<i64>) -> NewWait {
    let counted = Some(Count { needed: 3, distinct_by: None, held: vec![] });
    NewWait { count: counted, ..waits(step, Kind::Event, pattern, timeout_at) }
}

#[tokio::test]
async fn who_had_given_up_before_the_race_was_won_expires_and_does_not_lose() {
    let (clock, options) = timed();
    let store = options.open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let both = vec![
        racing(waits("early", Kind::Event, "x", Some(1_005))),
        racing(waits("late", Kind::Event, "paid", None)),
        racing(waits("last", Kind::Event, "y", Some(1_015))),
    ];
    store.commit(commit(claim, reaches(both))).await.unwrap();
    let later = Delivery { visible_at: Some(Timestamp(1_010)), ..queued("a", "paid", "e1") };
    store.deliver(later).await.unwrap();
    clock.advance(MS * 20);
    store.fall_due(vec![claim.0]).await.unwrap();
    assert_eq!(
        (met(&store, "early").await, met(&store, "late").await),
        ("expired".into(), "e1".into())
    );
    assert_eq!(met(&store, "last").await, "cancelled", "it was open when the race was won");
    assert_eq!(story(&store, "a", 3).await, ["wait.cancelled", "wait.fulfilled", "wait.expired"]);
}

#[tokio::test]
async fn a_late_look_that_wins_cancels_one_whose_deadline_is_still_to_come() {
    let (clock, options) = timed();
    let store = options.open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let both = vec![
        racing(waits("w", Kind::Signal, "go", Some(1_010))),
        racing(waits("v", Kind::Signal, "other", Some(1_100))),
    ];
    store.commit(commit(claim, reaches(both))).await.unwrap();
    store.deliver(Delivery { wake: false, ..signal("a", "go", "s1") }).await.unwrap();
    clock.advance(MS * 20);
    store.fall_due(vec![claim.0]).await.unwrap();
    assert_eq!((met(&store, "w").await, met(&store, "v").await), ("s1".into(), "cancelled".into()));
}

#[tokio::test]
async fn an_output_wins_a_race_whether_it_is_there_or_comes() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let (other, claim) = (start(&store, "b").await, start(&store, "a").await);
    let output = |step: &str, key: &str| {
        let hears = Hears::Output { of: id("b"), key: key.into() };
        racing(NewWait { hears, ..waits(step, Kind::Event, "", None) })
    };
    let value = abide::Json::encode(&1).unwrap();
    let sets = |key: &str| Transition {
        outputs: vec![(key.into(), value.clone())],
        ..Transition::default()
    };
    let first = vec![racing(hears("w1", "paid")), output("o1", "k"), output("o2", "k")];
    store.commit(commit(claim, reaches(first))).await.unwrap();
    let known = store.instance(&id("a")).await.unwrap().unwrap().next_seq - 1;
    store.commit(commit(other, sets("k"))).await.unwrap();
    let all = ["w1", "o1", "o2"];
    for (step, status) in all.into_iter().zip(["cancelled", "fulfilled", "cancelled"]) {
        assert_eq!(met(&store, step).await, status, "{step}");
    }
    let told = ["wait.cancelled", "wait.cancelled", "wait.fulfilled"];
    assert_eq!(story(&store, "a", known).await, told);

    let second = vec![racing(hears("w2", "paid")), output("o3", "k")];
    store.commit(commit(claim, reaches(second))).await.unwrap();
    assert_eq!(
        (met(&store, "w2").await, met(&store, "o3").await),
        ("cancelled".into(), "fulfilled".into())
    );
}

#[tokio::test]
async fn one_that_expires_as_it_is_reached_lets_go_of_what_was_early() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.deliver(signal("a", "paid", "s1")).await.unwrap();
    let hears = Hears::Sent { kind: Kind::Signal, pattern: "paid".into() };
    let over = NewWait { hears: hears.clone(), ..counts("w", "paid", Some(1)) };
    let next = NewWait { hears, ..waits("v", Kind::Signal, "paid", None) };
    let known = store.instance(&id("a")).await.unwrap().unwrap().next_seq - 1;
    store.commit(commit(claim, reaches(vec![over, next]))).await.unwrap();
    assert_eq!((met(&store, "w").await, met(&store, "v").await), ("expired".into(), "s1".into()));
    let told = ["wait.expired", "event.buffered", "wait.fulfilled"];
    assert_eq!(story(&store, "a", known).await, told);
}

#[tokio::test]
async fn what_a_wait_holds_that_the_last_commit_drops_is_discarded_once() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![counts("w", "paid", None)]))).await.unwrap();
    assert_eq!(store.deliver(queued("a", "paid", "e1")).await.unwrap(), answer("e1", 0, true));
    let last = Transition { end: end().end, ..cancels("w") };
    store.commit(commit(claim, last)).await.unwrap();
    assert_eq!(kept(&store, "a").await, [""; 0]);
    assert_eq!(count(&store, "a", EntryKind::EventDiscarded).await, 1);
}
