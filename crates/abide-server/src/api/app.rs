//! What every route can reach.

use std::sync::Arc;

use abide::{Engine, Handle, InstanceId, Timestamp};
use abide_flow::Flows;

use super::error::ApiError;
use super::handlers::TimeoutHandlers;
use crate::settings::Settings;

/// The engine, its documents and the settings. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    engine: Engine,
    flows: Flows,
    settings: Settings,
    handlers: TimeoutHandlers,
    node_id: String,
    started_at: Timestamp,
}

impl App {
    /// Serves an engine.
    #[must_use]
    pub fn new(engine: Engine, flows: Flows, settings: Settings) -> Self {
        let handlers = TimeoutHandlers::default();
        let node_id = engine.new_id("node");
        let started_at = engine.now();
        Self(Arc::new(Parts { engine, flows, settings, handlers, node_id, started_at }))
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

    /// What its documents do when a wait gives up.
    pub(super) fn handlers(&self) -> &TimeoutHandlers {
        &self.0.handlers
    }

    /// What this process is called among others.
    pub(super) fn node_id(&self) -> &str {
        &self.0.node_id
    }

    /// Since when it serves.
    pub(super) fn started_at(&self) -> Timestamp {
        self.0.started_at
    }

    /// A handle on an instance whose id came in a path.
    pub(super) fn handle(&self, id: &str) -> Result<Handle, ApiError> {
        Ok(self.engine().get(&InstanceId::new(id)?))
    }
}
