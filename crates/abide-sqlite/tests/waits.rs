//! Filters, races and counts as they are stored: columns, what is held, and what is cleaned up.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

mod common;

use std::path::Path;

use abide::expr::{Env, Expr};
use abide::lifecycle::Control;
use abide::store::{IfExists, Store};
use abide::{
    Buffer, Count, Delivery, Error, Folding, Kind, NewInstance, NewWait, Timestamp, Transition,
    WaitFilter,
};
use abide_sqlite::SqliteStore;
use common::events::{
    MS, answer, cancels, deadline, event, hears, kept, met, queued, reaches, signal, timed, waits,
};
use common::{commit, end, id, start, step};

fn folding(written: &str) -> Folding {
    let expr: Expr = written.parse().unwrap();
    Folding { written: written.into(), folded: expr.fold(&Env::new()).unwrap() }
}

fn counts(step: &str, pattern: &str, needed: u32, distinct_by: Option<&str>) -> NewWait {
    let count = Count { needed, distinct_by: distinct_by.map(folding), held: vec![] };
    NewWait { count: Some(count), ..hears(step, pattern) }
}

fn paid(event_id: &str, n: u32) -> Delivery {
    let payload = Some(abide::Json::encode(&serde_json::json!({ "n": n })).unwrap());
    Delivery { payload, ..queued("a", "paid", event_id) }
}

/// What a query finds, by the eyes of somebody who looks with SQL.
fn look(path: &Path, sql: &str) -> String {
    let raw = rusqlite::Connection::open(path).unwrap();
    raw.query_row(sql, [], |row| row.get::<_, Option<String>>(0)).unwrap().unwrap_or_default()
}

const HELD: &str = "SELECT group_concat(id, ' ') FROM (SELECT id FROM held ORDER BY wait, nth)";

#[tokio::test]
async fn a_wait_reads_back_as_it_was_reached_and_sql_sees_what_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let claim = start(&store, "a").await;
    let filtered = NewWait {
        filter: Some(folding("1 + 1 === event.payload.n")),
        race: Some("r".into()),
        ..hears("w", "paid")
    };
    let counted = counts("v", "paid", 3, Some("event.payload.n"));
    store.commit(commit(claim, reaches(vec![filtered.clone(), counted.clone()]))).await.unwrap();
    store.deliver(paid("e1", 7)).await.unwrap();
    store.close().await.unwrap();

    let store = SqliteStore::open(&path).await.unwrap();
    let found = store.waits(WaitFilter::default()).await.unwrap();
    assert_eq!((&found[0].filter, &found[0].race), (&filtered.filter, &filtered.race));
    let count = found[1].count.clone().unwrap();
    let held: Vec<_> =
        count.held.iter().map(|held| (&*held.id, held.distinct.as_deref())).collect();
    assert_eq!(held, [("e1", Some("7"))]);
    assert_eq!(Some(Count { held: vec![], ..count }), counted.count);
    let columns = "SELECT filter_condition || ' ' || filter_folded || ' ' || race
                     FROM workflow_event_subscriptions WHERE wait_step_id = 'w'";
    assert_eq!(look(&path, columns), "1 + 1 === event.payload.n 2 === event.payload.n r");
    let columns = "SELECT needed || ' ' || distinct_by || ' ' || distinct_folded
                     FROM workflow_event_subscriptions WHERE wait_step_id = 'v'";
    assert_eq!(look(&path, columns), "3 event.payload.n event.payload.n");

    store.deliver(paid("e2", 2)).await.unwrap();
    assert_eq!((met(&store, "w").await, met(&store, "v").await), ("e2".into(), "active".into()));
    store.deliver(paid("e3", 7)).await.unwrap();
    assert_eq!(kept(&store, "a").await, ["e1", "e3"], "of 7 there is one already");
    store.deliver(paid("e4", 8)).await.unwrap();
    assert_eq!(met(&store, "v").await, "e4");
    assert_eq!(kept(&store, "a").await, ["e3"]);
}

