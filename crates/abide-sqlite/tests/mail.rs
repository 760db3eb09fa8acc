//! What ends, restarts and the outside do to waits, buffer and outputs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

mod common;

use abide::history::{EntryKind, StepKind};
use abide::lifecycle::Control;
use abide::store::{Committed, Hint, IfExists, Started, Store};
use abide::{
    Delivery, End, Error, Hears, InstanceKey, Json, Kind, NewInstance, NewSend, NewWait, Status,
    Timestamp, Transition, Wait, WaitFilter, WaitStatus,
};
use abide_sqlite::SqliteStore;
use common::events::{
    MS, answer, cancels, count, deadline, event, hears, kept, met, queued, reaches, sent, signal,
    story, timed, waits,
};
use common::{child, commit, end, id, listen, new, start, step};

fn value(text: &str) -> Json {
    Json::encode(text).unwrap()
}

fn sets(key: &str, text: &str) -> Transition {
    Transition { outputs: vec![(key.into(), value(text))], ..Transition::default() }
}

fn waits_for_output(step: &str, of: &str, key: &str) -> NewWait {
    let hears = Hears::Output { of: id(of), key: key.into() };
    NewWait { hears, ..waits(step, Kind::Event, "", None) }
}

fn sends(step: &str, to: &str, event_id: &str) -> Transition {
    let delivery =
        Delivery { source: Some("a".into()), ..sent(Kind::Message, to, "topic", event_id) };
    let sends = vec![NewSend { step: step.into(), delivery }];
    Transition { sends, ..Transition::default() }
}

#[tokio::test]
async fn an_end_cancels_waits_and_discards_the_buffer_in_a_row_before_its_own() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store
        .commit(commit(claim, reaches(vec![hears("w", "never"), hears("own", "x")])))
        .await
        .unwrap();
    store.deliver(event("a", "paid", "e1")).await.unwrap();
    let last = Transition { cancels: vec!["own".into()], ..end() };
    assert_eq!(store.commit(commit(claim, last)).await.unwrap(), Committed::Stored);
    let told = story(&store, "a", 3).await;
    assert_eq!(told, ["wait.cancelled", "event.discarded", "workflow.completed"]);
    assert_eq!(
        (met(&store, "w").await, met(&store, "own").await),
        ("cancelled".into(), "cancelled".into())
    );
    assert_eq!(kept(&store, "a").await, [""; 0]);
}

#[tokio::test]
async fn what_a_last_commit_gives_back_is_discarded_too() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![hears("w", "paid")]))).await.unwrap();
    store.deliver(event("a", "paid", "e1")).await.unwrap();
    let last = Transition { end: end().end, ..cancels("w") };
    store.commit(commit(claim, last)).await.unwrap();
    assert_eq!(kept(&store, "a").await, [""; 0]);
    assert_eq!(count(&store, "a", EntryKind::EventDiscarded).await, 1);
}

#[tokio::test]
async fn a_termination_from_outside_tidies_up_what_nobody_runs() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![hears("w", "paid")]))).await.unwrap();
    store.release(claim.0, claim.1);
    store.deliver(event("a", "other", "e1")).await.unwrap();
    let ended = store.control(&id("a"), Control::Terminate(abide::Terminate::default())).await;
    assert_eq!(ended.unwrap().status(), Status::Terminated);
    let told = story(&store, "a", 3).await;
    assert_eq!(told, ["wait.cancelled", "event.discarded", "workflow.terminated"]);
}

#[tokio::test]
async fn a_whole_restart_forgets_everything_and_uses_no_key_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let claim = start(&store, "a").await;
    let both = Transition { outputs: sets("k", "v").outputs, ..reaches(vec![hears("w", "paid")]) };
    store.commit(commit(claim, both)).await.unwrap();
    store.deliver(event("a", "other", "e1")).await.unwrap();
    let before = store.waits(WaitFilter::default()).await.unwrap()[0].key;
    let mail = store.buffer(&id("a")).await.unwrap()[0].key;
    store.control(&id("a"), Control::Restart { from_step: None }).await.unwrap();
    assert_eq!(store.waits(WaitFilter::default()).await.unwrap(), []);
    assert_eq!(kept(&store, "a").await, [""; 0]);
    assert_eq!(store.outputs(&id("a")).await.unwrap(), []);
    store.close().await.unwrap();

    let store = SqliteStore::open(&path).await.unwrap();
    let again = store.deliver(event("a", "other", "e1")).await.unwrap();
    assert_eq!(again, answer("e1", 0, true), "its id is not remembered");
    assert!(store.buffer(&id("a")).await.unwrap()[0].key > mail);
    let epoch = store.claim(claim.0).await.unwrap().unwrap().epoch;
    let mut second = commit((claim.0, epoch), reaches(vec![hears("w", "paid")]));
    second.run = 2;
    store.commit(second).await.unwrap();
    assert!(store.waits(WaitFilter::default()).await.unwrap()[0].key > before);
}

