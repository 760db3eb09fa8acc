//! Who is told what happens, and how they are doing.

use abide::Error;
use abide_tracker::{SinkStatus, Tracker};
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Asked, Reply};
use super::error::ApiError;
use super::params::At;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(replay))
}

/// A sink of the configuration.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SinkView {
    name: String,
    /// Where it is told, without anything secret.
    url: String,
    /// `active` or `paused`.
    #[schema(example = "active")]
    status: &'static str,
    /// Whether everything is sent at least once.
    durable: bool,
    /// Events that were taken since the start of the server.
    sent: u64,
    /// Events that were lost since the start of the server.
    dropped: u64,
    /// Events that wait, at most 1 000 and a batch.
    pending: usize,
    /// Of a durable sink: rows of the history that are left to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag: Option<i64>,
    /// Why the last request failed, until one succeeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

impl From<SinkStatus> for SinkView {
    fn from(sink: SinkStatus) -> Self {
        Self {
            status: if sink.paused { "paused" } else { "active" },
            name: sink.name,
            url: sink.url,
            durable: sink.durable,
            sent: sink.sent,
            dropped: sink.dropped,
            pending: sink.pending,
            lag: sink.lag,
            last_error: sink.last_error,
        }
    }
}

/// All of them, in the order of the configuration.
#[derive(Debug, Serialize, ToSchema)]
struct SinkList {
    sinks: Vec<SinkView>,
}

/// List sinks
#[utoipa::path(get, path = "/sinks", tag = "sinks",
    responses((status = 200, description = "all of them", body = SinkList)))]
async fn list(State(app): State<App>) -> Result<Reply<SinkList>, ApiError> {
    let mut sinks = Vec::new();
    for sink in &app.settings().sinks {
        sinks.push(sink.status().await?.into());
    }
    Ok(Reply(SinkList { sinks }))
}

/// Stop a durable sink, also over restarts
///
/// What happens meanwhile is sent when it is resumed.
#[utoipa::path(post, path = "/sinks/{name}/pause", tag = "sinks",
    params(("name" = String, Path, description = "the sink")),
    responses((status = 200, description = "the sink", body = SinkView)))]
async fn pause(State(app): State<App>, At(name): At<String>) -> Result<Reply<SinkView>, ApiError> {
    let sink = durable(&app, &name, "pause")?;
    sink.pause().await?;
    shown(sink).await
}

/// Have a durable sink go on
#[utoipa::path(post, path = "/sinks/{name}/resume", tag = "sinks",
    params(("name" = String, Path, description = "the sink")),
    responses((status = 200, description = "the sink", body = SinkView)))]
async fn resume(State(app): State<App>, At(name): At<String>) -> Result<Reply<SinkView>, ApiError> {
    let sink = durable(&app, &name, "resume")?;
    sink.resume().await?;
    shown(sink).await
}

/// From where to tell again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromRow {
    /// The number of a row in the history of all instances, the first part of the ids of
    /// `/v1/stream`; 0 is the beginning.
    #[schema(minimum = 0)]
    from_seq: u64,
}

/// Tell a durable sink everything from a row on again
#[utoipa::path(post, path = "/sinks/{name}/replay", tag = "sinks",
    params(("name" = String, Path, description = "the sink")),
    request_body = FromRow,
    responses((status = 200, description = "the sink", body = SinkView)))]
async fn replay(
    State(app): State<App>,
    At(name): At<String>,
    Asked(FromRow { from_seq }): Asked<FromRow>,
) -> Result<Reply<SinkView>, ApiError> {
    let sink = durable(&app, &name, "replay")?;
    let from = i64::try_from(from_seq).unwrap_or(i64::MAX);
    // From further on, what is recorded until then would never be told.
    let head = app.engine().store().tail(i64::MAX, 0).await?.head;
    if from > head + 1 {
        let message =
            format!("fromSeq: the history ends with row {head}, so {from} is not there yet");
        return Err(ApiError::invalid(message));
    }
    sink.replay(from).await?;
    shown(sink).await
}

async fn shown(sink: &Tracker) -> Result<Reply<SinkView>, ApiError> {
    Ok(Reply(sink.status().await?.into()))
}

/// The durable sink of this name: only of one it is known how far it has come.
fn durable<'a>(app: &'a App, name: &str, action: &str) -> Result<&'a Tracker, ApiError> {
    let mut sinks = app.settings().sinks.iter();
    let sink = sinks
        .find(|sink| sink.name() == name)
        .ok_or_else(|| Error::DefinitionNotFound { what: "sink", name: name.to_owned() })?;
    if sink.is_durable() {
        return Ok(sink);
    }
    let message = format!("sink {name:?} is not durable, so there is nothing to {action}");
    let refused = ApiError::new(StatusCode::CONFLICT, "INVALID_TRANSITION", message);
    Err(refused.with_details(json!({ "sink": name, "action": action })))
}
