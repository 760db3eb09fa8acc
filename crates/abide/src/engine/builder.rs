//! Putting an engine together.

use std::future::Future;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Weak};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};

use crate::config::Config;
use crate::cx::Cx;
use crate::error::{BoxError, Result};
use crate::json::Json;
use crate::metrics::{Counted, Measured};
use crate::replacement::{Replace, StepCall};
use crate::store::Store;
use crate::time::{Clock, SystemClock};
use crate::workflow::{Registry, Workflow};

use super::catalog::Catalog;
use super::feed::{self, Feed, Follow, Observer};
use super::idle::Idle;
use super::listener::Ear;
use super::residents::Residents;
use super::timers::Timers;
use super::waiters::Waiters;
use super::{Alive, Engine, Env, Inner, RUNNING, claims, idle, prune, timers};

/// An engine in the making; see [`Engine::builder`].
#[must_use = "an engine runs nothing until started"]
pub struct Builder {
    store: Arc<dyn Store>,
    registry: Registry,
    config: Config,
    clock: Arc<dyn Clock>,
    replace: Option<Box<Replace>>,
    observers: Vec<Arc<dyn Observer>>,
}

impl Builder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            registry: Registry::default(),
            config: Config::default(),
            clock: Arc::new(SystemClock::default()),
            replace: None,
            observers: Vec::new(),
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
    pub fn register(self, workflow: Workflow) -> Self {
        self.registry.add(workflow);
        self
    }

    /// Changes settings: `.configure(|c| c.run_max_steps = 50_000)`.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Replaces the clock. The store has a clock of its own; give both the same one.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Has somebody follow everything that its instances do.
    pub fn observe(mut self, observer: impl Observer) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// For tests: asks `replace` before the function of a step is called, at every attempt. What it
    /// answers is recorded as if the function had; with `None` the function is called.
    pub fn replace_steps<R>(mut self, replace: R) -> Self
    where
        R: Fn(&StepCall<'_>) -> Option<Result<Json, BoxError>> + Send + Sync + 'static,
    {
        self.replace = Some(Box::new(replace));
        self
    }

    /// Starts the engine: it takes over the store and goes on with everything in it.
    ///
    /// # Errors
    /// When a workflow declares what can't be, an observer can't begin, or the store's own.
    pub async fn start(self) -> Result<Engine> {
        self.registry.check()?;
        let (claims, to_claim) = mpsc::unbounded_channel();
        let Self { store, registry, config, clock, replace, observers } = self;
        let (catalog, feed) = (Catalog::default(), Feed::new(&config));
        let inner = Arc::new(Inner {
            timers: Timers::new(config.timers_horizon, config.sweep_interval),
            idle: Idle::new(Arc::clone(&clock), &config),
            env: Arc::new(Env {
                clock,
                config,
                registry,
                catalog,
                feed,
                measured: Measured::default(),
                store: Arc::clone(&store),
                replace,
            }),
            store,
            residents: Residents::default(),
            waiters: Waiters::default(),
            output_waiters: Waiters::default(),
            settling: Waiters::default(),
            claims,
            observers,
            counted: Counted::default(),
            lost: watch::Sender::new(None),
            phase: AtomicU8::new(RUNNING),
        });
        let weak: Weak<Inner> = Arc::downgrade(&inner);
        let feed = Arc::clone(&inner.env.feed);
        let ear = Ear { engine: weak.clone(), feed: Arc::clone(&feed) };
        inner.store.attach(Arc::new(ear)).await?;
        inner.env.catalog.load(&*inner.store).await?;
        let engine = Engine { _alive: Arc::new(Alive(Arc::clone(&inner))), inner };
        for observer in &engine.inner.observers {
            observer.begin(Follow::new(&engine.inner).await?).await?;
        }
        tokio::spawn(claims::serve(weak.clone(), to_claim));
        tokio::spawn(claims::sweep(weak.clone()));
        tokio::spawn(timers::serve(weak.clone()));
        tokio::spawn(idle::serve(weak.clone()));
        tokio::spawn(prune::serve(weak.clone()));
        tokio::spawn(feed::serve(weak, feed));
        Ok(engine)
    }
}
