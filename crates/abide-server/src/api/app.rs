//! What every route can reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide::{Engine, Handle, InstanceId, Timestamp};
use abide_flow::Flows;

use super::error::ApiError;
use super::guard::Guard;
use super::handlers::TimeoutHandlers;
use super::readers::Readers;
use crate::settings::Settings;

/// The engine, its documents and the settings. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    engine: Engine,
    flows: Flows,
    settings: Settings,
    node_id: String,
    started_at: Timestamp,
    handlers: TimeoutHandlers,
    guard: Guard,
    readers: Readers,
    draining: AtomicBool,
}

impl App {
    /// Serves an engine.
    #[must_use]
    pub fn new(engine: Engine, flows: Flows, settings: Settings) -> Self {
        let node_id = engine.new_id("node");
        let started_at = engine.now();
        let handlers = TimeoutHandlers::default();
        let guard = Guard::new(&settings);
        let draining = AtomicBool::new(false);
        Self(Arc::new(Parts {
            engine,
            flows,
            settings,
            node_id,
            started_at,
            handlers,
            guard,
            readers: Readers::default(),
            draining,
        }))
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Its documents.
    #[must_use]
    pub fn flows(&self) -> &Flows {
        &self.0.flows
    }

    /// The settings of the server.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// What this process is called among others.
    pub(super) fn node_id(&self) -> &str {
        &self.0.node_id
    }

    /// Since when it serves.
    pub(super) fn started_at(&self) -> Timestamp {
        self.0.started_at
    }

    /// Whether anybody has to show a token, which decides where the server may listen.
    ///
    /// # Errors
    /// When the tokens can't be read, in words.
    pub async fn has_tokens(&self) -> Result<bool, String> {
        match self.guard().ready(self).await {
            Ok(ready) => Ok(ready.tokens.are_any()),
            Err(broken) => Err(broken.to_string()),
        }
    }

    /// From now on `/readyz` says no, so that whoever balances load sends it elsewhere.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Relaxed)
    }

    pub(super) fn uptime(&self) -> Duration {
        self.engine().now().since(self.0.started_at)
    }

    /// Who may do what.
    pub(super) fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// Who reads a stream.
    pub(super) fn readers(&self) -> &Readers {
        &self.0.readers
    }

    /// What its documents do when a wait gives up.
    pub(super) fn handlers(&self) -> &TimeoutHandlers {
        &self.0.handlers
    }

    /// A handle on an instance whose id came in a path.
    pub(super) fn handle(&self, id: &str) -> Result<Handle, ApiError> {
        Ok(self.engine().get(&InstanceId::new(id)?))
    }
}
