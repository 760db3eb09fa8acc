//! One action on many instances.

use abide::{Error, Handle, Instance, Page, Status};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Asked, Reply};
use super::control::TerminateBody;
use super::error::ApiError;
use super::instances::InstanceQuery;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(act))
}

/// What to do with which.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BulkBody {
    /// Which instances, as in the query of the list; `{}` means all.
    filter: InstanceQuery,
    action: Action,
    /// Only count.
    #[serde(default)]
    dry_run: bool,
    /// Of `terminate`.
    reason: Option<String>,
    /// Of `terminate`.
    #[serde(default)]
    compensate: bool,
    /// Of `terminate`.
    cascade: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Pause,
    Resume,
    Terminate,
    Restart,
}

impl Action {
    /// Whether an instance in this status takes it.
    fn suits(self, status: Status) -> bool {
        match self {
            Self::Pause => !status.is_terminal() && status != Status::Paused,
            Self::Resume => status == Status::Paused,
            Self::Terminate => !status.is_terminal(),
            Self::Restart => true,
        }
    }
}

/// How many were meant.
#[derive(Debug, Serialize, ToSchema)]
struct BulkView {
    count: u64,
}

/// Act on many instances
///
/// Those in a status that does not take the action are passed over and not counted.
#[utoipa::path(post, path = "/instances/bulk", tag = "control", request_body = BulkBody,
    responses((status = 200, description = "how many", body = BulkView)))]
async fn act(
    State(app): State<App>,
    Asked(body): Asked<BulkBody>,
) -> Result<Reply<BulkView>, ApiError> {
    if body.filter.has_page() {
        return Err(ApiError::invalid("`limit` and `cursor` mean nothing in a bulk filter"));
    }
    let filter = body.filter.filter()?;
    let (mut count, mut page) = (0, Page::default());
    loop {
        let listed = app.engine().list(filter.clone(), page).await?;
        for instance in listed.instances {
            if body.action.suits(instance.status())
                && (body.dry_run || perform(&body, &app.engine().get(&instance.id)).await?)
            {
                count += 1;
            }
        }
        let Some(next) = listed.next else { return Ok(Reply(BulkView { count })) };
        page.before = Some(next);
    }
}

/// Whether it was done; what changed its status meanwhile is passed over.
async fn perform(body: &BulkBody, handle: &Handle) -> Result<bool, ApiError> {
    let done: Result<Instance, Error> = match body.action {
        Action::Pause => handle.pause().await,
        Action::Resume => handle.resume().await,
        Action::Restart => handle.restart().await,
        Action::Terminate => {
            let reason = body.reason.clone();
            let BulkBody { compensate, cascade, .. } = *body;
            let how = TerminateBody { reason, compensate, cascade };
            handle.terminate(how.terminate()).await
        }
    };
    match done {
        Ok(_) => Ok(true),
        Err(
            Error::InvalidTransition { .. }
            | Error::NotRunning { .. }
            | Error::InstanceNotFound { .. },
        ) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
