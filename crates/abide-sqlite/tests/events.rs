//! How what is sent and what is waited for meet, and what survives.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

mod common;

use abide::history::{EntryKind, StepKind};
use abide::meeting::BufferLimit;
use abide::store::{Committed, Due, Hint, Store};
use abide::{Delivery, Error, Kind, NewTake, OnTerminal, Phase, Timestamp, Transition, WaitFilter};
use abide_sqlite::SqliteStore;
use common::events::{
    MS, answer, cancels, count, deadline, event, hears, kept, met, queued, reaches, signal, story,
    timed, waits,
};
use common::{commit, end, id, listen, start, step};

#[tokio::test]
async fn an_early_event_is_met_once() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let early = store.deliver(event("a", "paid", "e1")).await.unwrap();
    assert_eq!(early, answer("e1", 0, true));
    store.commit(commit(claim, reaches(vec![hears("w1", "paid")]))).await.unwrap();
    store.commit(commit(claim, reaches(vec![hears("w2", "paid")]))).await.unwrap();
    assert_eq!(met(&store, "w1").await, "e1");
    assert_eq!(met(&store, "w2").await, "active");
    assert_eq!(kept(&store, "a").await, [""; 0]);
    assert_eq!(store.instance(&id("a")).await.unwrap().unwrap().phase, Phase::Waiting);
}

#[tokio::test]
async fn the_latest_event_of_a_type_replaces_the_one_before() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    for event_id in ["e1", "e2"] {
        store.deliver(event("a", "paid", event_id)).await.unwrap();
    }
    store.deliver(event("a", "shipped", "e3")).await.unwrap();
    assert_eq!(kept(&store, "a").await, ["e2", "e3"]);
    let told = ["event.received", "event.buffered"];
    let replaced = ["event.received", "event.superseded", "event.buffered"];
    assert_eq!(story(&store, "a", 1).await, [&told[..], &replaced, &told].concat());
    store.commit(commit(claim, reaches(vec![hears("w", "paid")]))).await.unwrap();
    assert_eq!(met(&store, "w").await, "e2");
}

#[tokio::test]
async fn twelve_early_queued_events_keep_their_order_over_a_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let (key, _) = start(&store, "a").await;
    for n in 0..12 {
        store.deliver(queued("a", "tick", &format!("e{n}"))).await.unwrap();
    }
    store.close().await.unwrap();

    let store = SqliteStore::open(&path).await.unwrap();
    let again = store.deliver(queued("a", "tick", "e7")).await.unwrap();
    assert_eq!(again, answer("e7", 0, true), "the same id is answered as the first time");
    let claim = (key, store.claim(key).await.unwrap().unwrap().epoch);
    for n in 0..12 {
        let wait = hears(&format!("w{n}"), "tick");
        store.commit(commit(claim, reaches(vec![wait]))).await.unwrap();
        assert_eq!(met(&store, &format!("w{n}")).await, format!("e{n}"));
    }
    let again = store.deliver(queued("a", "tick", "e7")).await.unwrap();
    assert_eq!(again, answer("e7", 0, true), "also once it is consumed");
    assert_eq!(kept(&store, "a").await, [""; 0]);
}

#[tokio::test]
async fn a_queue_is_heard_in_order_also_by_a_wildcard() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    for (name, event_id) in [("b.z", "e1"), ("b.a", "e2"), ("b.z", "e3")] {
        store.deliver(queued("a", name, event_id)).await.unwrap();
    }
    let both = vec![hears("exact", "b.a"), hears("wild", "b.*")];
    store.commit(commit(claim, reaches(both))).await.unwrap();
    assert_eq!((met(&store, "exact").await, met(&store, "wild").await), ("e2".into(), "e1".into()));
    assert_eq!(kept(&store, "a").await, ["e3"]);
}

