//! Documents that a store keeps and does not look into: definitions of events, triggers.

use std::sync::Arc;

use crate::json::Json;
use crate::status::words;
use crate::time::Timestamp;

words! {
    /// What a document is.
    DocumentKind, "document kind", {
        /// What an event of a type looks like.
        EventDefinition = "event-definition",
        /// What starts or cancels instances.
        Trigger = "trigger",
        /// A workflow that is not written in Rust.
        Workflow = "workflow",
        /// What makes an event of a call from outside.
        Webhook = "webhook",
        /// What somebody may do who shows it.
        Token = "token",
        /// How far a sink has been told what happened.
        Sink = "sink",
    }
}

impl DocumentKind {
    /// Whether earlier versions are kept. Of what changes all the time they would only grow.
    #[must_use]
    pub fn keeps_versions(self) -> bool {
        self != Self::Sink
    }
}

/// A stored document. A change makes the next version; the same again does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// What it is.
    pub kind: DocumentKind,
    /// Its name among those.
    pub name: Arc<str>,
    /// Counts from 1.
    pub version: u32,
    /// What it says.
    pub body: Json,
    /// When this version was put.
    pub updated_at: Timestamp,
}
