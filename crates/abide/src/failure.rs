//! How an instance, a step or a child failed: the part of an error that is stored.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::Json;

/// A recorded failure: `{code, message, details?, step?}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// A code of the contract (`STEP_FAILED`, `WORKFLOW_TIMEOUT`, …) or the workflow's own.
    pub code: Cow<'static, str>,
    /// What went wrong, for a person.
    pub message: String,
    /// What a program may want to know: counts, limits, ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
    /// The step it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

impl Failure {
    /// A failure with a code and a message.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: None, step: None }
    }

    /// Names the step it happened in.
    #[must_use]
    pub fn in_step(mut self, step: &str) -> Self {
        self.step = Some(step.to_owned());
        self
    }

    /// Adds details. What can't be stored as JSON is left out: the message already tells the story.
    #[must_use]
    pub fn with_details<T: Serialize>(mut self, details: &T) -> Self {
        self.details = Json::encode(details).ok();
        self
    }

    /// A field of the details, when there is one of that type.
    #[must_use]
    pub fn detail<T: serde::de::DeserializeOwned>(&self, field: &str) -> Option<T> {
        let details: serde_json::Map<String, serde_json::Value> =
            self.details.as_ref()?.decode().ok()?;
        serde_json::from_value(details.get(field)?.clone()).ok()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
