//! Whether the process lives, and whether it takes work.

use std::time::Duration;

use abide::Error;
use axum::extract::State;
use serde::Serialize;

use crate::api::app::App;
use crate::api::body::Reply;
use crate::api::error::ApiError;

/// A store that takes longer to say yes is not ready.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Serialize)]
pub(super) struct Health {
    status: &'static str,
}

/// The process lives.
pub(super) async fn healthz() -> Reply<Health> {
    Reply(Health { status: "ok" })
}

/// The engine takes work and the store answers.
pub(super) async fn readyz(State(app): State<App>) -> Result<Reply<Health>, ApiError> {
    if app.is_draining() || !app.engine().is_running() {
        return Err(Error::ShutDown.into());
    }
    // Asks whoever writes, for nothing: a store that has closed itself may still be read.
    let asked = app.engine().store().fall_due(Vec::new());
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answered) => answered?,
        Err(_) => {
            let reason = format!("no answer within {PATIENCE:?}");
            return Err(Error::StoreUnavailable { reason, retry_in: PATIENCE }.into());
        }
    }
    Ok(Reply(Health { status: "ready" }))
}
