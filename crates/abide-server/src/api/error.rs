//! Every refusal as the contract says it: `{"error": {code, message, status, details}}`.

use abide::Error;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Why a request was not served.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: String,
    message: String,
    details: Value,
    retry_after: Option<u64>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        Self { status, code, message, details: json!({}), retry_after: None }
    }

    /// What was sent is not acceptable.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "VALIDATION_ERROR", message)
    }

    pub(crate) fn not_found(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// One of several events was refused; those before it were taken.
    pub(crate) fn in_batch(mut self, place: usize) -> Self {
        let before = match place {
            0 => "none was taken".to_owned(),
            taken => format!("the {taken} before it were taken, sending them again is harmless"),
        };
        self.message = format!("event {place} of the batch: {} ({before})", self.message);
        if let Value::Object(details) = &mut self.details {
            details.insert("place".to_owned(), place.into());
        }
        self
    }

    /// With when to come again, in seconds.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// What a program may want to know.
    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// The status of a code; what only happens inside an instance is not an answer to a request.
fn status_of(code: &str) -> StatusCode {
    match code {
        "WORKFLOW_NOT_FOUND"
        | "EVENT_NOT_FOUND"
        | "SUBSCRIPTION_NOT_FOUND"
        | "DEFINITION_NOT_FOUND"
        | "OUTPUT_NOT_FOUND"
        | "STEP_NOT_FOUND" => StatusCode::NOT_FOUND,
        "WORKFLOW_TYPE_UNKNOWN"
        | "VALIDATION_ERROR"
        | "EVENT_INVALID"
        | "INVALID_SCHEMA"
        | "FILTER_INVALID"
        | "DEFINITION_INVALID" => StatusCode::BAD_REQUEST,
        "WORKFLOW_ALREADY_EXISTS" | "WORKFLOW_NOT_RUNNING" | "INVALID_TRANSITION" => {
            StatusCode::CONFLICT
        }
        "PAYLOAD_TOO_LARGE" => StatusCode::PAYLOAD_TOO_LARGE,
        "BUFFER_FULL" | "RATE_LIMITED" => StatusCode::TOO_MANY_REQUESTS,
        "STORE_UNAVAILABLE" => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let status = status_of(error.code());
        let known = if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(%error, "a request failed");
            "INTERNAL_ERROR"
        } else {
            error.code()
        };
        let refused = Self::new(status, known, error.to_string()).with_details(details(&error));
        match &error {
            Error::StoreUnavailable { retry_in, .. } => {
                Self { retry_after: Some(retry_in.as_secs().max(1)), ..refused }
            }
            Error::RateLimited { .. } | Error::ShutDown => Self { retry_after: Some(1), ..refused },
            _ => refused,
        }
    }
}

/// The parts of an error that a program may act on.
fn details(error: &Error) -> Value {
    match error {
        Error::InstanceNotFound { id } | Error::AlreadyExists { id } => json!({ "instanceId": id }),
        Error::NotRunning { id, status } => json!({ "instanceId": id, "status": status }),
        Error::InvalidTransition { id, status, action } => {
            json!({ "instanceId": id, "status": status, "action": action })
        }
        Error::StepNotFound { id, run, step, .. } => {
            json!({ "instanceId": id, "run": run, "step": step })
        }
        Error::WorkflowUnknown { name, .. } => json!({ "workflow": name }),
        Error::Invalid { what, .. } => json!({ "what": what }),
        Error::EventInvalid { event_type, .. } => json!({ "eventType": event_type }),
        Error::SubscriptionNotFound { id } => json!({ "subscriptionId": id }),
        Error::EventNotFound { id } => json!({ "eventId": id }),
        Error::DefinitionNotFound { what, name } => json!({ "what": what, "name": name }),
        Error::TooLarge { what, size, limit } => {
            json!({ "what": what, "size": size, "limit": limit })
        }
        Error::RateLimited { queued, limit } => json!({ "queued": queued, "limit": limit }),
        Error::BufferFull { id, entries, bytes, limit } => {
            json!({ "instanceId": id, "entries": entries, "bytes": bytes, "limit": limit })
        }
        _ => json!({}),
    }
}

/// The body of every refusal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: ErrorView,
}

#[derive(Debug, Serialize, ToSchema)]
struct ErrorView {
    /// A code of the contract.
    #[schema(example = "VALIDATION_ERROR")]
    code: String,
    /// What was wrong, where, and what would be right.
    message: String,
    /// The HTTP status.
    status: u16,
    /// What a program may want to know.
    details: Value,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { status, code, message, details, retry_after } = self;
        let error = ErrorView { code, message, status: status.as_u16(), details };
        let mut response = (status, super::body::Reply(ErrorBody { error })).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

pub(super) async fn no_such_route(method: Method, uri: Uri) -> ApiError {
    let message = format!("no route {method} {}; see /docs", uri.path());
    ApiError::not_found("NOT_FOUND", message)
}

pub(super) async fn no_such_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} does not take {method}; see /docs", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
}
