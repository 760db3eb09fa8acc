//! How writes are batched, fenced and heard of.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

mod common;

use std::sync::Arc;
use std::sync::mpsc::channel;

use abide::history::{Entries, Entry, EntryKind, StepKind};
use abide::lifecycle::Control;
use abide::store::{Committed, Due, Hint, IfExists, Listener, Started, Store};
use abide::{
    End, Error, Filter, InstanceKey, Json, Page, Park, Phase, Status, Terminate, Timestamp,
    Transition,
};
use abide_sqlite::SqliteStore;
use common::{child, commit, end, id, listen, new, start, step, steps};

/// Stops the writer inside a hint until it is let go.
struct Gate(parking_lot::Mutex<std::sync::mpsc::Receiver<()>>);

impl Listener for Gate {
    fn hint(&self, hint: Hint) {
        if !matches!(hint, Hint::Recorded) {
            let _opened_or_gone = self.0.lock().recv();
        }
    }
}

/// A store whose writer stands still until the sender is used or dropped.
async fn held_up(store: &SqliteStore) -> std::sync::mpsc::Sender<()> {
    let (open, gate) = channel();
    store.attach(Arc::new(Gate(parking_lot::Mutex::new(gate)))).await.unwrap();
    let ended = start(store, "gate").await;
    drop(store.commit(commit(ended, end())));
    while store.instance(&id("gate")).await.unwrap().unwrap().phase != Phase::Completed {
        tokio::task::yield_now().await;
    }
    open
}

#[tokio::test]
async fn what_is_queued_together_is_committed_together() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let open = held_up(&store).await;
    let mut answers = Vec::new();
    for n in 0..100 {
        answers.push(store.start(vec![new(&format!("i{n}"))], IfExists::Error));
    }
    let before = store.stats();
    drop(open);
    for answer in answers {
        answer.await.unwrap();
    }
    let after = store.stats();
    assert_eq!(after.commits - before.commits, 1);
    assert_eq!((after.commands - before.commands, after.rows - before.rows), (100, 100));
}

#[tokio::test]
async fn closing_finishes_what_is_queued() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let open = held_up(&store).await;
    let queued: Vec<_> =
        (0..50).map(|n| store.start(vec![new(&format!("i{n}"))], IfExists::Error)).collect();
    let (closed, ()) = tokio::join!(store.close(), async { drop(open) });
    closed.unwrap();
    for answer in queued {
        assert!(matches!(answer.await.unwrap()[..], [Started::Running { .. }]));
    }
}

#[tokio::test]
async fn a_refusal_leaves_the_rest_of_its_batch_alone() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let open = held_up(&store).await;
    let first = store.start(vec![new("a")], IfExists::Error);
    let all_or_none = store.start(vec![new("b"), new("a")], IfExists::Error);
    let unknown = store.control(&id("nobody"), Control::Pause);
    let second = store.start(vec![new("c")], IfExists::Error);
    drop(open);
    first.await.unwrap();
    assert!(matches!(all_or_none.await, Err(Error::AlreadyExists { id }) if id.as_str() == "a"));
    assert!(matches!(unknown.await, Err(Error::InstanceNotFound { .. })));
    second.await.unwrap();
    assert!(store.instance(&id("b")).await.unwrap().is_none());
    assert!(store.instance(&id("c")).await.unwrap().is_some());
}

#[tokio::test]
async fn outside_calls_are_refused_when_too_much_is_queued_and_commits_are_not() {
    let store = SqliteStore::options().max_queued(2).open_temporary().await.unwrap();
    let open = held_up(&store).await;
    let queued = [new("a"), new("b")].map(|new| store.start(vec![new], IfExists::Error));
    let refused = store.start(vec![new("c")], IfExists::Error).await.unwrap_err();
    assert!(matches!(refused, Error::RateLimited { queued: 2, limit: 2 }), "{refused}");
    let refused = store.control(&id("a"), Control::Pause).await.unwrap_err();
    assert!(matches!(refused, Error::RateLimited { .. }), "{refused}");
    let epoch = abide::store::Epoch(0);
    let own = store.commit(commit((InstanceKey(1), epoch), step("own")));
    drop(open);
    assert_eq!(own.await.unwrap(), Committed::Fenced);
    for answer in queued {
        answer.await.unwrap();
    }
}

