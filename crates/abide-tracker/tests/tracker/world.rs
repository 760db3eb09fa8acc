//! A store, a clock that stands still, a sink, and an engine that is tracked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use abide::prelude::*;
use abide::store::Store;
use abide::{Builder, Clock};
use abide_sqlite::SqliteStore;
use abide_testkit::{ManualClock, MemoryStore};
use abide_tracker::{Tracker, TrackerConfig};
use serde_json::Value;
use tokio::sync::watch;

use crate::sink::HttpServer;

pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: ManualClock,
    pub(crate) server: HttpServer,
}

impl World {
    pub(crate) async fn memory() -> Self {
        let clock = ManualClock::at(Timestamp(1_700_000_000_000));
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        Self { store, server: HttpServer::start(&clock).await, clock }
    }

    pub(crate) async fn sqlite() -> Self {
        let clock = ManualClock::at(Timestamp(1_700_000_000_000));
        let store = SqliteStore::options().clock(Arc::new(clock.clone()));
        let store = Arc::new(store.open_temporary().await.unwrap());
        Self { store, server: HttpServer::start(&clock).await, clock }
    }

    pub(crate) fn config(&self) -> TrackerConfig {
        TrackerConfig::new(self.server.url(), "secret-token")
    }

    pub(crate) fn tracker(&self) -> Tracker {
        Tracker::new(self.config()).unwrap()
    }

    pub(crate) fn builder(&self) -> Builder {
        let builder = Engine::on(Arc::clone(&self.store)).clock(Arc::new(self.clock.clone()));
        builder.configure(|config| {
            config.instances_retention = None;
            config.events_retention = None;
            config.events_max_bytes = None;
        })
    }

    /// An engine with one workflow and one tracker.
    pub(crate) async fn engine(&self, workflow: Workflow, tracker: &Tracker) -> Engine {
        self.builder().register(workflow).observe(tracker.clone()).start().await.unwrap()
    }

    /// Until somebody sleeps until this long from now, and nobody less long; then it is that late.
    pub(crate) async fn pass(&self, by: Duration) {
        let at = self.clock.now().after(by);
        let asleep = eventually(async || self.clock.next_wakeup() == Some(at)).await;
        assert!(asleep, "nobody sleeps {by:?}, but until {:?}", self.clock.next_wakeup());
        self.clock.set(at);
    }

    /// Moves time while nothing is on its way: a request that takes long has failed.
    pub(crate) async fn later(&self, tracker: &Tracker, by: Duration) {
        tracker.flush().await;
        self.clock.advance(by);
    }

    /// Until an instance has a status.
    pub(crate) async fn until(&self, handle: &Handle, status: Status) {
        let reached = eventually(async || handle.status().await.unwrap() == status).await;
        assert!(reached, "{} is not {status}", handle.id());
    }
}

/// A workflow of so many steps: two events each, and two of its own.
pub(crate) fn steps() -> Workflow {
    Workflow::new("steps", async |cx: Cx, steps: u32| -> Result<u32> {
        let mut sum = 0;
        for _ in 0..steps {
            sum += cx.step("step", || async { Ok::<u32, Error>(1) }).await?;
        }
        Ok(sum)
    })
}

/// Runs it to its end.
pub(crate) async fn run_steps(engine: &Engine, steps: u32) {
    let handle = engine.start("steps", Start::new(&steps)).await.unwrap();
    assert_eq!(handle.result::<u32>().await.unwrap(), steps);
}

/// Asks again and again, for at most a minute of real time.
pub(crate) async fn eventually(mut holds: impl AsyncFnMut() -> bool) -> bool {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        if Instant::now() > give_up {
            return false;
        }
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
    true
}

/// A test that hangs fails.
pub(crate) async fn in_time(test: impl Future<Output = ()>) {
    let in_time = tokio::time::timeout(Duration::from_secs(300), Box::pin(test)).await;
    assert!(in_time.is_ok(), "the test hangs");
}

/// Where a step waits until the test lets it pass.
#[derive(Clone)]
pub(crate) struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub(crate) fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn pass(self) -> Result<()> {
        drop(self.0.subscribe().wait_for(|open| *open).await.unwrap());
        Ok(())
    }
}

pub(crate) fn text<'v>(event: &'v Value, field: &str) -> &'v str {
    event[field].as_str().unwrap_or_else(|| panic!("no text {field:?} in {event}"))
}

/// What events say, shortly: the type, and the step if there is one.
pub(crate) fn short(events: &[Value]) -> Vec<String> {
    let told = events.iter().map(|event| {
        let rest: Vec<&str> =
            ["stepName", "reason"].iter().filter_map(|field| event[*field].as_str()).collect();
        format!("{} {}", text(event, "type"), rest.join(" ")).trim_end().to_owned()
    });
    told.collect()
}
