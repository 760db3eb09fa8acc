//! Putting a test engine together.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use abide::store::Store;
use abide::{BoxError, Config, Cx, Engine, Json, Result, Timestamp, Workflow};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::replaced::Steps;
use super::time::VirtualTime;
use super::withheld::Withheld;
use super::{Inner, TestEngine};
use crate::{FaultStore, ManualClock, MemoryStore};

/// Where the clock of a test begins: a moment that is easy to recognise.
const BEGINNING: Timestamp = Timestamp(1_700_000_000_000);

/// A test engine in the making; see [`TestEngine::builder`]. A clone makes another world.
#[derive(Clone)]
#[must_use = "an engine runs nothing until started"]
pub struct TestEngineBuilder {
    workflows: Vec<Workflow>,
    steps: Steps,
    config: Config,
    frozen: bool,
    patience: Duration,
}

/// What outlives an engine: its store and its clock.
pub(super) struct World {
    pub(super) disk: MemoryStore,
    pub(super) clock: ManualClock,
}

impl World {
    pub(super) fn new() -> Self {
        let clock = ManualClock::at(BEGINNING);
        Self { disk: MemoryStore::new(Arc::new(clock.clone())), clock }
    }

    pub(super) fn store(&self) -> FaultStore {
        FaultStore::new(Arc::new(self.disk.clone()))
    }
}

impl TestEngineBuilder {
    pub(super) fn new() -> Self {
        let mut config = Config::default();
        // Months pass in a moment: a test wants to look at what ended in the first of them.
        config.instances_retention = None;
        // The clock stands still while a step runs: what it streams is stored at once.
        config.stream_group_interval = Duration::ZERO;
        Self {
            workflows: Vec::new(),
            steps: Steps::default(),
            config,
            frozen: false,
            patience: Duration::from_secs(20),
        }
    }

    /// Registers an async function as version 1 of a workflow.
    pub fn workflow<F, Fut, I, O, E>(self, name: &str, function: F) -> Self
    where
        F: Fn(Cx, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        I: DeserializeOwned,
        O: Serialize,
        E: Into<BoxError>,
    {
        self.register(Workflow::new(name, function))
    }

    /// Registers a workflow; several versions may stand side by side.
    pub fn register(mut self, workflow: Workflow) -> Self {
        self.workflows.push(workflow);
        self
    }

    /// Answers in place of a step's function, given the number of the attempt from 1. `name` is that
    /// of every use of the step, in any scope; `name#2` or `item[3].name` is one of them and goes
    /// first. What was recorded is not asked for again, and what fails is retried, as ever.
    pub fn replace_step<T, F>(mut self, name: &str, answer: F) -> Self
    where
        T: Serialize,
        F: Fn(u32) -> Result<T, BoxError> + Send + Sync + 'static,
    {
        let answer = move |attempt| Ok(Json::encode(&answer(attempt)?)?);
        self.steps.replace(name, Arc::new(answer));
        self
    }

    /// Changes settings: `.configure(|c| c.residency_idle = Duration::ZERO)`.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Begins with a clock that stands still; see [`TestEngine::freeze`].
    pub fn frozen(mut self) -> Self {
        self.frozen = true;
        self
    }

    /// How long, in real time, a step may run before the test fails; 20 s unless told otherwise.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts the engine.
    pub async fn start(self) -> TestEngine {
        let world = World::new();
        let store = world.store();
        self.live(&world, store, None).await
    }

    /// Starts an engine in a world, on a store that may have faults.
    pub(super) async fn live(
        self,
        world: &World,
        store: FaultStore,
        life: Option<String>,
    ) -> TestEngine {
        let steps = Arc::new(self.steps);
        let ask = Arc::clone(&steps);
        let mut engine = Engine::on(Arc::new(store.clone()) as Arc<dyn Store>)
            .clock(Arc::new(world.clock.clone()))
            .replace_steps(move |call| ask.call(call))
            .configure(|config| *config = self.config);
        for workflow in self.workflows {
            engine = engine.register(workflow);
        }
        let inner = Inner {
            engine: engine.start().await.unwrap(),
            time: VirtualTime::new(world.clock.clone(), self.frozen, self.patience),
            store,
            steps,
            withheld: Withheld::default(),
            sent: AtomicUsize::new(0),
            life,
        };
        TestEngine { inner: Arc::new(inner) }
    }
}
