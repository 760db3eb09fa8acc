//! What routes take in their query.

use std::time::Duration;

use abide::Status;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::app::App;
use super::error::ApiError;

/// The query of a request, refused with the name of what is wrong.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        Query::try_from_uri(&parts.uri)
            .map(|Query(params)| Self(params))
            .map_err(|refused| ApiError::invalid(refused.body_text()))
    }
}

/// The parts of a path.
pub(super) struct At<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for At<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let path = Path::from_request_parts(parts, app).await;
        path.map(|Path(path)| Self(path)).map_err(|refused| ApiError::invalid(refused.body_text()))
    }
}

/// A duration such as `30s` or `5 minutes`; a bare number is milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Milliseconds(u64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Milliseconds(ms) => return Ok(Self(Duration::from_millis(ms))),
            Written::Text(text) => text,
        };
        if let Ok(ms) = text.parse() {
            return Ok(Self(Duration::from_millis(ms)));
        }
        abide::parse_duration(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// How many of a list, within bounds.
pub(super) fn limit(asked: Option<usize>, default: usize) -> Result<usize, ApiError> {
    const MOST: usize = 1000;
    match asked {
        None => Ok(default),
        Some(limit @ 1..=MOST) => Ok(limit),
        Some(other) => Err(ApiError::invalid(format!("limit is {other}; it must be 1 to {MOST}"))),
    }
}

/// A number that an earlier answer gave as `nextCursor`.
pub(super) fn cursor(asked: Option<&str>) -> Result<Option<i64>, ApiError> {
    let wrong = || ApiError::invalid("cursor is not one that an answer gave as `nextCursor`");
    asked.map(|text| text.parse().map_err(|_| wrong())).transpose()
}

/// Statuses separated by commas. The words of older systems are understood.
pub(super) fn statuses(asked: Option<&str>) -> Result<Vec<Status>, ApiError> {
    let mut statuses = Vec::new();
    for word in asked.into_iter().flat_map(|text| text.split(',')).map(str::trim) {
        let meant: &[Status] = match word.to_ascii_lowercase().as_str() {
            "" => return Err(ApiError::invalid("status is empty")),
            "success" | "complete" => &[Status::Completed],
            "failed" | "failure" | "error" => &[Status::Errored],
            "cancelled" | "canceled" => &[Status::Terminated],
            "pending" | "enqueued" | "created" => &[Status::Queued],
            "waiting_for_event" | "waitingforevent" | "suspended" => &[Status::Waiting],
            "active" => &[Status::Queued, Status::Running, Status::Waiting, Status::Sleeping],
            own => &[own.parse::<Status>()?],
        };
        statuses.extend_from_slice(meant);
    }
    Ok(statuses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_may_be_said_in_the_words_of_older_systems() {
        let read = |text: &str| statuses(Some(text)).unwrap();
        assert_eq!(read("completed, FAILED"), [Status::Completed, Status::Errored]);
        assert_eq!(read("enqueued"), [Status::Queued]);
        assert!(statuses(Some("done")).is_err() && statuses(Some("")).is_err());
    }

    #[test]
    fn a_span_is_text_or_milliseconds() {
        let read = |text: &str| serde_json::from_str::<Span>(text).map(|span| span.0);
        assert_eq!(read("\"5s\"").unwrap(), Duration::from_secs(5));
        assert_eq!(read("\"1 minute\"").unwrap(), Duration::from_secs(60));
        assert_eq!(read("250").unwrap(), Duration::from_millis(250));
        assert_eq!(read("\"250\"").unwrap(), Duration::from_millis(250));
        assert!(read("\"soon\"").is_err() && read("-1").is_err());
    }
}
