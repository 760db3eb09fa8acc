//! What the engine's tests share: a world with a store, a clock that stands still and an engine.

use std::collections::BTreeMap;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::{Duration, Instant};

use abide::history::EntryKind;
use abide::prelude::*;
use abide::store::Store;
use abide::{Builder, Clock, Failure, Instance};
use abide_sqlite::SqliteStore;
use abide_testkit::{FaultStore, ManualClock, MemoryStore};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::slow::SlowStore;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A store and a clock that stands still until a test moves it.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: ManualClock,
}

impl World {
    pub(crate) fn memory() -> Self {
        let clock = ManualClock::at(Timestamp(1_700_000_000_000));
        Self { store: Arc::new(MemoryStore::new(Arc::new(clock.clone()))), clock }
    }

    pub(crate) async fn sqlite() -> Self {
        let clock = ManualClock::at(Timestamp(1_700_000_000_000));
        let store = SqliteStore::options().clock(Arc::new(clock.clone()));
        Self { store: Arc::new(store.open_temporary().await.unwrap()), clock }
    }

    /// An engine in the making, on this world's store and clock. It prunes nothing by itself, so
    /// that every write is an instance's.
    pub(crate) fn engine(&self) -> Builder {
        self.engine_on(&self.store)
    }

    /// An engine in the making, on a store around this world's.
    pub(crate) fn engine_on(&self, store: &Arc<dyn Store>) -> Builder {
        let engine = Engine::on(Arc::clone(store)).clock(Arc::new(self.clock.clone()));
        engine.configure(|c| {
            c.instances_retention = None;
            c.events_retention = None;
            c.events_max_bytes = None;
        })
    }

    /// An engine in the making, on a store that fails where the test says.
    pub(crate) fn engine_with(&self, faults: &FaultStore) -> Builder {
        self.engine_on(&(Arc::new(faults.clone()) as Arc<dyn Store>))
    }

    pub(crate) fn faults(&self) -> FaultStore {
        FaultStore::new(Arc::clone(&self.store))
    }

    pub(crate) fn slow(&self) -> SlowStore {
        SlowStore::new(Arc::clone(&self.store))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Waits until the instance has this status; the clock stands still meanwhile.
    pub(crate) async fn until(&self, handle: &Handle, status: Status) {
        let reached = eventually(async || handle.status().await.unwrap() == status).await;
        assert!(reached, "{} is not {status}: {}", handle.id(), told(handle).await);
    }

    /// Waits until an instance that somebody else starts is there and has this status.
    pub(crate) async fn until_there(&self, engine: &Engine, id: &str, status: Status) -> Handle {
        let handle = engine.get(&InstanceId::new(id).unwrap());
        assert!(eventually(async || handle.status().await.is_ok()).await, "{id} was not started");
        self.until(&handle, status).await;
        handle
    }

    /// Moves the clock on, a little at a time, until the instance has ended.
    pub(crate) async fn run_to_end(&self, handle: &Handle) -> Instance {
        let mut patience = 0;
        let reached = eventually(async || {
            let instance = handle.instance().await.unwrap();
            let status = instance.status();
            patience += 1;
            // Not faster than the store, or everything is evicted before it has done anything. What
            // the store refused is tried again after a while, too.
            let parked = matches!(status, Status::Sleeping | Status::Waiting);
            if patience % (if parked { 10 } else { 50 }) == 0 {
                // A long sleep is not crept through: on a busy machine every look takes a while.
                let asleep = instance.wake_at.filter(|_| status == Status::Sleeping);
                let left = asleep.map_or(Duration::ZERO, |at| at.since(self.now()));
                self.clock.advance((left / 10).max(Duration::from_millis(100)));
            }
            status.is_terminal()
        });
        assert!(reached.await, "{} does not end: {}", handle.id(), told(handle).await);
        handle.instance().await.unwrap()
    }

    /// Has a parked instance leave memory, with the engine still running.
    pub(crate) async fn evict(&self, engine: &Engine) {
        for _ in 0..10 {
            self.settle().await;
            self.clock.advance(Duration::from_secs(5));
            self.settle().await;
            if engine.resident() == 0 {
                return;
            }
        }
        panic!("{} instances stay in memory", engine.resident());
    }

    /// Lets everybody run for a while, to show that something does *not* happen. A store answers
    /// behind this write, so what was asked of it before is done.
    pub(crate) async fn settle(&self) {
        let nobody = InstanceId::new("nobody").unwrap();
        for _ in 0..5 {
            for _ in 0..50 {
                let_others_run().await;
            }
            let refused = self.store.control(&nobody, abide::lifecycle::Control::Pause).await;
            assert!(matches!(refused, Err(Error::InstanceNotFound { .. })));
        }
    }
}

/// Asks again and again, for at most a minute of real time, letting everybody else run in between.
pub(crate) async fn eventually(mut holds: impl AsyncFnMut() -> bool) -> bool {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        if Instant::now() > give_up {
            return false;
        }
        let_others_run().await;
    }
    true
}

