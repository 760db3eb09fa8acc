//! What the tests of published events have in common.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use abide::expr::Folded;
use abide::store::{Commit, Epoch, IfExists, Started, Store};
use abide::{
    Folding, Hears, InstanceKey, Json, Kind, NewInstance, NewWait, Publication, Publish, Since,
    Timestamp, Transition, Verdict, Wait, WaitFilter, WaitStatus,
};
use abide_testkit::ManualClock;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{Options, SqliteStore};

/// A store that can be dropped and opened again.
pub(super) struct Shop {
    pub(super) clock: ManualClock,
    options: Options,
    path: PathBuf,
    _directory: TempDir,
}

impl Shop {
    pub(super) fn new(options: impl FnOnce(Options) -> Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("abide.db");
        let clock = ManualClock::at(Timestamp(1_000));
        let options = options(SqliteStore::options().clock(Arc::new(clock.clone())));
        Self { clock, options, path, _directory: directory }
    }

    pub(super) async fn open(&self) -> SqliteStore {
        self.options.clone().open(&self.path).await.unwrap()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A number that a query finds.
    pub(super) fn count(&self, sql: &str) -> i64 {
        let connection = Connection::open(&self.path).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Waits until nothing is left to be done that nobody asks for.
    pub(super) async fn is_quiet(&self) {
        let connection = Connection::open(&self.path).unwrap();
        let left = "SELECT (SELECT count(*) FROM fanouts) + (SELECT count(*) FROM lookbacks)
                         + (SELECT count(*) FROM event_paths WHERE done < upto)";
        let is_left = || connection.query_row(left, [], |row| row.get::<_, i64>(0)).unwrap() > 0;
        let waits = async {
            while is_left() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waits).await.unwrap();
    }
}

pub(super) fn wants(id: &str, pattern: &str, filter: Option<&str>) -> NewWait {
    let folding =
        |text: &str| Folding { written: text.into(), folded: Folded::parse(text).unwrap() };
    NewWait {
        id: format!("sub_{id}").into(),
        step: "w".into(),
        hears: Hears::Sent { kind: Kind::Event, pattern: pattern.into() },
        filter: filter.map(folding),
        race: None,
        count: None,
        since: Since::Start,
        timeout_at: None,
    }
}

/// Starts an instance, which has the id of its wait.
pub(super) async fn start(
    store: &SqliteStore,
    id: &str,
    wait: Option<NewWait>,
) -> (InstanceKey, Epoch) {
    let waits = wait.into_iter().collect();
    let first = Some(Transition { waits, ..Transition::default() });
    let new = NewInstance { first, ..super::new(id) };
    match store.start(vec![new], IfExists::Error).await.unwrap()[..] {
        [Started::Running { key, epoch, .. }] => (key, epoch),
        ref other => panic!("{other:?}"),
    }
}

pub(super) async fn reach(store: &SqliteStore, (key, epoch): (InstanceKey, Epoch), wait: NewWait) {
    let transition = Transition { waits: vec![wait], ..Transition::default() }.into();
    let commit = Commit { key, run: 1, epoch, heard: i64::MAX, transition };
    store.commit(commit).await.unwrap();
}

pub(super) fn event(event_type: &str, id: &str, payload: &serde_json::Value) -> Publish {
    Publish::new(Publication {
        id: Some(id.to_owned()),
        payload: Some(Json::encode(payload).unwrap()),
        ..Publication::new(event_type)
    })
}

pub(super) async fn publish(store: &SqliteStore, event_type: &str, id: &str, n: i64) -> Verdict {
    store.publish(event(event_type, id, &serde_json::json!({ "n": n }))).await.unwrap()
}

pub(super) async fn wait(store: &SqliteStore, id: &str) -> Wait {
    let filter = WaitFilter { id: Some(format!("sub_{id}")), ..WaitFilter::default() };
    store.waits(filter).await.unwrap().pop().unwrap()
}

/// By what a wait was met.
pub(super) async fn met_by(store: &SqliteStore, id: &str) -> Option<String> {
    let wait = wait(store, id).await;
    assert_eq!(wait.status == WaitStatus::Fulfilled, wait.fulfilled_by.is_some());
    wait.fulfilled_by.map(|by| by.to_string())
}