#[tokio::test]
async fn what_is_held_is_listed_but_is_no_early_event_to_sql() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![counts("w", "paid", 2, None)]))).await.unwrap();
    let held = store.deliver(event("a", "paid", "e1")).await.unwrap();
    assert_eq!(held, answer("e1", 0, true));
    assert_eq!(kept(&store, "a").await, ["e1"]);
    assert_eq!(look(&path, "SELECT group_concat(event_name) FROM event_buffer"), "");
    assert_eq!(look(&path, "SELECT group_concat(state) FROM inbox"), "held");
    store.commit(commit(claim, cancels("w"))).await.unwrap();
    assert_eq!(look(&path, "SELECT group_concat(event_name) FROM event_buffer"), "paid");
}

#[tokio::test]
async fn nothing_is_left_of_what_was_held_once_its_wait_gave_up_or_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let (clock, options) = timed();
    let store = options.open(&path).await.unwrap();
    let claim = start(&store, "a").await;
    let holds = |step: &str, event_id: &str| {
        let wait = counts(step, event_id, 2, None);
        (reaches(vec![wait]), queued("a", event_id, event_id))
    };
    for (n, (reached, early)) in
        [holds("w1", "e1"), holds("w2", "e2"), holds("w3", "e3")].into_iter().enumerate()
    {
        store.commit(commit(claim, reached)).await.unwrap();
        assert_eq!(store.deliver(early).await.unwrap().delivered, 0, "{n}");
    }
    assert_eq!(look(&path, HELD), "e1 e2 e3");
    store.commit(commit(claim, cancels("w1"))).await.unwrap();
    assert_eq!(look(&path, HELD), "e2 e3");
    store.edit_wait("sub_w2", deadline(Some(1_001))).await.unwrap();
    clock.advance(MS);
    store.fall_due(vec![claim.0]).await.unwrap();
    assert_eq!((met(&store, "w2").await, look(&path, HELD)), ("expired".into(), "e3".into()));

    store.deliver(queued("a", "e3", "e4")).await.unwrap();
    assert_eq!(met(&store, "w3").await, "e4");
    assert_eq!(look(&path, HELD), "e3", "it may still be undone");
    store.control(&id("a"), Control::Restart { from_step: None }).await.unwrap();
    assert_eq!(look(&path, HELD), "");
}

#[tokio::test]
async fn pruning_and_ends_take_along_what_is_held() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let store = SqliteStore::open(&path).await.unwrap();
    for name in ["a", "b"] {
        let claim = start(&store, name).await;
        let both = vec![
            counts(&format!("{name}-met"), "paid", 2, None),
            counts(&format!("{name}-open"), "paid", 3, None),
        ];
        store.commit(commit(claim, reaches(both))).await.unwrap();
        for event_id in ["e1", "e2"] {
            store.deliver(event(name, "paid", event_id)).await.unwrap();
        }
        if name == "a" {
            store.commit(commit(claim, end())).await.unwrap();
        }
    }
    assert_eq!(look(&path, HELD), "e1 e1 e1 e2", "what was met with, and what is still open");
    assert_eq!(store.prune(Timestamp::MAX, 10).await.unwrap(), 1);
    assert_eq!(look(&path, HELD), "e1 e1 e2", "those of the other one");
}

#[tokio::test]
async fn what_an_open_wait_holds_is_not_forgotten_with_old_ids() {
    let store = SqliteStore::options().remembered_ids(1).open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let both = vec![counts("w", "paid", 2, None), hears("v", "paid")];
    store.commit(commit(claim, reaches(both))).await.unwrap();
    assert_eq!(store.deliver(paid("e1", 1)).await.unwrap(), answer("e1", 1, false));
    for n in 0..4 {
        let dropped = Delivery { buffer: Buffer::None, ..event("a", "x", &format!("x{n}")) };
        store.deliver(dropped).await.unwrap();
    }
    assert_eq!(store.deliver(paid("e2", 2)).await.unwrap(), answer("e2", 1, false));
    let history = store.history(&id("a"), 0, usize::MAX).await.unwrap();
    let given = history.last().unwrap().entry.payload.as_ref().unwrap().as_str().to_owned();
    assert!(given.contains("\"e1\"") && given.contains("\"e2\""), "{given}");
}