#[tokio::test]
async fn commits_are_fenced_after_another_listener_attached() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    assert_eq!(store.commit(commit(claim, step("mine"))).await.unwrap(), Committed::Stored);
    listen(&store).await;
    assert_eq!(store.commit(commit(claim, step("late"))).await.unwrap(), Committed::Fenced);
    assert_eq!(steps(&store, "a").await, ["mine"]);
    let claimed = store.claim(claim.0).await.unwrap().unwrap();
    assert!(claimed.epoch > claim.1);
    assert_eq!(claimed.history.len(), 2);
}

#[tokio::test]
async fn commits_are_fenced_after_a_takeover_a_restart_and_the_end() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let stale = start(&store, "a").await;
    let current = (stale.0, store.claim(stale.0).await.unwrap().unwrap().epoch);
    assert_eq!(store.commit(commit(stale, step("x"))).await.unwrap(), Committed::Fenced);
    assert_eq!(store.commit(commit(current, end())).await.unwrap(), Committed::Stored);
    assert_eq!(store.commit(commit(current, step("x"))).await.unwrap(), Committed::Fenced);
    let restarted = store.control(&id("a"), Control::Restart { from_step: None }).await.unwrap();
    assert_eq!((restarted.run, restarted.phase, restarted.run_seq), (2, Phase::Running, 3));
    assert_eq!(store.commit(commit(current, step("x"))).await.unwrap(), Committed::Fenced);
    assert_eq!(store.runnable(InstanceKey(0), 10).await.unwrap(), [stale.0]);
}

#[tokio::test]
async fn a_released_instance_is_runnable_at_once() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let (key, epoch) = start(&store, "a").await;
    assert_eq!(store.runnable(InstanceKey(0), 10).await.unwrap(), []);
    store.release(key, epoch);
    assert_eq!(store.runnable(InstanceKey(0), 10).await.unwrap(), [key]);
}

#[tokio::test]
async fn the_end_of_a_child_arrives_at_its_waiting_parent_before_the_answer() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let hints = listen(&store).await;
    let parent = start(&store, "parent").await;
    let park = Some(Park { phase: Phase::Waiting, wake_at: None, reason: None });
    let begin = Transition { children: vec![child("child", true)], park, ..step("begin") };
    store.commit(commit(parent, begin)).await.unwrap();
    let Hint::Runnable(key) = hints.try_recv().unwrap() else { panic!("no child") };
    assert_eq!(store.instance(&id("parent")).await.unwrap().unwrap().phase, Phase::Waiting);

    let claimed = store.claim(key).await.unwrap().unwrap();
    store.commit(commit((key, claimed.epoch), end())).await.unwrap();
    let Hint::Arrived(arrived, recorded) = hints.try_recv().unwrap() else { panic!("not told") };
    assert_eq!((arrived, recorded.seq), (parent.0, 3));
    assert!(matches!(hints.try_recv().unwrap(), Hint::Ended(ended) if ended.key == key));
    let instance = store.instance(&id("parent")).await.unwrap().unwrap();
    assert_eq!((instance.phase, instance.next_seq), (Phase::Running, 4));
    store.commit(commit(parent, step("after"))).await.unwrap();
    assert_eq!(steps(&store, "parent").await, ["begin", "ship", "after"]);
}

#[tokio::test]
async fn a_child_whose_id_is_taken_and_a_detached_one_arrive_at_once() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let parent = start(&store, "parent").await;
    let park = Some(Park { phase: Phase::Waiting, wake_at: None, reason: None });
    let children = vec![child("parent", true), child("detached", false)];
    store.commit(commit(parent, Transition { children, park, ..step("a") })).await.unwrap();
    let history = store.history(&id("parent"), 2, 10).await.unwrap();
    let kinds: Vec<_> = history.iter().map(|recorded| recorded.entry.entry).collect();
    assert_eq!(kinds, [EntryKind::StepFailed, EntryKind::StepCompleted]);
    assert_eq!(history[0].entry.error.as_ref().unwrap().code, "WORKFLOW_ALREADY_EXISTS");
    assert_eq!(store.instance(&id("parent")).await.unwrap().unwrap().phase, Phase::Running);
}