#[tokio::test]
async fn an_event_serves_every_open_wait_and_each_has_a_hint_of_its_own() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let hints = listen(&store).await;
    let claim = start(&store, "a").await;
    let both = vec![hears("w1", "order.paid"), hears("w2", "order.*")];
    store.commit(commit(claim, reaches(both))).await.unwrap();
    let rows = store.stats().rows;
    let delivered = store.deliver(event("a", "order.paid", "e1")).await.unwrap();
    assert_eq!(delivered, answer("e1", 2, false));
    assert_eq!(store.stats().rows, rows + 1, "one row");
    let arrived: Vec<(i64, String)> = hints
        .try_iter()
        .map(|hint| match hint {
            Hint::Arrived(_, recorded) => {
                (recorded.seq, recorded.entry.name.clone().unwrap().to_string())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(arrived, [(3, "w1".to_owned()), (4, "w2".to_owned())]);
    let instance = store.instance(&id("a")).await.unwrap().unwrap();
    assert_eq!((instance.phase, instance.next_seq), (Phase::Running, 5));

    let mut unheard = commit(claim, reaches(vec![]));
    unheard.heard = 3;
    store.commit(unheard).await.unwrap();
    assert_eq!(store.instance(&id("a")).await.unwrap().unwrap().phase, Phase::Running);
}

#[tokio::test]
async fn a_signal_goes_to_the_oldest_wait_only() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let wait = |step: &str| waits(step, Kind::Signal, "go", None);
    store.commit(commit(claim, reaches(vec![wait("w1"), wait("w2")]))).await.unwrap();
    assert_eq!(store.deliver(event("a", "go", "e")).await.unwrap(), answer("e", 0, true));
    assert_eq!(store.deliver(signal("a", "go", "s1")).await.unwrap(), answer("s1", 1, false));
    assert_eq!((met(&store, "w1").await, met(&store, "w2").await), ("s1".into(), "active".into()));
}

#[tokio::test]
async fn what_ended_refuses_by_its_status_unless_told_to_ignore_and_an_unknown_one_is_not_found() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.deliver(event("a", "paid", "before")).await.unwrap();
    store.commit(commit(claim, end())).await.unwrap();
    let refused = store.deliver(event("a", "paid", "late")).await.unwrap_err();
    assert_eq!(refused.code(), "WORKFLOW_NOT_RUNNING");
    assert!(refused.to_string().contains("completed"), "{refused}");
    let ignored = Delivery { on_terminal: OnTerminal::Ignore, ..event("a", "paid", "late") };
    assert_eq!(store.deliver(ignored).await.unwrap(), answer("late", 0, false));
    let again = store.deliver(event("a", "paid", "before")).await.unwrap();
    assert_eq!(again, answer("before", 0, true), "what it answered before it answers again");
    let unknown = store.deliver(event("nobody", "paid", "e")).await.unwrap_err();
    assert!(matches!(unknown, Error::InstanceNotFound { .. }), "{unknown}");
}

#[tokio::test]
async fn an_event_before_the_deadline_wins_and_one_at_it_loses() {
    let (clock, options) = timed();
    let store = options.open_temporary().await.unwrap();
    let hints = listen(&store).await;
    let claim = start(&store, "a").await;
    let wait = |step: &str, at| waits(step, Kind::Event, step, Some(at));
    let both = vec![wait("early", 1_010), wait("late", 1_010)];
    store.commit(commit(claim, reaches(both))).await.unwrap();
    let due = Due { at: Timestamp(1_010), key: claim.0 };
    assert!(matches!(hints.try_recv().unwrap(), Hint::Due(found) if found == due));
    clock.advance(MS * 9);
    assert_eq!(store.deliver(event("a", "early", "e1")).await.unwrap(), answer("e1", 1, false));
    clock.advance(MS);
    assert_eq!(store.deliver(event("a", "late", "e2")).await.unwrap(), answer("e2", 0, true));
    assert_eq!(
        (met(&store, "early").await, met(&store, "late").await),
        ("e1".into(), "expired".into())
    );
    let told = story(&store, "a", 3).await;
    assert_eq!(told, ["wait.expired", "event.received", "event.buffered"]);
}

#[tokio::test]
async fn a_signal_sent_without_waking_is_found_before_its_wait_expires() {
    let (clock, options) = timed();
    let store = options.open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let wait = waits("w", Kind::Signal, "go", Some(1_010));
    store.commit(commit(claim, reaches(vec![wait]))).await.unwrap();
    let quiet = Delivery { wake: false, ..signal("a", "go", "s") };
    assert_eq!(store.deliver(quiet).await.unwrap(), answer("s", 0, true));
    assert_eq!(met(&store, "w").await, "active");
    clock.advance(MS * 20);
    store.fall_due(vec![claim.0]).await.unwrap();
    assert_eq!(met(&store, "w").await, "s");
}

