//! What an instance waits for. Its stored record is a subscription.

use std::sync::Arc;

use crate::event::Kind;
use crate::id::{InstanceId, InstanceKey};
use crate::pattern;
use crate::status::words;
use crate::time::Timestamp;

words! {
    /// What became of a wait.
    WaitStatus, "subscription status", {
        /// It is open.
        Active = "active",
        /// It was met.
        Fulfilled = "fulfilled",
        /// Its deadline passed.
        Expired = "expired",
        /// It lost a race, was dropped, or its instance ended.
        Cancelled = "cancelled",
    }
}

/// A wait that a workflow reached.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWait {
    /// The id of its record (`sub_…`).
    pub id: Arc<str>,
    /// The step that waits.
    pub step: Arc<str>,
    /// What it hears.
    pub hears: Hears,
    /// When it gives up.
    pub timeout_at: Option<Timestamp>,
}

/// What a wait hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hears {
    /// Something sent to the instance: an event by pattern, a signal by name, a message by topic.
    Sent {
        /// Which kind.
        kind: Kind,
        /// Which of them.
        pattern: Arc<str>,
    },
    /// An output of another instance.
    Output {
        /// The other instance.
        of: InstanceId,
        /// The key.
        key: Arc<str>,
    },
}

impl Hears {
    /// Whether this is meant by it.
    #[must_use]
    pub fn is_met_by(&self, kind: Kind, name: &str) -> bool {
        match self {
            Self::Sent { kind: heard, pattern } => {
                *heard == kind
                    && match kind {
                        Kind::Event => pattern::matches(pattern, name),
                        Kind::Signal | Kind::Message => **pattern == *name,
                    }
            }
            Self::Output { .. } => false,
        }
    }

    /// What to call it in errors and records.
    #[must_use]
    pub fn pattern(&self) -> &str {
        match self {
            Self::Sent { pattern, .. } => pattern,
            Self::Output { key, .. } => key,
        }
    }
}

/// A stored wait: the subscription record.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// Its place in the order of registration.
    pub key: i64,
    /// Its id (`sub_…`).
    pub id: Arc<str>,
    /// The instance that waits.
    pub instance: InstanceKey,
    /// Its id.
    pub instance_id: InstanceId,
    /// The run that waits.
    pub run: u32,
    /// The step that waits.
    pub step: Arc<str>,
    /// What it hears.
    pub hears: Hears,
    /// What became of it.
    pub status: WaitStatus,
    /// When it was reached.
    pub created_at: Timestamp,
    /// When it gives up.
    pub timeout_at: Option<Timestamp>,
    /// When it was met.
    pub fulfilled_at: Option<Timestamp>,
    /// By what.
    pub fulfilled_by: Option<Arc<str>>,
}
