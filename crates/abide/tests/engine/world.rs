//! What the engine's tests share: a world with a store, a clock that stands still and an engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use abide::history::EntryKind;
use abide::store::Store;
use abide::{Builder, Engine, Handle, Status, Timestamp};
use abide_sqlite::SqliteStore;
use abide_testkit::{ManualClock, MemoryStore};

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

    /// An engine in the making, on this world's store and clock.
    pub(crate) fn engine(&self) -> Builder {
        Engine::on(Arc::clone(&self.store)).clock(Arc::new(self.clock.clone()))
    }

    /// Waits until the instance has this status; the clock stands still meanwhile.
    pub(crate) async fn until(&self, handle: &Handle, status: Status) {
        let reached = eventually(async || handle.status().await.unwrap() == status).await;
        assert!(reached, "{} is not {status}: {:?}", handle.id(), story(handle).await);
    }

    /// Moves the clock from one wake-up to the next until the instance has ended.
    pub(crate) async fn run_to_end(&self, handle: &Handle) {
        let reached = eventually(async || {
            let parked = [Status::Sleeping, Status::Waiting];
            let status = handle.status().await.unwrap();
            if parked.contains(&status) {
                self.clock.advance(Duration::from_millis(100));
            }
            status.is_terminal()
        });
        assert!(reached.await, "{} does not end: {:?}", handle.id(), story(handle).await);
    }
}

/// Asks again and again, for at most ten real seconds, letting everybody else run in between.
pub(crate) async fn eventually(mut holds: impl AsyncFnMut() -> bool) -> bool {
    let give_up = Instant::now() + Duration::from_secs(10);
    while !holds().await {
        if Instant::now() > give_up {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
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

/// Runs a test once on each store.
macro_rules! on_every_store {
    ($(async fn $name:ident($world:ident: World) $body:block)*) => {
        $(mod $name {
            use super::*;
            async fn check($world: $crate::world::World) $body

            #[tokio::test]
            async fn memory() {
                check($crate::world::World::memory()).await;
            }

            #[tokio::test]
            async fn sqlite() {
                check($crate::world::World::sqlite().await).await;
            }
        })*
    };
}

pub(crate) use on_every_store;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
