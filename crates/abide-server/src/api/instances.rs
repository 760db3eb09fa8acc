//! Starting instances, finding them, and waiting for what they come to.

use abide::store::Overview;
use abide::{Filter, Handle, IfExists, InstanceKey, Json, Page, Start, Status, StepRecord, Wait};
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Asked, Reply};
use super::error::ApiError;
use super::params::{self, At, Params, Span};
use super::subscriptions;
use super::view::{FailureView, InstanceView, Moment};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(start_batch))
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(result))
}

/// How to start an instance.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StartBody {
    /// Chosen by the caller, so that a retry is harmless; generated when absent.
    id: Option<String>,
    #[schema(value_type = Option<Value>)]
    input: Option<Json>,
    /// When the id is taken: `error` (default) or `return` the existing one.
    if_exists: Option<OnExisting>,
    /// Not to begin before.
    start_at: Option<Moment>,
    /// What ties it to events and other instances.
    correlation_id: Option<String>,
    /// Labels to find it by.
    tags: Option<Vec<String>>,
    /// Fails with `WORKFLOW_TIMEOUT` when it takes longer, e.g. `2 hours`.
    #[schema(value_type = Option<String>)]
    timeout: Option<Span>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OnExisting {
    Error,
    Return,
}

impl StartBody {
    fn start(self) -> Start {
        let mut start = Start::new(&self.input.unwrap_or_else(Json::null));
        if let Some(id) = self.id {
            start = start.id(id);
        }
        if let Some(OnExisting::Return) = self.if_exists {
            start = start.if_exists(IfExists::Return);
        }
        if let Some(Moment(at)) = self.start_at {
            start = start.start_at(at);
        }
        if let Some(id) = self.correlation_id {
            start = start.correlation_id(id);
        }
        if let Some(Span(timeout)) = self.timeout {
            start = start.timeout(timeout);
        }
        self.tags.into_iter().flatten().fold(start, Start::tag)
    }
}

/// Whether to answer only once the instance rests.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Settle {
    /// Answer after the instance parked or ended, but no later than this, e.g. `5s`.
    #[param(value_type = Option<String>)]
    #[serde(default, deserialize_with = "params::span_in_query")]
    settle: Option<Span>,
}

impl Settle {
    /// The status once the instance rests or the time is up; `None` when nobody asked to wait.
    pub(super) async fn of(&self, app: &App, handle: &Handle) -> Result<Option<Status>, ApiError> {
        let Some(Span(longest)) = self.settle else { return Ok(None) };
        let longest = longest.min(app.settings().max_wait);
        match tokio::time::timeout(longest, handle.settled()).await {
            Ok(settled) => Ok(Some(settled?)),
            Err(_) => Ok(Some(handle.status().await?)),
        }
    }
}

/// Start an instance
#[utoipa::path(post, path = "/workflows/{name}/instances", tag = "instances",
    params(("name" = String, Path, description = "the workflow"), Settle),
    request_body = StartBody,
    responses((status = 201, description = "started, or the existing one", body = InstanceView)))]
async fn start(
    State(app): State<App>,
    At(name): At<String>,
    Params(settle): Params<Settle>,
    Asked(body): Asked<StartBody>,
) -> Result<(StatusCode, Reply<InstanceView>), ApiError> {
    let handle = app.engine().start(&name, body.start()).await?;
    settle.of(&app, &handle).await?;
    let (instance, steps, waits) = overview(&handle).await?;
    // Waits that have just begun have missed nothing yet.
    let waits = subscriptions::of_one(&app, &instance, &waits).await?;
    Ok((StatusCode::CREATED, Reply(InstanceView::from(instance).in_full(steps, waits))))
}

/// An instance with its steps and waits, and what the waits nearly took.
pub(super) async fn in_full(app: &App, handle: &Handle) -> Result<InstanceView, ApiError> {
    let (instance, steps, waits) = overview(handle).await?;
    let views = subscriptions::of_one(app, &instance, &waits).await?;
    let views = subscriptions::with_near_misses(app, &waits, views).await?;
    Ok(InstanceView::from(instance).in_full(steps, views))
}

/// An instance, and the steps and waits of its current run.
async fn overview(
    handle: &Handle,
) -> Result<(abide::Instance, Vec<StepRecord>, Vec<Wait>), ApiError> {
    let Overview { instance, history, mut waits } = handle.overview().await?;
    waits.retain(|wait| wait.run == instance.run);
    let mut steps = StepRecord::of(&history);
    // What was taken at once (the time, a random number) is in the history and is no step of a workflow.
    steps.retain(|step| !step.kind.is_value());
    Ok((instance, steps, waits))
}

/// Several instances.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BatchBody {
    /// At most 100.
    #[schema(max_items = 100)]
    instances: Vec<StartBody>,
}

/// A list of instances.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstanceList {
    instances: Vec<InstanceView>,
    /// Pass it as `cursor` to get what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Start several instances, all or none
#[utoipa::path(post, path = "/workflows/{name}/instances/batch", tag = "instances",
    params(("name" = String, Path, description = "the workflow")),
    request_body = BatchBody,
    responses((status = 201, description = "all of them", body = InstanceList)))]