#[tokio::test]
async fn termination_goes_down_to_grandchildren_and_tells_no_ended_parent() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let top = start(&store, "top").await;
    let begin = |name: &str| Transition { children: vec![child(name, true)], ..step("begin") };
    store.commit(commit(top, begin("middle"))).await.unwrap();
    let middle = store.instance(&id("middle")).await.unwrap().unwrap().key;
    let epoch = store.claim(middle).await.unwrap().unwrap().epoch;
    store.commit(commit((middle, epoch), begin("bottom"))).await.unwrap();

    let how = Terminate::because("no longer wanted");
    let ended = store.control(&id("top"), Control::Terminate(how)).await.unwrap();
    assert_eq!(ended.status(), Status::Terminated);
    for name in ["middle", "bottom"] {
        let instance = store.instance(&id(name)).await.unwrap().unwrap();
        assert_eq!(instance.status(), Status::Terminated, "{name}");
        assert!(instance.error.unwrap().message.contains("no longer wanted"));
    }
    assert_eq!(steps(&store, "top").await, ["begin"]);
    let late = store.commit(commit((middle, epoch), step("late"))).await.unwrap();
    assert_eq!(late, Committed::Fenced);
}

#[tokio::test]
async fn continuing_opens_the_next_run_with_its_input_and_goes_on_counting() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let hints = listen(&store).await;
    let claim = start(&store, "a").await;
    let end = Some(End::Continued(Json::encode(&2).unwrap()));
    store.commit(commit(claim, Transition { end, ..step("last") })).await.unwrap();
    assert!(matches!(hints.try_recv().unwrap(), Hint::Restarted(key) if key == claim.0));
    let claimed = store.claim(claim.0).await.unwrap().unwrap();
    let instance = &claimed.instance;
    assert_eq!((instance.run, instance.run_seq, instance.next_seq), (2, 3, 4));
    assert_eq!(instance.input.as_str(), "2");
    assert_eq!(claimed.history.len(), 1);
    assert_eq!(claimed.history[0].entry.entry, EntryKind::WorkflowStarted);
}

#[tokio::test]
async fn a_paused_sleeper_is_woken_once_and_runs_when_resumed() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let hints = listen(&store).await;
    let (key, epoch) = start(&store, "a").await;
    let park = Some(Park { phase: Phase::Sleeping, wake_at: Some(Timestamp(5)), reason: None });
    let sleeps = Transition { park, ..Transition::default() };
    store.commit(commit((key, epoch), sleeps)).await.unwrap();
    let due = Due { at: Timestamp(5), key };
    assert_eq!(store.due(Due::FIRST, Timestamp(6), 10).await.unwrap(), [due]);
    assert_eq!(store.due(Due::FIRST, Timestamp(5), 10).await.unwrap(), []);
    assert_eq!(store.due(due, Timestamp::MAX, 10).await.unwrap(), []);

    let paused = store.control(&id("a"), Control::Pause).await.unwrap();
    assert_eq!((paused.status(), paused.phase), (Status::Paused, Phase::Sleeping));
    assert!(matches!(hints.try_recv().unwrap(), Hint::Paused(paused) if paused == key));
    assert_eq!(store.due(Due::FIRST, Timestamp::MAX, 10).await.unwrap(), [due]);
    store.fall_due(vec![key]).await.unwrap();
    assert_eq!(store.due(Due::FIRST, Timestamp::MAX, 10).await.unwrap(), []);
    assert!(store.claim(key).await.unwrap().is_none());
    let resumed = store.control(&id("a"), Control::Resume).await.unwrap();
    assert_eq!((resumed.phase, resumed.wake_at), (Phase::Running, None));
    assert!(matches!(hints.try_recv().unwrap(), Hint::Runnable(resumed) if resumed == key));
}

