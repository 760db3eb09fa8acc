//! A published event, as the log has it.

use std::collections::BTreeMap;

use abide::publication::{Extension, Form};
use abide::{Json, Logged, Published, Taker};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Moment, VerdictView};

/// An event of the log. Its whole verdict and who took it are told of one, not in lists.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventView {
    /// Unique within its source.
    #[schema(example = "evt_0192f0c4a5b87c0e8d1f2a3b4c5d6e7f")]
    id: String,
    #[serde(rename = "type")]
    #[schema(example = "payment.received")]
    event_type: String,
    /// Absent when it has none, which is not the same as `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    payload: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// When it happened, as its source says.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
    /// The media type of the data, when it is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// What the payload stands for, when it is not itself: `text`, or `bytes` in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<&'static str>,
    /// Attributes of a CloudEvent that mean nothing to Abide.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extensions: BTreeMap<String, Value>,
    /// Its place in the log.
    seq: i64,
    accepted_at: Moment,
    /// Whether anybody wanted it, then or later.
    matched: bool,
    /// How many waits took it when it was accepted.
    matched_count: u64,
    /// How many instances it started then.
    started_count: u64,
    /// How many instances it cancelled then.
    cancelled_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<VerdictView>,
    /// Instances that took it so far, or were started by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    takers: Option<Vec<TakerView>>,
}

impl EventView {
    pub(crate) fn new(logged: &Logged) -> Self {
        let Logged { published, verdict, wanted } = logged;
        let Published { seq, accepted_at, event } = published;
        Self {
            id: event.id.clone().unwrap_or_default(),
            event_type: event.event_type.clone(),
            payload: event.payload.clone(),
            source: event.source.clone(),
            time: event.time.map(Into::into),
            subject: event.subject.clone(),
            correlation_id: event.correlation_id.clone(),
            content_type: event.content_type.clone(),
            form: match event.form {
                Form::Text => Some("text"),
                Form::Bytes => Some("bytes"),
                _ => None,
            },
            extensions: event
                .extensions
                .iter()
                .map(|(name, value)| (name.clone(), extension(value)))
                .collect(),
            seq: *seq,
            accepted_at: (*accepted_at).into(),
            matched: *wanted,
            matched_count: verdict.matched_count,
            started_count: verdict.started_count,
            cancelled_count: verdict.cancelled_count,
            verdict: None,
            takers: None,
        }
    }

    /// With everything that is known about it.
    pub(crate) fn in_full(logged: &Logged, takers: Vec<Taker>) -> Self {
        let verdict = Some(VerdictView::from(logged.verdict.clone()));
        let takers = Some(takers.into_iter().map(Into::into).collect());
        Self { verdict, takers, ..Self::new(logged) }
    }
}

fn extension(value: &Extension) -> Value {
    match value {
        Extension::Bool(bool) => Value::from(*bool),
        Extension::Integer(integer) => Value::from(*integer),
        other => Value::from(other.to_string()),
    }
}

/// An instance that took an event, or was started by it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TakerView {
    instance_id: String,
    taken_at: Moment,
}

impl From<Taker> for TakerView {
    fn from(taker: Taker) -> Self {
        let Taker { instance_id, taken_at } = taker;
        Self { instance_id: instance_id.as_str().to_owned(), taken_at: taken_at.into() }
    }
}