#[tokio::test]
async fn a_delayed_event_becomes_visible_when_it_falls_due() {
    let (clock, options) = timed();
    let store = options.open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![hears("w", "paid")]))).await.unwrap();
    store.release(claim.0, claim.1);
    let later = Delivery { visible_at: Some(Timestamp(1_005)), ..event("a", "paid", "e") };
    assert_eq!(store.deliver(later).await.unwrap(), answer("e", 0, true));
    let due = Due { at: Timestamp(1_005), key: claim.0 };
    assert_eq!(store.due(Due::FIRST, Timestamp(1_006), 10).await.unwrap(), [due]);
    store.fall_due(vec![claim.0]).await.unwrap();
    assert_eq!(
        (met(&store, "w").await, kept(&store, "a").await),
        ("active".into(), vec!["e".into()])
    );
    clock.advance(MS * 5);
    store.fall_due(vec![claim.0]).await.unwrap();
    assert_eq!((met(&store, "w").await, kept(&store, "a").await), ("e".into(), vec![]));
}

#[tokio::test]
async fn a_cancelled_wait_gives_back_what_it_had_to_those_still_open() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let wait = |step: &str| waits(step, Kind::Signal, "go", None);
    store.commit(commit(claim, reaches(vec![wait("w1"), wait("w2")]))).await.unwrap();
    store.deliver(signal("a", "go", "s1")).await.unwrap();
    store.commit(commit(claim, cancels("w1"))).await.unwrap();
    assert_eq!(
        (met(&store, "w1").await, met(&store, "w2").await),
        ("cancelled".into(), "s1".into())
    );
    store.commit(commit(claim, cancels("w2"))).await.unwrap();
    store.deliver(signal("a", "go", "s2")).await.unwrap();
    assert_eq!(kept(&store, "a").await, ["s1", "s2"], "it is back in its place");
}

#[tokio::test]
async fn what_a_cancelled_wait_gives_back_meets_one_of_the_same_commit_also_after_a_takeover() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let (key, _) = start(&store, "a").await;
    let first = store.claim(key).await.unwrap().unwrap().epoch;
    store.commit(commit((key, first), reaches(vec![hears("w1", "paid")]))).await.unwrap();
    store.deliver(event("a", "paid", "e1")).await.unwrap();
    let second = store.claim(key).await.unwrap().unwrap().epoch;
    let both = Transition { waits: vec![hears("w2", "paid")], ..cancels("w1") };
    store.commit(commit((key, second), both)).await.unwrap();
    assert_eq!(
        (met(&store, "w1").await, met(&store, "w2").await),
        ("cancelled".into(), "e1".into())
    );
}

#[tokio::test]
async fn a_cancelled_wait_keeps_a_newer_event_of_its_type() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![hears("w", "paid")]))).await.unwrap();
    for event_id in ["e1", "e2"] {
        store.deliver(event("a", "paid", event_id)).await.unwrap();
    }
    store.commit(commit(claim, cancels("w"))).await.unwrap();
    assert_eq!(kept(&store, "a").await, ["e2"]);
    assert_eq!(count(&store, "a", EntryKind::EventSuperseded).await, 1);
}

#[tokio::test]
async fn a_take_finds_what_is_there_or_nothing_and_settles_either_way() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.deliver(signal("a", "go", "s")).await.unwrap();
    let take = |step: &str| NewTake { step: step.into(), kind: Kind::Signal, pattern: "go".into() };
    let takes = vec![take("first"), take("second")];
    store.commit(commit(claim, Transition { takes, ..step("x") })).await.unwrap();
    let history = store.history(&id("a"), 4, 10).await.unwrap();
    let found: Vec<_> =
        history.iter().map(|r| (r.entry.step_kind(), r.entry.payload.is_some())).collect();
    assert_eq!(found, [(StepKind::Take, true), (StepKind::Take, false)]);
}

#[tokio::test]
async fn a_full_buffer_refuses_the_sender_and_a_met_wait_does_not_count() {
    let limit = BufferLimit { entries: 2, bytes: 1_000 };
    let store = SqliteStore::options().buffer_limit(limit).open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    for event_id in ["e1", "e2"] {
        store.deliver(queued("a", "tick", event_id)).await.unwrap();
    }
    let refused = store.deliver(queued("a", "tick", "e3")).await.unwrap_err();
    assert!(matches!(refused, Error::BufferFull { entries: 2, .. }), "{refused}");
    store.commit(commit(claim, reaches(vec![hears("w", "other")]))).await.unwrap();
    let heard = store.deliver(queued("a", "other", "e4")).await.unwrap();
    assert_eq!(heard, answer("e4", 1, false));
    store.commit(commit(claim, reaches(vec![hears("w2", "tick")]))).await.unwrap();
    store.deliver(queued("a", "tick", "e3")).await.unwrap();
    assert_eq!(kept(&store, "a").await, ["e2", "e3"]);
}

