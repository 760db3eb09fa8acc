//! Waits of all instances: who waits for what, what they nearly took, and changing them.

use std::collections::HashMap;
use std::sync::Arc;

use abide::{Error, Instance, InstanceId, Timestamp, Wait, WaitFilter, WaitStatus};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Asked, Reply, present};
use super::error::ApiError;
use super::handlers::{Handlers, written_id};
use super::params::{self, At, Params};
use super::view::{Moment, WaitView};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show)).routes(routes!(edit))
}

/// Which subscriptions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SubscriptionQuery {
    /// Of this instance; those that are active then come with what they nearly took.
    instance: Option<String>,
    /// That hear exactly this pattern, name, topic or key.
    pattern: Option<String>,
    /// `active`, `fulfilled`, `expired` or `cancelled`.
    status: Option<String>,
    /// Of this step.
    step: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

/// A list of subscriptions.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SubscriptionList {
    subscriptions: Vec<WaitView>,
    /// Pass it as `cursor` to get what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// List subscriptions, oldest first
#[utoipa::path(get, path = "/subscriptions", tag = "subscriptions", params(SubscriptionQuery),
    responses((status = 200, description = "a page", body = SubscriptionList)))]
async fn list(
    State(app): State<App>,
    Params(query): Params<SubscriptionQuery>,
) -> Result<Reply<SubscriptionList>, ApiError> {
    let limit = params::limit(query.limit, 100)?;
    let instance = query.instance.map(InstanceId::new).transpose()?;
    let filter = WaitFilter {
        id: None,
        instance,
        pattern: query.pattern,
        status: query.status.map(|word| word.parse::<WaitStatus>()).transpose()?,
        step: query.step,
        after: params::cursor(query.cursor.as_deref())?,
        limit: Some(limit),
    };
    let waits = app.engine().waits(filter).await?;
    let is_full = waits.len() == limit;
    let next_cursor = waits.last().filter(|_| is_full).map(|last| last.key.to_string());
    let subscriptions = of_several(&app, &waits).await?;
    let subscriptions = with_near_misses(&app, &waits, subscriptions).await?;
    Ok(Reply(SubscriptionList { subscriptions, next_cursor }))
}

/// Waits of several instances.
async fn of_several(app: &App, waits: &[Wait]) -> Result<Vec<WaitView>, ApiError> {
    let mut known = HashMap::new();
    let mut views = Vec::with_capacity(waits.len());
    for wait in waits {
        if !known.contains_key(&wait.instance_id) {
            let handlers = match app.engine().get(&wait.instance_id).instance().await {
                Ok(instance) => app.handlers().of(app.flows(), &instance).await?,
                // It was deleted a moment ago, past its retention.
                Err(Error::InstanceNotFound { .. }) => Arc::default(),
                Err(error) => return Err(error.into()),
            };
            known.insert(wait.instance_id.clone(), handlers);
        }
        views.extend(known.get(&wait.instance_id).map(|handlers| view(wait, handlers)));
    }
    Ok(views)
}

/// Waits of one instance.
pub(super) async fn of_one(
    app: &App,
    instance: &Instance,
    waits: &[Wait],
) -> Result<Vec<WaitView>, ApiError> {
    let handlers = app.handlers().of(app.flows(), instance).await?;
    Ok(waits.iter().map(|wait| view(wait, &handlers)).collect())
}

/// With the step that follows when it gives up.
fn view(wait: &Wait, handlers: &Handlers) -> WaitView {
    let handler = handlers.get(written_id(&wait.step));
    WaitView::new(wait).with_timeout_handler(handler.map(ToString::to_string))
}

/// With what those that are active nearly took: a look into the log for each of them.
pub(super) async fn with_near_misses(
    app: &App,
    waits: &[Wait],
    views: Vec<WaitView>,
) -> Result<Vec<WaitView>, ApiError> {
    let mut full = Vec::with_capacity(views.len());
    for (wait, view) in waits.iter().zip(views) {
        let is_open = wait.status == WaitStatus::Active && !wait.entries().is_empty();
        full.push(if is_open {
            view.with_near_misses(app.engine().near_misses(&wait.id).await?)
        } else {
            view
        });
    }
    Ok(full)
}

/// One subscription, with what it nearly took while it is active
#[utoipa::path(get, path = "/subscriptions/{id}", tag = "subscriptions",
    params(("id" = String, Path, description = "the subscription")),
    responses((status = 200, description = "the subscription", body = WaitView)))]
async fn show(State(app): State<App>, At(id): At<String>) -> Result<Reply<WaitView>, ApiError> {
    let wait = find(&app, &id).await?;
    in_full(&app, wait).await
}

async fn find(app: &App, id: &str) -> Result<Wait, ApiError> {
    let filter = WaitFilter { id: Some(id.to_owned()), ..WaitFilter::default() };
    let found = app.engine().waits(filter).await?.pop();
    Ok(found.ok_or_else(|| Error::SubscriptionNotFound { id: id.to_owned() })?)
}

async fn in_full(app: &App, wait: Wait) -> Result<Reply<WaitView>, ApiError> {
    let only = std::slice::from_ref(&wait);
    let views = of_several(app, only).await?;
    let view = with_near_misses(app, only, views).await?.pop();
    Ok(Reply(view.unwrap_or_else(|| WaitView::new(&wait))))
}

/// What to change; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SubscriptionEdit {
    /// When it gives up; `null`: never.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Moment>)]
    timeout_at: Option<Option<Moment>>,
    /// Which events it wants; `null`: all. It knows the context of the instance as it is now.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    filter_condition: Option<Option<String>>,
}

/// Change the deadline or the filter of an active subscription
#[utoipa::path(patch, path = "/subscriptions/{id}", tag = "subscriptions",
    params(("id" = String, Path, description = "the subscription")),
    request_body = SubscriptionEdit,
    responses((status = 200, description = "as it is now", body = WaitView)))]
async fn edit(
    State(app): State<App>,
    At(id): At<String>,
    Asked(body): Asked<SubscriptionEdit>,
) -> Result<Reply<WaitView>, ApiError> {
    let wait = find(&app, &id).await?;
    if body.timeout_at.is_none() && body.filter_condition.is_none() {
        return Err(ApiError::invalid("nothing to change: give timeoutAt or filterCondition"));
    }
    let timeout_at: Option<Option<Timestamp>> = body.timeout_at.map(|at| at.map(|moment| moment.0));
    let filter = body.filter_condition.as_ref().map(Option::as_deref);
    let handle = app.engine().get(&wait.instance_id);
    let edited = handle.edit_wait_and_filter(&id, timeout_at, filter).await?;
    in_full(&app, edited).await
}