#[tokio::test]
async fn a_next_run_and_a_restart_from_a_step_keep_all_but_open_waits() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.deliver(event("a", "paid", "e1")).await.unwrap();
    let first =
        Transition { outputs: sets("k", "v").outputs, ..reaches(vec![hears("w", "never")]) };
    store.commit(commit(claim, first)).await.unwrap();
    let next = Transition { end: Some(End::Continued(Json::null())), ..step("s") };
    store.commit(commit(claim, next)).await.unwrap();
    assert_eq!(
        (met(&store, "w").await, kept(&store, "a").await),
        ("cancelled".into(), vec!["e1".into()])
    );

    let epoch = store.claim(claim.0).await.unwrap().unwrap().epoch;
    let mut second = commit((claim.0, epoch), reaches(vec![hears("w2", "paid"), hears("w3", "x")]));
    second.run = 2;
    store.commit(second).await.unwrap();
    assert_eq!(met(&store, "w2").await, "e1", "the next run finds it");
    let from = Control::Restart { from_step: Some("w2".to_owned()) };
    store.control(&id("a"), from).await.unwrap();
    assert_eq!(
        (met(&store, "w2").await, met(&store, "w3").await),
        ("e1".into(), "cancelled".into())
    );
    assert_eq!(store.outputs(&id("a")).await.unwrap().len(), 1);
    let again = store.deliver(event("a", "paid", "e1")).await.unwrap();
    assert_eq!(again, answer("e1", 0, true), "its id is remembered");
}

#[tokio::test]
async fn outputs_are_replaced_and_meet_waits_before_and_after() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let hints = listen(&store).await;
    let (a, b) = (start(&store, "a").await, start(&store, "b").await);
    store.commit(commit(b, reaches(vec![waits_for_output("early", "a", "k")]))).await.unwrap();
    for text in ["one", "two"] {
        store.commit(commit(a, sets("k", text))).await.unwrap();
    }
    store.commit(commit(b, reaches(vec![waits_for_output("late", "a", "k")]))).await.unwrap();
    let outputs = store.outputs(&id("a")).await.unwrap();
    assert_eq!(
        outputs.iter().map(|o| (&*o.key, o.value.clone())).collect::<Vec<_>>(),
        [("k", value("two"))]
    );
    let history = store.history(&id("b"), 1, 10).await.unwrap();
    let seen: Vec<_> =
        history.into_iter().map(|r| (r.entry.step_kind(), r.entry.payload.unwrap())).collect();
    assert_eq!(seen, [(StepKind::Output, value("one")), (StepKind::Output, value("two"))]);
    let set =
        hints.try_iter().filter(|hint| matches!(hint, Hint::OutputSet(of, _) if *of == id("a")));
    assert_eq!(set.count(), 2);
    let unknown = store.outputs(&id("nobody")).await.unwrap_err();
    assert!(matches!(unknown, Error::InstanceNotFound { .. }), "{unknown}");
}

#[tokio::test]
async fn an_output_meets_who_waited_for_it_before_the_store_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let b = start(&store, "b").await;
    store.commit(commit(b, reaches(vec![waits_for_output("early", "a", "k")]))).await.unwrap();
    store.close().await.unwrap();

    let store = SqliteStore::open(&path).await.unwrap();
    let a = start(&store, "a").await;
    store.commit(commit(a, sets("k", "one"))).await.unwrap();
    assert_eq!(met(&store, "early").await, "fulfilled");
}

#[tokio::test]
async fn a_message_goes_with_the_commit_that_sends_it_or_not_at_all() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let (a, b) = (start(&store, "a").await, start(&store, "b").await);
    let wait = waits("w", Kind::Message, "topic", None);
    store.commit(commit(b, reaches(vec![wait]))).await.unwrap();

    let mut broken = child("c", true);
    let park = abide::Park { phase: abide::Phase::Completed, wake_at: None, reason: None };
    broken.instance.first = Some(Transition { park: Some(park), ..Transition::default() });
    let refused = Transition { children: vec![broken], ..sends("send", "b", "m1") };
    assert!(store.commit(commit(a, refused)).await.is_err());
    assert_eq!(met(&store, "w").await, "active");
    let stale = (a.0, abide::store::Epoch(0));
    let fenced = store.commit(commit(stale, sends("send", "b", "m1"))).await.unwrap();
    assert_eq!((fenced, met(&store, "w").await), (Committed::Fenced, "active".to_owned()));

    store.commit(commit(a, sends("send", "b", "m1"))).await.unwrap();
    assert_eq!(met(&store, "w").await, "m1");
    store.commit(commit(a, sends("lost", "nobody", "m2"))).await.unwrap();
    assert_eq!(story(&store, "a", 1).await, ["step.completed", "step.failed"]);
    let history = store.history(&id("b"), 2, 10).await.unwrap();
    let payload: serde_json::Value =
        serde_json::from_str(history[0].entry.payload.as_ref().unwrap().as_str()).unwrap();
    assert_eq!(payload["source"], "a");
}

