//! Bodies in and out.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::app::App;
use super::error::ApiError;
use super::sound::unsound;

/// A JSON body. An empty one stands for `{}`, so that whatever is optional may be left out as a whole.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (headers, bytes) = read(request, app).await?;
        if !bytes.is_empty() && !is_json(&headers) {
            return Err(unsupported("application/json"));
        }
        parse(&bytes).map(Self)
    }
}

/// A JSON body that defines something: one that does not is `DEFINITION_INVALID`.
pub(super) struct Defined<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for Defined<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let Asked(body) = Asked::<serde_json::Value>::from_request(request, app).await?;
        serde_json::from_value(body).map(Self).map_err(|refused| {
            let message = format!("the definition is not what it should be: {refused}");
            ApiError::new(StatusCode::BAD_REQUEST, "DEFINITION_INVALID", message)
        })
    }
}

/// A body as it came, with its headers: for routes that take more than JSON.
pub(super) struct Raw {
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
}

impl FromRequest<App> for Raw {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (headers, bytes) = read(request, app).await?;
        Ok(Self { headers, bytes })
    }
}

/// Reads a JSON body into what it should be.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    if let Some(why) = unsound(bytes) {
        return Err(ApiError::invalid(format!("the body is not acceptable JSON: {why}")));
    }
    // An array would be read as the fields of an object, one after the other.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(ApiError::invalid("the body is an array; it must be an object"));
    }
    serde_json::from_slice(bytes).map_err(|refused| {
        ApiError::invalid(format!("the body is not what it should be: {refused}"))
    })
}

async fn read(request: Request, app: &App) -> Result<(HeaderMap, Bytes), ApiError> {
    let (parts, body) = request.into_parts();
    let settings = app.settings();
    let limit = settings.max_body;
    let reading = Limited::new(body, limit).collect();
    let read = tokio::time::timeout(settings.body_timeout, reading).await.map_err(|_| {
        let message = format!("the body did not come within {:?}", settings.body_timeout);
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", message)
    })?;
    match read {
        Ok(collected) => Ok((parts.headers, collected.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("the body is over {limit} bytes (server.maxBody)");
            Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message))
        }
        Err(error) => Err(ApiError::invalid(format!("the body can't be read: {error}"))),
    }
}

/// The media type without its parameters, in lower case.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let media = media_type(headers);
    media == "application/json" || (media.starts_with("application/") && media.ends_with("+json"))
}

pub(super) fn unsupported(wanted: &str) -> ApiError {
    let message = format!("send the body as `Content-Type: {wanted}`");
    ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "VALIDATION_ERROR", message)
}

/// A JSON answer.
pub(super) struct Reply<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(text) => {
                ([(header::CONTENT_TYPE, "application/json")], Body::from(text)).into_response()
            }
            Err(error) => {
                tracing::error!(%error, "an answer can't be written as JSON");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// For fields whose absence is not the same as `null`: `#[serde(default, deserialize_with = "present")]`.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
