//! The outermost layer: a request has an id and a span, is counted, and a panic in it stays its own.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use abide::trace::{self, Trace};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tracing::{Instrument, field};

use super::{access_token, request_id};
use crate::api::app::App;
use crate::api::error::ApiError;

/// A token that stood in the address, and is no longer there.
#[derive(Clone)]
pub(super) struct Shown(pub(super) String);

pub(super) async fn layer(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if let Some(token) = access_token::take(request.uri_mut()) {
        request.extensions_mut().insert(Shown(token));
    }
    let id = request_id::of(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let trace = trace_of(request.headers());
    // Only the path: a query may hold what is nobody's business.
    let span =
        tracing::info_span!("request", id = ?id, %method, path, trace = trace.map(field::display));
    let began = Instant::now();
    let served = AssertUnwindSafe(trace::within(trace, next.run(request))).catch_unwind();
    let mut response = async {
        let response = served.await.unwrap_or_else(|_| broken());
        let status = response.status().as_u16();
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(status, ms, "answered");
        response
    }
    .instrument(span)
    .await;
    let route = route.as_ref().map(MatchedPath::as_str);
    app.guard().meter.count(&method, route, response.status());
    let headers = response.headers_mut();
    headers.insert(request_id::NAME, id);
    // No browser shall take an answer for something else than it says.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Several are none: nobody knows which counts.
fn trace_of(headers: &HeaderMap) -> Option<Trace> {
    let mut traces = headers.get_all(trace::NAME).iter();
    match (traces.next(), traces.next()) {
        (Some(one), None) => one.to_str().ok()?.parse().ok(),
        _ => None,
    }
}

/// The hook of the program has told what happened.
fn broken() -> Response {
    let message = "the request ended in a panic; the log says where";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", message).into_response()
}
