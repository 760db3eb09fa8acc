//! Only so many requests at once (`server.maxRequests`); those that only wait take no room.

use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::need::is_stream;
use crate::api::app::App;
use crate::api::error::ApiError;

pub(super) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    if only_waits(&request) {
        return next.run(request).await;
    }
    match app.guard().room.try_acquire() {
        Ok(_place) => next.run(request).await,
        Err(_) => {
            let limit = app.settings().max_requests;
            let message =
                format!("{limit} requests are under way (server.maxRequests); retry later");
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message)
                .retry_after(1)
                .into_response()
        }
    }
}

/// Whether it is open for long because somebody waits, not because there is work. Probes are let
/// through as well: a busy server is not a dead one.
fn only_waits(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let query = request.uri().query().unwrap_or_default();
    let asks = |name: &str| {
        query
            .split('&')
            .any(|part| part.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
    };
    is_stream(request.method(), route)
        || matches!(route, Some("/healthz" | "/readyz" | "/metrics"))
        || asks("timeout")
        || asks("settle")
}
