//! Server-sent events: `id:` and `data:` only, so that `onmessage` sees them all.

use std::fmt::{Display, Write};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use serde::Serialize;

use crate::api::app::App;
use crate::api::error::ApiError;

/// One event. Without an id the reader keeps the last one it saw.
#[derive(Debug)]
pub(super) struct Event {
    id: Option<String>,
    data: String,
}

impl Event {
    pub(super) fn new(id: Option<impl Display>, data: &impl Serialize) -> Self {
        // What is shown is strings, numbers and JSON that was checked: writing it to a String fails on
        // nothing.
        let data = serde_json::to_string(data).unwrap_or_default();
        Self { id: id.map(|id| id.to_string()), data }
    }

    fn text(&self) -> String {
        let mut text = String::with_capacity(self.data.len() + 32);
        if let Some(id) = &self.id {
            let _ = writeln!(text, "id: {id}");
        }
        // A stored value may have been written over several lines.
        for line in self.data.lines() {
            let _ = writeln!(text, "data: {line}");
        }
        text.push('\n');
        text
    }
}

/// What a reader had when it left.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().map_err(|_| unknown_id("it is not ASCII"))?.trim();
    Ok(Some(text).filter(|text| !text.is_empty()))
}

pub(super) fn unknown_id(why: impl Display) -> ApiError {
    ApiError::invalid(format!("Last-Event-ID is not one that this stream gave: {why}"))
}

/// Nothing is left and nothing will come: an `EventSource` that hears this stops asking.
pub(super) fn nothing_more() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Answers with events as they come, and says that it is alive while none do.
pub(super) fn answer(app: &App, events: impl Stream<Item = Event> + Send + 'static) -> Response {
    // Boxed once, and the same timer again and again: an idle reader costs little.
    let (heartbeat, reader) = (app.settings().heartbeat, app.readers().events.one_more());
    let state = (Box::pin(events), reader);
    let events = stream::unfold(state, move |(mut events, reader)| async move {
        let piece = match tokio::time::timeout(heartbeat, events.next()).await {
            Ok(Some(event)) => event.text(),
            Ok(None) => return None,
            Err(_) => ": alive\n\n".to_owned(),
        };
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(piece)), (events, reader)))
    });
    let mut response = Body::from_stream(events).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Whether the client asked for events rather than for bytes.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|media| {
        let essence = media.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("text/event-stream")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_an_id_and_data_and_nothing_else() {
        assert_eq!(Event::new(Some(7), &"x").text(), "id: 7\ndata: \"x\"\n\n");
        assert_eq!(Event::new(None::<u8>, &1).text(), "data: 1\n\n");
        let over_lines = serde_json::value::RawValue::from_string("{\n \"a\": 1}".into()).unwrap();
        assert_eq!(Event::new(None::<u8>, &over_lines).text(), "data: {\ndata:  \"a\": 1}\n\n");
    }
}