async fn start_batch(
    State(app): State<App>,
    At(name): At<String>,
    Asked(body): Asked<BatchBody>,
) -> Result<(StatusCode, Reply<InstanceList>), ApiError> {
    let starts = body.instances.into_iter().map(StartBody::start).collect();
    let handles = app.engine().start_all(&name, starts).await?;
    let mut instances = Vec::with_capacity(handles.len());
    for handle in handles {
        instances.push(handle.instance().await?.into());
    }
    Ok((StatusCode::CREATED, Reply(InstanceList { instances, next_cursor: None })))
}

/// Which instances.
#[derive(Debug, Default, Deserialize, IntoParams, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct InstanceQuery {
    /// Of this workflow.
    workflow: Option<String>,
    /// One or several statuses, separated by commas.
    status: Option<String>,
    /// Whose id begins with this.
    id_prefix: Option<String>,
    correlation_id: Option<String>,
    /// With this label.
    tag: Option<String>,
    /// Children of this instance.
    parent: Option<String>,
    #[param(value_type = Option<String>, format = DateTime)]
    created_after: Option<Moment>,
    #[param(value_type = Option<String>, format = DateTime)]
    created_before: Option<Moment>,
    /// Whose input contains this text.
    q: Option<String>,
    /// 1 to 1000; 100 when absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

impl InstanceQuery {
    pub(super) fn has_page(&self) -> bool {
        self.limit.is_some() || self.cursor.is_some()
    }

    pub(super) fn filter(&self) -> Result<Filter, ApiError> {
        let parent = self.parent.as_deref().map(abide::InstanceId::new).transpose()?;
        Ok(Filter {
            workflow: self.workflow.clone(),
            status: params::statuses(self.status.as_deref())?,
            id_prefix: self.id_prefix.clone(),
            correlation_id: self.correlation_id.clone(),
            tag: self.tag.clone(),
            parent,
            created_after: self.created_after.map(|moment| moment.0),
            created_before: self.created_before.map(|moment| moment.0),
            text: self.q.clone(),
        })
    }
}

/// List instances, newest first
#[utoipa::path(get, path = "/instances", tag = "instances", params(InstanceQuery),
    responses((status = 200, description = "a page", body = InstanceList)))]
async fn list(
    State(app): State<App>,
    Params(query): Params<InstanceQuery>,
) -> Result<Reply<InstanceList>, ApiError> {
    let page = Page {
        limit: params::limit(query.limit, 100)?,
        before: params::cursor(query.cursor.as_deref())?.map(InstanceKey),
    };
    let listed = app.engine().list(query.filter()?, page).await?;
    Ok(Reply(InstanceList {
        instances: listed.instances.into_iter().map(Into::into).collect(),
        next_cursor: listed.next.map(|key| key.0.to_string()),
    }))
}

/// One instance, with its steps and waits, and what the waits nearly took
#[utoipa::path(get, path = "/instances/{id}", tag = "instances",
    params(("id" = String, Path, description = "the instance")),
    responses((status = 200, description = "the instance", body = InstanceView)))]
async fn show(State(app): State<App>, At(id): At<String>) -> Result<Reply<InstanceView>, ApiError> {
    Ok(Reply(in_full(&app, &app.handle(&id)?).await?))
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Patience {
    /// How long to wait, e.g. `30s`; not at all when absent.
    #[param(value_type = Option<String>)]
    #[serde(default, deserialize_with = "params::span_in_query")]
    pub(super) timeout: Option<Span>,
}

impl Patience {
    /// What comes within the time that was asked for; `None` when that is over.
    pub(super) async fn within<T>(&self, app: &App, coming: impl Future<Output = T>) -> Option<T> {
        let asked = self.timeout.map_or(std::time::Duration::ZERO, |Span(asked)| asked);
        tokio::time::timeout(asked.min(app.settings().max_wait), coming).await.ok()
    }
}

/// What an instance came to.
#[derive(Debug, Serialize, ToSchema)]
struct ResultView {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    output: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
}

/// Wait for the end of an instance
#[utoipa::path(get, path = "/instances/{id}/result", tag = "instances",
    params(("id" = String, Path, description = "the instance"), Patience),
    responses(
        (status = 200, description = "it has ended", body = ResultView),
        (status = 202, description = "not yet", body = ResultView)))]
async fn result(
    State(app): State<App>,
    At(id): At<String>,
    Params(patience): Params<Patience>,
) -> Result<(StatusCode, Reply<ResultView>), ApiError> {
    let handle = app.handle(&id)?;
    if let Some(ended) = patience.within(&app, handle.ended()).await {
        let ended = ended?;
        let (output, error) = (ended.output, ended.error.map(Into::into));
        let view = ResultView { status: ended.status.as_str(), output, error };
        return Ok((StatusCode::OK, Reply(view)));
    }
    let instance = handle.instance().await?;
    let status: Status = instance.status();
    let code = if status.is_terminal() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let error = instance.error.map(Into::into);
    Ok((code, Reply(ResultView { status: status.as_str(), output: instance.output, error })))
}
