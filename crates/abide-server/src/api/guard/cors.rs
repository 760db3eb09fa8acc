//! Pages of other origins that an operator allows (`server.cors`).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::app::App;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const EXPOSED: HeaderValue = HeaderValue::from_static("x-request-id, retry-after");
/// Ten minutes.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

pub(super) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let origin = allowed(&app, request.headers());
    let is_question = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &origin {
        Some(_) if is_question => permission(request.headers()),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    if !app.settings().cors.is_empty() {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// The origin, when it is one of those.
fn allowed(app: &App, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    app.settings()
        .cors
        .iter()
        .any(|known| known.as_bytes() == origin.as_bytes())
        .then(|| origin.clone())
}

/// Yes, with whatever headers were asked for: none of them means anything that a token would not.
fn permission(asked: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    if let Some(names) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    response
}
