//! How an instance is named: by its id outside, by its key inside.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The id of an instance, chosen by the caller or generated (`wf_…`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceId(Arc<str>);

impl InstanceId {
    /// The longest id accepted: it is an index key and part of URLs.
    pub const MAX_LEN: usize = 255;

    /// Takes an id as the caller gave it.
    ///
    /// # Errors
    /// When it is empty, longer than [`Self::MAX_LEN`] bytes or contains control characters.
    pub fn new(id: impl AsRef<str>) -> Result<Self> {
        let id = id.as_ref();
        if id.is_empty() || id.len() > Self::MAX_LEN || id.chars().any(char::is_control) {
            let message =
                format!("{id:?} must be 1 to {} bytes without control characters", Self::MAX_LEN);
            return Err(Error::Invalid { what: "instance id".into(), message });
        }
        Ok(Self(id.into()))
    }

    /// A generated id: `wf_0192…`.
    pub(crate) fn generated(prefix: &str, uuid: &uuid::Uuid) -> Self {
        Self(format!("{prefix}_{}", uuid.simple()).into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for InstanceId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The store's own name of an instance: an integer in insertion order, so that rows of instances
/// that run together lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceKey(pub i64);