#[tokio::test]
async fn a_filter_that_can_not_be_read_refuses_and_leaves_nothing() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let filter = Some(folding("event.payload.n > 1"));
    let wait = NewWait { filter, ..hears("w", "paid") };
    store.commit(commit(claim, reaches(vec![wait]))).await.unwrap();
    let damage = "UPDATE workflow_event_subscriptions SET filter_folded = '('";
    store.execute_for_test(damage).await.unwrap();
    // Whoever runs it has it in memory.
    store.release(claim.0, claim.1);
    let refused = store.deliver(paid("e1", 2)).await.unwrap_err();
    assert!(matches!(&refused, Error::Corrupt { what } if what.contains("filter")), "{refused}");
    assert_eq!(kept(&store, "a").await, [""; 0]);
}

#[tokio::test]
async fn damage_in_what_is_held_refuses_the_last_one_and_leaves_nothing() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![counts("w", "paid", 2, None)]))).await.unwrap();
    store.deliver(paid("e1", 1)).await.unwrap();
    store.execute_for_test("UPDATE inbox SET payload = '{'").await.unwrap();
    let refused = store.deliver(paid("e2", 2)).await.unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    store.execute_for_test("UPDATE inbox SET payload = NULL").await.unwrap();
    assert_eq!((met(&store, "w").await, kept(&store, "a").await.len()), ("active".into(), 1));
    assert_eq!(store.deliver(paid("e2", 2)).await.unwrap(), answer("e2", 1, false));
}

#[tokio::test]
async fn a_filter_finds_its_entry_behind_many_that_it_does_not_want() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    for n in 0..20 {
        store.deliver(paid(&format!("e{n}"), n)).await.unwrap();
    }
    let wants = |step: &str, written: &str| NewWait {
        filter: Some(folding(written)),
        ..hears(step, "paid")
    };
    let all = vec![wants("w", "event.payload.n === 17"), hears("any", "paid")];
    store.commit(commit(claim, reaches(all))).await.unwrap();
    assert_eq!((met(&store, "w").await, met(&store, "any").await), ("e17".into(), "e0".into()));
    let all = vec![counts("three", "paid", 3, None), hears("next", "paid")];
    store.commit(commit(claim, reaches(all))).await.unwrap();
    assert_eq!((met(&store, "three").await, met(&store, "next").await), ("e3".into(), "e1".into()));
}

#[tokio::test]
async fn a_quiet_signal_is_found_by_a_plain_step_also_after_a_takeover() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let wait = |step: &str| waits(step, Kind::Signal, "go", None);
    store.commit(commit(claim, reaches(vec![wait("w1"), wait("w2")]))).await.unwrap();
    let quiet = |event_id: &str| Delivery { wake: false, ..signal("a", "go", event_id) };
    store.deliver(quiet("s1")).await.unwrap();
    store.commit(commit(claim, step("x"))).await.unwrap();
    assert_eq!(met(&store, "w1").await, "s1");
    store.deliver(quiet("s2")).await.unwrap();
    let taken_over = store.claim(claim.0).await.unwrap().unwrap().epoch;
    assert_eq!(met(&store, "w2").await, "active");
    store.commit(commit((claim.0, taken_over), step("y"))).await.unwrap();
    assert_eq!(met(&store, "w2").await, "s2");
}

#[tokio::test]
async fn what_returned_and_was_taken_meanwhile_meets_nobody() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let wait = |step: &str| waits(step, Kind::Signal, "go", None);
    store.commit(commit(claim, reaches(vec![wait("w1"), wait("w2")]))).await.unwrap();
    store.deliver(signal("a", "go", "s1")).await.unwrap();
    let take = abide::NewTake { step: "t".into(), kind: Kind::Signal, pattern: "go".into() };
    let both = Transition { takes: vec![take], ..cancels("w1") };
    store.commit(commit(claim, both)).await.unwrap();
    assert_eq!((met(&store, "w2").await, kept(&store, "a").await), ("active".into(), vec![]));
}

#[tokio::test]
async fn a_start_whose_wait_has_an_id_that_is_taken_leaves_nothing() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![hears("w", "paid")]))).await.unwrap();
    let first = Some(reaches(vec![hears("w", "paid")]));
    let new = NewInstance { first, ..common::new("b") };
    let refused = store.start(vec![new.clone()], IfExists::Error).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    assert_eq!(store.instance(&id("b")).await.unwrap(), None);
    let again = NewInstance { first: Some(reaches(vec![hears("v", "paid")])), ..new };
    store.start(vec![again], IfExists::Error).await.unwrap();
    assert_eq!(met(&store, "v").await, "active");
}