#[tokio::test]
async fn a_later_start_is_queued_until_due_and_existing_ones_are_returned() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let mut later = new("later");
    later.start_at = Some(Timestamp::MAX);
    let batch = vec![later, new("twice"), new("twice")];
    let started = store.start(batch, IfExists::Return).await.unwrap();
    let [Started::Queued(queued), Started::Running { key, .. }, Started::Existing(same)] =
        started[..]
    else {
        panic!("{started:?}")
    };
    assert_eq!(key, same);
    let instance = store.instance(&id("later")).await.unwrap().unwrap();
    assert_eq!((instance.key, instance.status()), (queued, Status::Queued));
    assert_eq!((instance.wake_at, instance.next_seq), (Some(Timestamp::MAX), 1));
    assert!(store.history(&id("later"), 0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn history_is_read_from_the_middle_of_a_row_without_marks() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let entry = |kind, name: &str| Entry::of_step(kind, &name.into(), StepKind::Step);
    let row = [
        entry(EntryKind::StepStarted, "x"),
        entry(EntryKind::Seen, "x"),
        entry(EntryKind::StepCompleted, "x"),
    ];
    let transition = |entries: &[Entry]| Transition {
        entries: Entries::of(entries),
        context: Some(Json::null()),
        ..Transition::default()
    };
    store.commit(commit(claim, transition(&row))).await.unwrap();
    store.commit(commit(claim, transition(&row[1..2]))).await.unwrap();
    store.commit(commit(claim, step("y"))).await.unwrap();
    for after in 0..5 {
        let history = store.history(&id("a"), after, 100).await.unwrap();
        let numbers: Vec<_> = history.iter().map(|recorded| recorded.seq).collect();
        assert_eq!(numbers, (after + 1..=4).collect::<Vec<_>>());
    }
    assert_eq!(store.history(&id("a"), 1, 2).await.unwrap().len(), 2);
    let claimed = store.claim(claim.0).await.unwrap().unwrap();
    assert_eq!(claimed.history.len(), 6, "replay needs the marks");
}

#[tokio::test]
async fn lists_agree_with_the_filter_of_the_library() {
    let store = SqliteStore::open_temporary().await.unwrap();
    for n in 0..6 {
        let mut new = new(&format!("order-{n}"));
        new.tags = if n % 2 == 0 { vec!["even".into()] } else { vec![] };
        new.correlation_id = (n > 3).then(|| "late".to_owned());
        store.start(vec![new], IfExists::Error).await.unwrap();
    }
    store.control(&id("order-2"), Control::Pause).await.unwrap();
    let all = store.instances(Filter::default(), Page::default()).await.unwrap().instances;
    assert_eq!(all.len(), 6);
    let filters = [
        Filter { tag: Some("even".into()), ..Filter::default() },
        Filter { correlation_id: Some("late".into()), ..Filter::default() },
        Filter { id_prefix: Some("order-".into()), ..Filter::default() },
        Filter { id_prefix: Some("Order".into()), ..Filter::default() },
        Filter { status: vec![Status::Paused, Status::Queued], ..Filter::default() },
        Filter { text: Some("\"order\":17".into()), ..Filter::default() },
        Filter { workflow: Some("other".into()), ..Filter::default() },
        Filter { created_before: Some(all[0].created_at), ..Filter::default() },
        Filter { parent: Some(id("order-1")), ..Filter::default() },
    ];
    for filter in filters {
        let found = store.instances(filter.clone(), Page::default()).await.unwrap().instances;
        let expected: Vec<_> = all.iter().filter(|i| filter.matches(i)).cloned().collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    let page = Page { limit: 4, before: None };
    let first = store.instances(Filter::default(), page).await.unwrap();
    assert_eq!((first.instances.len(), first.next), (4, Some(first.instances[3].key)));
    let page = Page { limit: 4, before: first.next };
    let second = store.instances(Filter::default(), page).await.unwrap();
    assert_eq!((second.instances.len(), second.next), (2, None));
}
