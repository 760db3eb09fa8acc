//! Changing the life of an instance.

use abide::{Handle, Terminate};
use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Asked, Reply};
use super::error::ApiError;
use super::instances::{Settle, in_full};
use super::params::{At, Params};
use super::view::InstanceView;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(terminate))
        .routes(routes!(restart))
        .routes(routes!(wake))
}

type Answer = Result<Reply<InstanceView>, ApiError>;

/// The instance as it is once what was asked for is done.
async fn shown(app: &App, handle: &Handle) -> Answer {
    Ok(Reply(in_full(app, handle).await?))
}

/// Nothing to say beside the path.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Pause an instance
///
/// What runs now finishes and is recorded, nothing new begins.
#[utoipa::path(post, path = "/instances/{id}/pause", tag = "control",
    params(("id" = String, Path, description = "the instance")),
    responses((status = 200, description = "the instance", body = InstanceView)))]
async fn pause(State(app): State<App>, At(id): At<String>, _: Asked<Nothing>) -> Answer {
    let handle = app.handle(&id)?;
    handle.pause().await?;
    shown(&app, &handle).await
}

/// Resume a paused instance
#[utoipa::path(post, path = "/instances/{id}/resume", tag = "control",
    params(("id" = String, Path, description = "the instance"), Settle),
    responses((status = 200, description = "the instance", body = InstanceView)))]
async fn resume(
    State(app): State<App>,
    At(id): At<String>,
    Params(settle): Params<Settle>,
    _: Asked<Nothing>,
) -> Answer {
    let handle = app.handle(&id)?;
    handle.resume().await?;
    settle.of(&app, &handle).await?;
    shown(&app, &handle).await
}

/// How to end an instance.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TerminateBody {
    /// For those who look later.
    pub(super) reason: Option<String>,
    /// Undo the steps that name a compensation first.
    #[serde(default)]
    pub(super) compensate: bool,
    /// End its children too; yes when absent.
    pub(super) cascade: Option<bool>,
}

impl TerminateBody {
    pub(super) fn terminate(self) -> Terminate {
        let default = Terminate::default();
        Terminate {
            reason: self.reason.unwrap_or(default.reason),
            compensate: self.compensate,
            cascade: self.cascade.unwrap_or(default.cascade),
        }
    }
}

/// End an instance for good
#[utoipa::path(post, path = "/instances/{id}/terminate", tag = "control",
    params(("id" = String, Path, description = "the instance")),
    request_body = TerminateBody,
    responses((status = 200, description = "the instance", body = InstanceView)))]
async fn terminate(
    State(app): State<App>,
    At(id): At<String>,
    Asked(body): Asked<TerminateBody>,
) -> Answer {
    let handle = app.handle(&id)?;
    handle.terminate(body.terminate()).await?;
    shown(&app, &handle).await
}

/// From where to begin anew.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RestartBody {
    /// The first step to run again; what was settled before it is kept. Everything when absent.
    from_step: Option<String>,
}

/// Begin a new run
#[utoipa::path(post, path = "/instances/{id}/restart", tag = "control",
    params(("id" = String, Path, description = "the instance")),
    request_body = RestartBody,
    responses((status = 200, description = "the instance", body = InstanceView)))]
async fn restart(
    State(app): State<App>,
    At(id): At<String>,
    Asked(body): Asked<RestartBody>,
) -> Answer {
    let handle = app.handle(&id)?;
    match &body.from_step {
        Some(step) => handle.restart_from(step).await?,
        None => handle.restart().await?,
    };
    shown(&app, &handle).await
}

/// When to look.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WakeBody {
    /// In so many milliseconds; at once when absent.
    #[serde(default)]
    delay_ms: u64,
}

/// Have an instance looked at
///
/// Only what was sent with `wake: false` needs this.
#[utoipa::path(post, path = "/instances/{id}/wake", tag = "control",
    params(("id" = String, Path, description = "the instance")),
    request_body = WakeBody,
    responses((status = 200, description = "the instance", body = InstanceView)))]
async fn wake(State(app): State<App>, At(id): At<String>, Asked(body): Asked<WakeBody>) -> Answer {
    let delay = std::time::Duration::from_millis(body.delay_ms);
    let handle = app.handle(&id)?;
    handle.wake(delay).await?;
    shown(&app, &handle).await
}