/// Other tasks, and the threads of a store.
async fn let_others_run() {
    std::thread::yield_now();
    tokio::task::yield_now().await;
}

/// The types of an instance's history entries, steps with their names.
pub(crate) async fn story(handle: &Handle) -> Vec<String> {
    let history = handle.history().await.unwrap();
    let told = history.iter().filter(|recorded| recorded.entry.entry != EntryKind::Seen);
    told.map(|recorded| match &recorded.entry.name {
        Some(name) => format!("{} {name}", recorded.entry.entry),
        None => recorded.entry.entry.to_string(),
    })
    .collect()
}

/// Everything about an instance, for the message of a failed test.
pub(crate) async fn told(handle: &Handle) -> String {
    format!("{:#?}\n{:#?}", story(handle).await, handle.instance().await)
}

/// How an instance failed.
pub(crate) async fn failure(handle: &Handle) -> Failure {
    match handle.result::<serde_json::Value>().await {
        Err(Error::InstanceFailed { failure, .. }) => failure,
        other => panic!("{} did not fail: {other:?}", handle.id()),
    }
}

/// Hands a workflow something of the test's to hold.
pub(crate) fn with<S, I, F, Fut>(
    state: &S,
    function: F,
) -> impl Fn(Cx, I) -> Fut + Send + Sync + 'static
where
    S: Clone + Send + Sync + 'static,
    F: Fn(Cx, S, I) -> Fut + Send + Sync + 'static,
{
    let state = state.clone();
    move |cx, input| function(cx, state.clone(), input)
}

/// Counts how often each step's function ran, and in which order.
#[derive(Clone, Default)]
pub(crate) struct Ran(Arc<Mutex<Vec<String>>>);

impl Ran {
    pub(crate) fn mark(&self, name: &str) {
        self.0.lock().push(name.to_owned());
    }

    /// A function that gives a result.
    pub(crate) fn ok<T>(&self, name: &str, value: T) -> Ready<Result<T>> {
        self.mark(name);
        ready(Ok(value))
    }

    /// A function that fails.
    pub(crate) fn fail(&self, name: &str) -> Ready<Result<()>> {
        self.mark(name);
        ready(Err(Error::failed("BROKEN", format!("{name} is broken"))))
    }

    pub(crate) fn times(&self, name: &str) -> usize {
        self.0.lock().iter().filter(|ran| *ran == name).count()
    }

    pub(crate) fn order(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for name in self.0.lock().iter() {
            *counts.entry(name.clone()).or_default() += 1;
        }
        counts
    }
}

/// Where a step waits until the test lets it pass.
#[derive(Clone)]
pub(crate) struct Gate(Arc<(watch::Sender<usize>, watch::Sender<bool>)>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new((watch::Sender::new(0), watch::Sender::new(false))))
    }
}

impl Gate {
    pub(crate) async fn pass(&self) {
        self.0.0.send_modify(|arrived| *arrived += 1);
        drop(self.0.1.subscribe().wait_for(|open| *open).await.unwrap());
    }

    /// A function that waits here.
    pub(crate) async fn ok<T>(self, value: T) -> Result<T> {
        self.pass().await;
        Ok(value)
    }

    /// Until so many came here.
    pub(crate) async fn reached(&self, times: usize) {
        drop(self.0.0.subscribe().wait_for(|arrived| *arrived >= times).await.unwrap());
    }

    pub(crate) fn arrived(&self) -> usize {
        *self.0.0.borrow()
    }

    pub(crate) fn open(&self) {
        self.0.1.send_replace(true);
    }
}

/// Runs a test once on each store.
macro_rules! on_every_store {
    ($(async fn $name:ident($world:ident: World) $body:block)*) => {
        $(mod $name {
            use super::*;
            async fn check($world: $crate::world::World) $body

            #[tokio::test]
            async fn memory() {
                $crate::world::in_time(check($crate::world::World::memory())).await;
            }

            #[tokio::test]
            async fn sqlite() {
                $crate::world::in_time(check($crate::world::World::sqlite().await)).await;
            }
        })*
    };
}

pub(crate) use on_every_store;

/// A test that hangs fails. One that syncs much on a disk that is busy with other things only takes long.
pub(crate) async fn in_time(test: impl Future<Output = ()>) {
    let in_time = tokio::time::timeout(Duration::from_secs(300), Box::pin(test)).await;
    assert!(in_time.is_ok(), "the test hangs");
}
