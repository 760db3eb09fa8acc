//! What an instance leaves behind: history, buffer, outputs.

use abide::history::{EntryKind, Recorded};
use abide::{Buffered, Handle, Json, Output};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::Reply;
use super::error::ApiError;
use super::instances::Patience;
use super::params::{self, At, Params};
use super::view::{EntryView, Moment, Told};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(history))
        .routes(routes!(buffer))
        .routes(routes!(outputs))
        .routes(routes!(output))
}

/// Which part of a history.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct HistoryQuery {
    /// After this number.
    after: Option<i64>,
    /// 1 to 1000; 100 when absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// A part of a history.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct HistoryPage {
    events: Vec<EntryView>,
    /// Pass it as `after` to get what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// What happened to an instance, in order
#[utoipa::path(get, path = "/instances/{id}/history", tag = "records",
    params(("id" = String, Path, description = "the instance"), HistoryQuery),
    responses((status = 200, description = "a page", body = HistoryPage)))]
async fn history(
    State(app): State<App>,
    At(id): At<String>,
    Params(query): Params<HistoryQuery>,
) -> Result<Reply<HistoryPage>, ApiError> {
    let handle = app.handle(&id)?;
    let limit = params::limit(query.limit, 100)?;
    let instance = handle.instance().await?;
    let page = handle.history_page(query.after.unwrap_or(0), limit).await?;
    let told = Told { id: &instance.id, workflow: &instance.workflow };
    let next = page.last().filter(|last| page.len() == limit && last.seq + 1 < instance.next_seq);
    let next_cursor = next.map(|last| last.seq.to_string());
    let mut events = Vec::with_capacity(page.len());
    for recorded in page {
        events.push(entry(&handle, told, recorded).await?);
    }
    Ok(Reply(HistoryPage { events, next_cursor }))
}

/// An entry as the outside sees it. One that ends a run tells which steps were done.
pub(super) async fn entry(
    handle: &Handle,
    told: Told<'_>,
    recorded: Recorded,
) -> Result<EntryView, ApiError> {
    if !ends_run(&recorded) {
        return Ok(EntryView::new(told, recorded));
    }
    let history = handle.history().await?;
    let (run, seq) = (recorded.run, recorded.seq);
    let before = history.iter().filter(|earlier| earlier.run == run && earlier.seq < seq);
    Ok(EntryView::new(told, recorded).ends(before))
}

/// Whether it tells which steps were done, for which the history has to be read.
pub(super) fn ends_run(recorded: &Recorded) -> bool {
    matches!(recorded.entry.entry, EntryKind::WorkflowCompleted | EntryKind::WorkflowFailed)
}

/// Something accepted and not yet consumed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BufferedView {
    id: String,
    /// `event`, `signal` or `message`.
    kind: &'static str,
    /// The event type, signal name or topic.
    #[serde(rename = "type")]
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    payload: Option<Json>,
    received_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    visible_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_instance_id: Option<String>,
}

impl From<Buffered> for BufferedView {
    fn from(buffered: Buffered) -> Self {
        Self {
            id: buffered.id.to_string(),
            kind: buffered.kind.as_str(),
            name: buffered.name.to_string(),
            payload: buffered.payload,
            received_at: buffered.received_at.into(),
            visible_at: buffered.visible_at.map(Into::into),
            source_instance_id: buffered.source.as_deref().map(str::to_owned),
        }
    }
}

/// What an instance keeps.
#[derive(Debug, Serialize, ToSchema)]
struct BufferView {
    events: Vec<BufferedView>,
}

/// What an instance accepted and has not consumed
#[utoipa::path(get, path = "/instances/{id}/buffer", tag = "records",
    params(("id" = String, Path, description = "the instance")),
    responses((status = 200, description = "by the time they may be seen", body = BufferView)))]
async fn buffer(State(app): State<App>, At(id): At<String>) -> Result<Reply<BufferView>, ApiError> {
    let kept = app.handle(&id)?.buffer().await?;
    Ok(Reply(BufferView { events: kept.into_iter().map(Into::into).collect() }))
}

/// A value that an instance published.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OutputView {
    key: String,
    #[schema(value_type = Value)]
    value: Json,
    updated_at: Moment,
}

impl From<Output> for OutputView {
    fn from(output: Output) -> Self {
        let Output { key, value, updated_at } = output;
        Self { key: key.to_string(), value, updated_at: updated_at.into() }
    }
}

/// Everything that an instance published.
#[derive(Debug, Serialize, ToSchema)]
struct OutputList {
    outputs: Vec<OutputView>,
}

/// The outputs of an instance
#[utoipa::path(get, path = "/instances/{id}/outputs", tag = "records",
    params(("id" = String, Path, description = "the instance")),
    responses((status = 200, description = "by key", body = OutputList)))]
async fn outputs(
    State(app): State<App>,
    At(id): At<String>,
) -> Result<Reply<OutputList>, ApiError> {
    let outputs = app.handle(&id)?.outputs().await?;
    Ok(Reply(OutputList { outputs: outputs.into_iter().map(Into::into).collect() }))
}

/// One output of an instance, waiting for it if asked to
#[utoipa::path(get, path = "/instances/{id}/outputs/{key}", tag = "records",
    params(
        ("id" = String, Path, description = "the instance"),
        ("key" = String, Path, description = "the output"),
        Patience),
    responses((status = 200, description = "the output", body = OutputView)))]
async fn output(
    State(app): State<App>,
    At((id, key)): At<(String, String)>,
    Params(patience): Params<Patience>,
) -> Result<Reply<OutputView>, ApiError> {
    let handle = app.handle(&id)?;
    if patience.timeout.is_some() {
        match patience.within(&app, handle.wait_for_output::<Json>(&key)).await {
            // It ended without: what is there is told below.
            None | Some(Ok(_) | Err(abide::Error::NotRunning { .. })) => {}
            Some(Err(error)) => return Err(error.into()),
        }
    }
    let outputs = handle.outputs().await?;
    let known: Vec<String> = outputs.iter().map(|output| output.key.to_string()).collect();
    match outputs.into_iter().find(|output| *output.key == *key) {
        Some(output) => Ok(Reply(output.into())),
        None => {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!("instance {id} has no output {key:?}; it has {known}");
            Err(ApiError::not_found("OUTPUT_NOT_FOUND", message))
        }
    }
}