#[tokio::test]
async fn a_first_poll_may_wait_send_and_publish() {
    let store = SqliteStore::open_temporary().await.unwrap();
    start(&store, "b").await;
    let first = Transition {
        outputs: sets("k", "v").outputs,
        sends: sends("send", "b", "m1").sends,
        ..reaches(vec![hears("w", "paid")])
    };
    let a = NewInstance { first: Some(first), ..new("a") };
    let started = store.start(vec![a], IfExists::Error).await.unwrap();
    assert!(matches!(started[..], [Started::Running { .. }]));
    assert_eq!(kept(&store, "b").await, ["m1"]);
    assert_eq!(store.outputs(&id("a")).await.unwrap().len(), 1);
    assert_eq!(store.deliver(event("a", "paid", "e")).await.unwrap(), answer("e", 1, false));
}

#[tokio::test]
async fn an_open_wait_gets_another_deadline_and_a_closed_one_does_not() {
    let (clock, options) = timed();
    let store = options.open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, reaches(vec![hears("w", "paid")]))).await.unwrap();
    let edited = store.edit_wait("sub_w", deadline(Some(1_007))).await.unwrap();
    assert_eq!((edited.timeout_at, edited.status), (Some(Timestamp(1_007)), WaitStatus::Active));
    let wake_at = store.instance(&id("a")).await.unwrap().unwrap().wake_at;
    assert_eq!(wake_at, Some(Timestamp(1_007)));
    clock.advance(MS * 7);
    store.fall_due(vec![claim.0, InstanceKey(99)]).await.unwrap();
    assert_eq!(met(&store, "w").await, "expired");
    let closed = store.edit_wait("sub_w", deadline(None)).await.unwrap_err();
    assert!(matches!(closed, Error::InvalidTransition { .. }), "{closed}");
    let unknown = store.edit_wait("sub_x", deadline(None)).await.unwrap_err();
    assert!(matches!(unknown, Error::SubscriptionNotFound { .. }), "{unknown}");
}

#[tokio::test]
async fn pruning_takes_waits_mail_and_outputs_along() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let all = Transition { outputs: sets("k", "v").outputs, ..reaches(vec![hears("w", "paid")]) };
    store.commit(commit(claim, all)).await.unwrap();
    store.deliver(event("a", "other", "e1")).await.unwrap();
    store.commit(commit(claim, end())).await.unwrap();
    assert_eq!(store.prune(Timestamp::MAX, 10).await.unwrap(), 1);
    assert_eq!(store.waits(WaitFilter::default()).await.unwrap(), []);
    start(&store, "a").await;
    assert_eq!(store.deliver(event("a", "other", "e1")).await.unwrap(), answer("e1", 0, true));
    assert_eq!(store.outputs(&id("a")).await.unwrap(), []);
}

#[tokio::test]
async fn every_filter_of_waits_says_what_the_library_says() {
    let store = SqliteStore::open_temporary().await.unwrap();
    for name in ["a", "b"] {
        let claim = start(&store, name).await;
        let wait = |step: &str, pattern: &str| hears(&format!("{name}-{step}"), pattern);
        let both = vec![wait("w1", "paid"), wait("w2", "order.*")];
        store.commit(commit(claim, reaches(both))).await.unwrap();
        store.deliver(event(name, "paid", "e")).await.unwrap();
    }
    let all: Vec<Wait> = store.waits(WaitFilter::default()).await.unwrap();
    let any = WaitFilter::default();
    for filter in [
        WaitFilter { id: Some("sub_a-w2".into()), ..any.clone() },
        WaitFilter { instance: Some(id("b")), ..any.clone() },
        WaitFilter { pattern: Some("order.*".into()), ..any.clone() },
        WaitFilter { status: Some(WaitStatus::Fulfilled), ..any.clone() },
        WaitFilter { step: Some("b-w1".into()), instance: Some(id("a")), ..any.clone() },
    ] {
        let expected: Vec<Wait> = all.iter().filter(|wait| filter.matches(wait)).cloned().collect();
        assert_eq!(store.waits(filter).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn the_views_show_the_buffer_and_what_happened_to_people_who_look_with_sql() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let claim = start(&store, "a").await;
    store.deliver(event("a", "paid", "e1")).await.unwrap();
    store.deliver(queued("a", "tick", "e2")).await.unwrap();
    store.deliver(signal("a", "go", "s1")).await.unwrap();
    store.commit(commit(claim, reaches(vec![waits("w", Kind::Signal, "go", None)]))).await.unwrap();
    store.commit(commit(claim, sets("k", "v"))).await.unwrap();
    store.commit(commit(claim, step("s"))).await.unwrap();

    let raw = rusqlite::Connection::open(&path).unwrap();
    let text = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    let buffer =
        "SELECT group_concat(workflow_instance_id || event_name || payload) FROM event_buffer";
    assert_eq!(text(buffer), "apaid\"e1\"");
    let types =
        "SELECT group_concat(type, ' ') FROM (SELECT type FROM workflow_events ORDER BY type)";
    assert_eq!(text(types), "output signal step_completed workflow_started");
    assert_eq!(
        text("SELECT id || (consumed_at IS NOT NULL) FROM workflow_events WHERE type = 'signal'"),
        "s11"
    );
}
