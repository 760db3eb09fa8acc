//! What people who look with SQL are promised: names, columns, words, and the indexes behind them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

mod common;

use abide::history::{Entries, Entry, EntryKind, StepKind};
use abide::store::Store;
use abide::{InstanceId, Json, Kind, NewSend, Terminate, Timestamp, Transition};
use abide_sqlite::SqliteStore;
use common::events::{MS, cancels, event, hears, queued, reaches, sent, signal, timed, waits};
use common::{commit, end, id, start, step};
use rusqlite::Connection;

/// A store in a file, and a second pair of eyes on it.
struct Looked {
    store: SqliteStore,
    sql: Connection,
    clock: abide_testkit::ManualClock,
    _directory: tempfile::TempDir,
}

impl Looked {
    async fn at() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("abide.db");
        let (clock, options) = timed();
        let store = options.open(&path).await.unwrap();
        Self { store, sql: Connection::open(&path).unwrap(), clock, _directory: directory }
    }

    /// Rows as text, cells split by a space, an absent value as a dash.
    fn rows(&self, sql: &str) -> Vec<String> {
        let mut prepared = self.sql.prepare(sql).unwrap();
        let columns = prepared.column_count();
        let rows = prepared.query_map([], |row| {
            let cell = |column| -> rusqlite::Result<String> {
                Ok(match row.get_ref(column)? {
                    rusqlite::types::ValueRef::Null => "-".to_owned(),
                    rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                    other => other.as_str()?.to_owned(),
                })
            };
            Ok((0..columns).map(cell).collect::<rusqlite::Result<Vec<_>>>()?.join(" "))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn columns(&self, table: &str) -> Vec<String> {
        self.rows(&format!("SELECT name FROM pragma_table_info('{table}')"))
    }

    /// How SQLite goes about a query.
    fn plan(&self, sql: &str) -> String {
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let mut prepared = self.sql.prepare(&sql).unwrap();
        let steps = prepared.query_map([], |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }
}

/// A sleep that began, and perhaps is over.
fn sleep(entry: EntryKind, name: &str, until: i64) -> Transition {
    let entry = Entry {
        resume_at: Some(Timestamp(until)),
        ..Entry::of_step(entry, &name.into(), StepKind::Sleep)
    };
    Transition { entries: Entries::of(&[entry]), ..Transition::default() }
}

fn message(from: &str, to: &str, topic: &str, event_id: &str) -> abide::Delivery {
    abide::Delivery { source: Some(from.into()), ..sent(Kind::Message, to, topic, event_id) }
}

#[tokio::test]
async fn event_buffer_shows_the_last_early_event_of_each_type_with_its_time() {
    let looked = Looked::at().await;
    start(&looked.store, "a").await;
    looked.store.deliver(event("a", "paid", "e1")).await.unwrap();
    looked.clock.advance(MS * 5);
    looked.store.deliver(event("a", "paid", "e2")).await.unwrap();
    looked.store.deliver(queued("a", "item", "e3")).await.unwrap();
    looked.store.deliver(signal("a", "go", "s1")).await.unwrap();
    let columns = ["workflow_instance_id", "event_name", "payload", "received_at"];
    assert_eq!(looked.columns("event_buffer"), columns);
    assert_eq!(looked.rows("SELECT * FROM event_buffer"), ["a paid \"e2\" 1005"]);
    let written = looked.sql.execute("DELETE FROM event_buffer", []);
    assert!(written.is_err(), "it is to be read, not written");
}

#[tokio::test]
async fn workflow_events_has_the_columns_of_the_events_table() {
    let looked = Looked::at().await;
    let columns = [
        "id",
        "execution_id",
        "type",
        "name",
        "payload",
        "created_at",
        "visible_at",
        "consumed_at",
        "source_execution_id",
    ];
    assert_eq!(looked.columns("workflow_events"), columns);
    let steps = looked.columns("execution_step_results");
    assert_eq!(steps[..2], ["execution_id", "step_id"]);
    for column in ["started_at_epoch_ms", "completed_at_epoch_ms", "output", "error"] {
        assert!(steps.iter().any(|known| known == column), "{column}: {steps:?}");
    }
}

/// An instance to which everything happened that `workflow_events` shows.
async fn everything(looked: &Looked) {
    let store = &looked.store;
    let (a, b) = (start(store, "a").await, start(store, "b").await);
    store.deliver(signal("a", "go", "s1")).await.unwrap();
    store.deliver(message("b", "a", "topic", "m1")).await.unwrap();
    store.deliver(event("a", "paid", "e1")).await.unwrap();
    let begun = Entry::of_step(EntryKind::StepStarted, &"s".into(), StepKind::Step);
    let begun = Transition { entries: Entries::of(&[begun]), ..Transition::default() };
    store.commit(commit(a, begun)).await.unwrap();
    store.commit(commit(a, step("s"))).await.unwrap();
    store.commit(commit(a, sleep(EntryKind::SleepStarted, "nap", 1_010))).await.unwrap();
    let value = Json::encode("v").unwrap();
    let output = Transition { outputs: vec![("k".into(), value)], ..Transition::default() };
    store.commit(commit(a, output)).await.unwrap();
    store.commit(commit(a, end())).await.unwrap();
    store.commit(commit(b, end())).await.unwrap();
}

#[tokio::test]
async fn workflow_events_shows_exactly_eight_types() {
    let looked = Looked::at().await;
    everything(&looked).await;
    let types = "SELECT DISTINCT type FROM workflow_events ORDER BY type";
    let eight = [
        "message",
        "output",
        "signal",
        "step_completed",
        "step_started",
        "timer",
        "workflow_completed",
        "workflow_started",
    ];
    assert_eq!(looked.rows(types), eight);
    let ids = "SELECT count(*) - count(DISTINCT id) FROM workflow_events";
    assert_eq!(looked.rows(ids), ["0"], "every row has an id of its own");
    let orphans = "SELECT count(*) FROM workflow_events
                    WHERE execution_id NOT IN (SELECT id FROM instances)";
    assert_eq!(looked.rows(orphans), ["0"]);
    let made_up = looked
        .store
        .execute_for_test("UPDATE inbox SET kind = 'telegram' WHERE kind = 'signal'")
        .await;
    assert!(made_up.is_err(), "there is no ninth type");
}

#[tokio::test]
async fn steps_are_shown_apart_from_events_with_their_results() {
    let looked = Looked::at().await;
    everything(&looked).await;
    let steps = "SELECT execution_id, step_id, started_at_epoch_ms, completed_at_epoch_ms
                   FROM execution_step_results WHERE step_id = 's'";
    assert_eq!(looked.rows(steps), ["a s 1000 1000"]);
}

#[tokio::test]
async fn only_steps_are_shown_as_steps_and_a_wait_is_one() {
    let looked = Looked::at().await;
    everything(&looked).await;
    let names = "SELECT step_id FROM execution_step_results WHERE execution_id = 'a' ORDER BY 1";
    assert_eq!(looked.rows(names), ["nap", "s"], "neither events nor outputs are steps");
    let claim = start(&looked.store, "c").await;
    let (open, early) = (hears("open", "paid"), waits("early", Kind::Signal, "go", None));
    looked.store.deliver(signal("c", "go", "s2")).await.unwrap();
    looked.clock.advance(MS * 5);
    let begun = Entry::of_step(EntryKind::WaitStarted, &"open".into(), StepKind::Event);
    let reached = Transition { entries: Entries::of(&[begun]), ..reaches(vec![open, early]) };
    looked.store.commit(commit(claim, reached)).await.unwrap();
    let waits = "SELECT step_id, started_at_epoch_ms, completed_at_epoch_ms, output ->> '$.payload'
                   FROM execution_step_results WHERE execution_id = 'c' ORDER BY 1";
    assert_eq!(looked.rows(waits), ["early 1005 1005 s2", "open 1005 - -"]);
}

#[tokio::test]
async fn a_message_is_shown_with_its_source_and_a_consumed_one_with_its_time() {
    let looked = Looked::at().await;
    let claim = start(&looked.store, "a").await;
    for n in 1..=2 {
        let sent = message("b", "a", "topic", &format!("m{n}"));
        looked.store.deliver(sent).await.unwrap();
    }
    looked.clock.advance(MS * 7);
    let wait = waits("w", Kind::Message, "topic", None);
    looked.store.commit(commit(claim, reaches(vec![wait]))).await.unwrap();
    let shown = "SELECT id, name, payload, created_at, visible_at, consumed_at, source_execution_id
                   FROM workflow_events WHERE type = 'message' ORDER BY id";
    assert_eq!(
        looked.rows(shown),
        ["m1 topic \"m1\" 1000 1000 1007 b", "m2 topic \"m2\" 1000 1000 - b"]
    );
}

#[tokio::test]
async fn a_timer_is_shown_with_its_moment_and_is_consumed_when_it_is_over() {
    let looked = Looked::at().await;
    let claim = start(&looked.store, "a").await;
    let begins = sleep(EntryKind::SleepStarted, "nap", 1_010);
    looked.store.commit(commit(claim, begins)).await.unwrap();
    let shown =
        "SELECT name, payload, visible_at, consumed_at FROM workflow_events WHERE type = 'timer'";
    assert_eq!(looked.rows(shown), ["nap {\"wakeAt\":1010} 1010 -"]);
    looked.clock.advance(MS * 10);
    let over = sleep(EntryKind::SleepCompleted, "nap", 1_010);
    looked.store.commit(commit(claim, over)).await.unwrap();
    assert_eq!(looked.rows(shown), ["nap {\"wakeAt\":1010} 1010 1010"]);
}

#[tokio::test]
async fn an_output_has_one_row_per_key_with_its_last_value_and_time() {
    let looked = Looked::at().await;
    let claim = start(&looked.store, "a").await;
    for text in ["one", "two"] {
        looked.clock.advance(MS);
        let outputs = vec![("k".into(), Json::encode(text).unwrap())];
        let sets = Transition { outputs, ..Transition::default() };
        looked.store.commit(commit(claim, sets)).await.unwrap();
    }
    let shown = "SELECT name, payload, created_at FROM workflow_events WHERE type = 'output'";
    assert_eq!(looked.rows(shown), ["k \"two\" 1002"]);
}

#[tokio::test]
async fn subscriptions_have_the_columns_of_their_record() {
    let looked = Looked::at().await;
    let columns = looked.columns("workflow_event_subscriptions");
    for column in [
        "id",
        "workflow_instance_id",
        "event_pattern",
        "filter_condition",
        "status",
        "timeout_at",
        "created_at",
        "fulfilled_at",
        "fulfilled_by_event_id",
        "wait_step_id",
        "timeout_handler_step_id",
    ] {
        assert!(columns.iter().any(|known| known == column), "{column}: {columns:?}");
    }
}

#[tokio::test]
async fn subscriptions_are_found_through_an_index_by_instance_step_pattern_and_deadline() {
    let looked = Looked::at().await;
    let table = "workflow_event_subscriptions";
    for (condition, index) in [
        ("workflow_instance_id = 'a'", "wait_step_idx (workflow_instance_id=?)"),
        (
            "workflow_instance_id = 'a' AND wait_step_id = 'w'",
            "wait_step_idx (workflow_instance_id=? AND wait_step_id=?)",
        ),
        (
            "event_pattern = 'paid' AND status = 'active'",
            "pattern_status_idx (event_pattern=? AND status=?)",
        ),
        ("status = 'active' AND timeout_at <= 7", "timeout_idx (status=? AND timeout_at<?)"),
    ] {
        let plan = looked.plan(&format!("SELECT id FROM {table} WHERE {condition}"));
        assert_eq!(plan, format!("SEARCH {table} USING INDEX {table}_{index}"), "{condition}");
    }
}

#[tokio::test]
async fn pending_mail_and_outputs_are_found_through_an_index_that_holds_nothing_else() {
    let looked = Looked::at().await;
    for (query, expected) in [
        // Pending, by kind, in the order of visible time.
        (
            "SELECT key FROM inbox WHERE state = 'pending' AND instance = 1 AND kind = 'signal'",
            "SEARCH inbox USING COVERING INDEX inbox_pending (instance=? AND kind=?)",
        ),
        // The next of a name, without sorting.
        (
            "SELECT key FROM inbox WHERE state = 'pending' AND instance = 1 AND kind = 'signal'
                AND name = 'go' ORDER BY visible_at, key LIMIT 1",
            "SEARCH inbox USING COVERING INDEX inbox_pending (instance=? AND kind=? AND name=?)",
        ),
        // An output by its key; the same key again is the same row.
        (
            "SELECT value FROM outputs WHERE instance = 1 AND key = 'k'",
            "SEARCH outputs USING PRIMARY KEY (instance=? AND key=?)",
        ),
    ] {
        assert_eq!(looked.plan(query), expected);
    }
    let partial = "SELECT name FROM pragma_index_list('inbox') WHERE partial ORDER BY name";
    let known =
        ["inbox_delayed", "inbox_held", "inbox_id", "inbox_log", "inbox_pending", "inbox_quiet"];
    assert_eq!(looked.rows(partial), known);
}

#[tokio::test]
async fn events_of_one_execution_are_found_without_reading_those_of_others() {
    let looked = Looked::at().await;
    let view = "SELECT * FROM workflow_events WHERE execution_id = 'a' AND type = 'signal'
                   AND consumed_at IS NULL";
    let plan = looked.plan(view);
    let found: Vec<&str> = plan.split("; ").collect();
    assert!(found.iter().any(|step| step.starts_with("SEARCH i USING")), "{plan}");
    for table in ["b", "o", "h"] {
        let by_instance = |step: &&&str| step.starts_with(&format!("SEARCH {table} USING"));
        assert!(found.iter().any(|step| by_instance(&step)), "{table}: {plan}");
        assert!(!found.iter().any(|step| *step == format!("SCAN {table}")), "{table}: {plan}");
    }
}

#[tokio::test]
async fn a_terminated_instance_has_no_open_subscription_left() {
    let looked = Looked::at().await;
    let (a, b) = (start(&looked.store, "a").await, start(&looked.store, "b").await);
    for (claim, wait) in [(a, "wa"), (b, "wb")] {
        looked.store.commit(commit(claim, reaches(vec![hears(wait, "paid")]))).await.unwrap();
    }
    let control = abide::lifecycle::Control::Terminate(Terminate::default());
    looked.store.control(&id("a"), control).await.unwrap();
    let open = "SELECT workflow_instance_id FROM workflow_event_subscriptions
                 WHERE event_pattern = 'paid' AND status = 'active'";
    assert_eq!(looked.rows(open), ["b"]);
    looked.store.commit(commit(b, cancels("wb"))).await.unwrap();
    assert!(looked.rows(open).is_empty());
}

#[tokio::test]
async fn a_message_sent_by_an_instance_is_shown_with_it_as_its_source() {
    let looked = Looked::at().await;
    let (a, _) = (start(&looked.store, "a").await, start(&looked.store, "b").await);
    let to: InstanceId = id("b");
    let send = NewSend { step: "send".into(), delivery: message("a", to.as_str(), "topic", "m") };
    let sends = Transition { sends: vec![send], ..Transition::default() };
    looked.store.commit(commit(a, sends)).await.unwrap();
    let shown = "SELECT execution_id, source_execution_id FROM workflow_events WHERE id = 'm'";
    assert_eq!(looked.rows(shown), ["b a"]);
}
