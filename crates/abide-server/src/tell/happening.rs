//! Something that happened to an instance, as the API tells it.

use abide::InstanceId;
use abide::history::Recorded;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Iso;

/// An entry of a history; only what is shown of it. What is not known is not there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Happening {
    #[serde(rename = "type")]
    pub(crate) what: String,
    pub(crate) instance_id: String,
    pub(crate) workflow: String,
    pub(crate) time: Option<Iso>,
    pub(crate) name: Option<String>,
    pub(crate) kind: Option<String>,
    #[serde(deserialize_with = "present")]
    pub(crate) payload: Option<Value>,
    pub(crate) attempt: Option<u32>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) will_retry: bool,
    pub(crate) delay_ms: Option<u64>,
    pub(crate) resume_at: Option<Iso>,
    pub(crate) deadline: Option<Iso>,
    pub(crate) reason: Option<String>,
    pub(crate) child_id: Option<String>,
    pub(crate) pattern: Option<String>,
    pub(crate) error: Option<Fault>,
    /// Of the frame that closes a stream: how the instance ended.
    pub(crate) status: Option<String>,
}

/// How something failed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Fault {
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Happening {
    /// An entry as the engine has it.
    pub(crate) fn new(id: &InstanceId, workflow: &str, recorded: Recorded) -> Self {
        let Recorded { at, entry, .. } = recorded;
        let text = |text: Option<std::sync::Arc<str>>| text.map(|text| text.to_string());
        Self {
            what: entry.entry.as_str().to_owned(),
            instance_id: id.to_string(),
            workflow: workflow.to_owned(),
            time: Some(Iso(at)),
            kind: entry.kind.map(|kind| kind.as_str().to_owned()),
            name: text(entry.name),
            payload: entry.payload.and_then(|payload| payload.decode().ok()),
            attempt: entry.attempt,
            duration_ms: entry.duration_ms,
            will_retry: entry.will_retry,
            delay_ms: entry.delay_ms,
            resume_at: entry.resume_at.map(Iso),
            deadline: entry.deadline.map(Iso),
            reason: entry.reason,
            child_id: entry.child_id.map(|id| id.to_string()),
            pattern: text(entry.pattern),
            error: entry
                .error
                .map(|error| Fault { code: error.code.into_owned(), message: error.message }),
            status: None,
        }
    }
}

/// A payload that is `null` is not the same as none.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