#[tokio::test]
async fn only_the_last_ids_are_remembered_and_what_is_kept() {
    let store = SqliteStore::options().remembered_ids(2).open_temporary().await.unwrap();
    start(&store, "a").await;
    store.deliver(queued("a", "kept", "kept")).await.unwrap();
    for n in 0..4 {
        let dropped = Delivery { buffer: abide::Buffer::None, ..event("a", "x", &format!("e{n}")) };
        store.deliver(dropped).await.unwrap();
    }
    let received = count(&store, "a", EntryKind::EventReceived).await;
    for again in ["kept", "e2", "e3"] {
        store.deliver(queued("a", "x", again)).await.unwrap();
    }
    assert_eq!(count(&store, "a", EntryKind::EventReceived).await, received);
    assert_eq!(store.deliver(queued("a", "x", "e0")).await.unwrap(), answer("e0", 0, true));
}

#[tokio::test]
async fn a_full_disk_during_a_delivery_leaves_nothing() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![hears("w", "big")]))).await.unwrap();
    store.execute_for_test("PRAGMA max_page_count = 40").await.unwrap();
    let payload = Some(abide::Json::encode(&"x".repeat(300_000)).unwrap());
    let big = Delivery { payload, ..event("a", "big", "e") };
    let refused = store.deliver(big.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::StoreUnavailable { .. }), "{refused}");
    assert_eq!((met(&store, "w").await, kept(&store, "a").await), ("active".into(), vec![]));
    assert_eq!(story(&store, "a", 1).await, [""; 0]);

    store.execute_for_test("PRAGMA max_page_count = 100000").await.unwrap();
    assert_eq!(store.deliver(big).await.unwrap(), answer("e", 1, false));
    assert_eq!(store.commit(commit(claim, step("on"))).await.unwrap(), Committed::Stored);
}

#[tokio::test]
async fn a_delivery_onto_a_damaged_buffer_is_refused_and_leaves_nothing() {
    let store = SqliteStore::open_temporary().await.unwrap();
    start(&store, "a").await;
    store.deliver(event("a", "paid", "e1")).await.unwrap();
    store.execute_for_test("UPDATE inbox SET payload = '{'").await.unwrap();
    let refused = store.deliver(event("a", "paid", "e2")).await.unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    assert_eq!(story(&store, "a", 3).await, [""; 0]);
    store.execute_for_test("UPDATE inbox SET payload = NULL").await.unwrap();
    store.deliver(event("a", "paid", "e2")).await.unwrap();
    assert_eq!(kept(&store, "a").await, ["e2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn senders_and_waits_that_race_neither_lose_nor_double_a_signal() {
    const SENDERS: usize = 8;
    const EACH: usize = 25;
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let senders = (0..SENDERS).map(|sender| {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..EACH {
                let delivery = signal("a", "go", &format!("s{sender}.{n}"));
                store.deliver(delivery.clone()).await.unwrap();
                store.deliver(delivery).await.unwrap();
            }
        })
    });
    let senders: Vec<_> = senders.collect();
    for n in 0..SENDERS * EACH {
        let wait = waits(&format!("w{n}"), Kind::Signal, "go", None);
        store.commit(commit(claim, reaches(vec![wait]))).await.unwrap();
        if n % 3 == 0 {
            store.commit(commit(claim, cancels(&format!("w{n}")))).await.unwrap();
            let again = waits(&format!("again{n}"), Kind::Signal, "go", None);
            store.commit(commit(claim, reaches(vec![again]))).await.unwrap();
        }
    }
    for sender in senders {
        sender.await.unwrap();
    }
    let all = store.waits(WaitFilter::default()).await.unwrap();
    let mut met: Vec<_> = all.iter().filter_map(|wait| wait.fulfilled_by.clone()).collect();
    assert_eq!(met.len(), SENDERS * EACH, "every signal met a wait");
    met.sort();
    met.dedup();
    assert_eq!(met.len(), SENDERS * EACH, "and only one");
    assert_eq!(kept(&store, "a").await, [""; 0]);
}

#[tokio::test]
async fn an_outside_delivery_is_refused_when_too_much_is_queued() {
    let store = SqliteStore::options().max_queued(0).open_temporary().await.unwrap();
    let refused = store.deliver(event("a", "paid", "e")).await.unwrap_err();
    assert!(matches!(refused, Error::RateLimited { .. }), "{refused}");
    let refused = store.edit_wait("sub_w", deadline(None)).await.unwrap_err();
    assert!(matches!(refused, Error::RateLimited { .. }), "{refused}");
    store.fall_due(vec![]).await.unwrap();
}
