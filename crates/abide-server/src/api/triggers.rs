//! What starts or cancels instances when an event is published.

use abide::{DocumentKind, Error, Kept, Replayed, Trigger};
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Asked, Defined, Reply};
use super::error::ApiError;
use super::params::At;
use super::view::TriggerFailedView;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(put))
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(remove))
        .routes(routes!(replay))
}

/// Starts or cancels instances when an event is published. Expressions see `event`.
#[derive(ToSchema)]
#[schema(as = TriggerBody, rename_all = "camelCase")]
#[allow(dead_code, reason = "describes `Trigger`, which knows no OpenAPI")]
struct TriggerBody {
    /// The workflow whose instances it starts or cancels.
    workflow: String,
    /// The event types that it hears.
    #[schema(example = "order.placed")]
    event_pattern: String,
    /// `start` (default), or `cancel`: the instances with the event's correlation id.
    action: Option<String>,
    /// Only events of which this is true.
    filter_condition: Option<String>,
    /// The input of the instance: plain texts are dotted paths in the payload, `${…}` is an
    /// expression, anything else stands for itself. Without a mapping the input is `{eventId,
    /// eventPattern, eventPayload}`.
    input_mapping: Option<Value>,
    /// An expression whose value is the correlation id; without one it is the event's.
    correlation_key: Option<String>,
    /// Whether it does anything; `true` when absent.
    enabled: Option<bool>,
    /// Those with a lower one come first; among equals the name decides.
    priority: Option<i32>,
    description: Option<String>,
    /// `{period, maxWait?, key?}`: only the last of a burst starts an instance.
    debounce: Option<Value>,
    /// `{limit, period, key?}`: only so many start in a period; the others wait.
    throttle: Option<Value>,
    /// `{maxSize, period, key?}`: several events start one instance with the array of their inputs.
    batch: Option<Value>,
}

/// A trigger as it is kept.
#[derive(Serialize, ToSchema)]
struct TriggerView {
    /// Its name; one of a document is `{workflow}:{eventPattern}`.
    name: String,
    /// Counts from 1; a change makes the next.
    version: u32,
    #[serde(flatten)]
    #[schema(value_type = TriggerBody)]
    body: Trigger,
}

impl From<Kept<Trigger>> for TriggerView {
    fn from(kept: Kept<Trigger>) -> Self {
        Self { name: kept.name.to_string(), version: kept.version, body: kept.body }
    }
}

/// All of them, by name.
#[derive(Serialize, ToSchema)]
struct TriggerList {
    triggers: Vec<TriggerView>,
}

/// Register a trigger, or change it
///
/// It sees what is published from now on; a replay shows it what was published before.
#[utoipa::path(put, path = "/triggers/{name}", tag = "triggers",
    params(("name" = String, Path, description = "the trigger")),
    request_body = TriggerBody,
    responses((status = 200, description = "as it is kept", body = TriggerView)))]
async fn put(
    State(app): State<App>,
    At(name): At<String>,
    Defined(body): Defined<Trigger>,
) -> Result<Reply<TriggerView>, ApiError> {
    Ok(Reply(app.engine().put_trigger(&name, body).await?.into()))
}

/// List triggers
#[utoipa::path(get, path = "/triggers", tag = "triggers",
    responses((status = 200, description = "all of them", body = TriggerList)))]
async fn list(State(app): State<App>) -> Result<Reply<TriggerList>, ApiError> {
    let all = app.engine().triggers().await?;
    Ok(Reply(TriggerList { triggers: all.into_iter().map(Into::into).collect() }))
}

/// One trigger
#[utoipa::path(get, path = "/triggers/{name}", tag = "triggers",
    params(("name" = String, Path, description = "the trigger")),
    responses((status = 200, description = "the trigger", body = TriggerView)))]
async fn show(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Reply<TriggerView>, ApiError> {
    let found = app.engine().store().document(DocumentKind::Trigger, &name, None).await?;
    let document =
        found.ok_or(Error::DefinitionNotFound { what: "trigger", name: name.clone() })?;
    let body = document.body.decode()?;
    Ok(Reply(TriggerView { name, version: document.version, body }))
}

/// Remove a trigger; what it started goes on
#[utoipa::path(delete, path = "/triggers/{name}", tag = "triggers",
    params(("name" = String, Path, description = "the trigger")),
    responses((status = 204, description = "removed")))]
async fn remove(State(app): State<App>, At(name): At<String>) -> Result<StatusCode, ApiError> {
    app.engine().remove_trigger(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which part of the log to show again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReplayBody {
    /// The `seq` of the first event.
    from_seq: i64,
    /// The `seq` of the last event.
    to_seq: i64,
    /// Only count.
    #[serde(default)]
    dry_run: bool,
}

/// What came, or would come, of a replay.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ReplayView {
    /// How many events the trigger heard.
    heard: u64,
    /// How many instances were started.
    started_count: u64,
    /// The first 100 of them.
    started: Vec<String>,
    /// How many had been started before, by the same events.
    existing: u64,
    /// How many instances were cancelled.
    cancelled: u64,
    /// The first events on which the trigger failed.
    failed: Vec<TriggerFailedView>,
    dry_run: bool,
}

impl From<Replayed> for ReplayView {
    fn from(replayed: Replayed) -> Self {
        let Replayed { heard, started_count, started, existing, cancelled, failed, dry_run } =
            replayed;
        let started = started.iter().map(|id| id.as_str().to_owned()).collect();
        let failed = failed.into_iter().map(Into::into).collect();
        Self { heard, started_count, started, existing, cancelled, failed, dry_run }
    }
}

/// Show events of the log to a trigger, as if they were published now
///
/// What it started before it does not start again, so a replay can be repeated.
#[utoipa::path(post, path = "/triggers/{name}/replay", tag = "triggers",
    params(("name" = String, Path, description = "the trigger")),
    request_body = ReplayBody,
    responses((status = 200, description = "what came of it", body = ReplayView)))]
async fn replay(
    State(app): State<App>,
    At(name): At<String>,
    Asked(body): Asked<ReplayBody>,
) -> Result<Reply<ReplayView>, ApiError> {
    let ReplayBody { from_seq, to_seq, dry_run } = body;
    if from_seq > to_seq {
        let message = format!("fromSeq {from_seq} is behind toSeq {to_seq}");
        return Err(ApiError::invalid(message));
    }
    Ok(Reply(app.engine().replay(&name, from_seq..=to_seq, dry_run).await?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::openapi::fields;

    #[test]
    fn the_description_has_the_fields_of_a_trigger() {
        let full = serde_json::json!({
            "workflow": "w", "eventPattern": "e", "action": "start", "filterCondition": "true",
            "inputMapping": {}, "correlationKey": "1", "enabled": true, "priority": 0,
            "description": "d", "debounce": {"period": "1s"},
            "throttle": {"limit": 1, "period": "1s"}, "batch": {"maxSize": 2, "period": "1s"},
        });
        let read: Trigger = serde_json::from_value(full).unwrap();
        let Value::Object(written) = serde_json::to_value(read).unwrap() else { panic!() };
        let mut written: Vec<String> = written.keys().cloned().collect();
        written.sort_unstable();
        assert_eq!(fields::<TriggerBody>(), written);
    }
}
