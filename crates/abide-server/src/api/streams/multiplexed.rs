//! What all streaming steps of an instance give, in one response.

use std::io;

use ::bytes::Bytes;
use abide::{Frame, FrameKind, Frames};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{self, Stream, StreamExt};

use super::bytes;
use super::marks::{Marks, Meaning};
use super::sse::{self, Event};
use super::step::FrameView;
use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::params::At;

/// Read all streaming steps of an instance
///
/// Lines `step:base64`, and `step:__DONE__`, `step:__FAILED__` or `step:__ROLLBACK__` (what came of that step
/// is void). Ends when the instance has ended and every result is stored. With `Accept: text/event-stream`:
/// events, resumable by `Last-Event-ID`.
#[utoipa::path(get, path = "/instances/{id}/streams", tag = "streams",
    params(
        ("id" = String, Path, description = "the instance"),
        ("Last-Event-ID" = Option<String>, Header, description = "the last event that was seen")),
    responses(
        (status = 200, description = "as it comes", content(
            (String = "text/plain"), (FrameView = "text/event-stream"))),
        (status = 204, description = "it is over and nothing is left")))]
pub(super) async fn stream(
    State(app): State<App>,
    At(id): At<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let as_events = sse::is_wanted(&headers);
    let handle = app.handle(&id)?;
    let instance = handle.instance().await?;
    if !as_events {
        return Ok(lines(&app, handle.streams()));
    }
    let marks = match sse::last_event_id(&headers)? {
        Some(seen) => Marks::parse(seen)?,
        None => Marks::default(),
    };
    let is_back = marks != Marks::default();
    let mut events = Box::pin(events(handle.streams(), marks));
    if instance.phase.is_terminal() && is_back {
        return Ok(match events.next().await {
            Some(first) => {
                let all = stream::once(async move { first }).chain(events);
                sse::answer(&app, all)
            }
            None => sse::nothing_more(),
        });
    }
    Ok(sse::answer(&app, events))
}

/// What a reader has not seen; the id says up to where it has read each step.
fn events(frames: Frames, marks: Marks) -> impl Stream<Item = Event> + Send {
    let begun = (frames, marks, None::<Event>);
    stream::unfold(begun, |(mut frames, mut marks, held)| async move {
        if let Some(event) = held {
            return Some((event, (frames, marks, None)));
        }
        loop {
            let frame = frames.next().await?.ok()?;
            let before = marks.to_string();
            let meaning = marks.see(&frame);
            let event = Event::new(Some(&marks), &FrameView::new(&frame));
            match meaning {
                Meaning::Old => {}
                Meaning::New => return Some((event, (frames, marks, None))),
                Meaning::NewAttempt => {
                    let void = Frame { kind: FrameKind::Rollback, ..frame };
                    let void = Event::new(Some(before), &FrameView::new(&void));
                    return Some((void, (frames, marks, Some(event))));
                }
            }
        }
    })
}

fn lines(app: &App, frames: Frames) -> Response {
    let lines = frames.map(|frame| {
        let Frame { step, kind, .. } = frame.map_err(io::Error::other)?;
        let said = match &kind {
            FrameKind::Chunk(bytes) => STANDARD.encode(bytes),
            FrameKind::Rollback => "__ROLLBACK__".to_owned(),
            FrameKind::Done => "__DONE__".to_owned(),
            FrameKind::Failed(_) => "__FAILED__".to_owned(),
        };
        Ok(Bytes::from(format!("{}:{said}\n", encoded(&step))))
    });
    bytes::answer(app, lines)
}

/// The name of a step as lines carry it: what would be taken for punctuation is encoded.
fn encoded(step: &str) -> String {
    let mut name = String::with_capacity(step.len());
    for character in step.chars() {
        match character {
            '%' => name.push_str("%25"),
            ':' => name.push_str("%3A"),
            '\r' => name.push_str("%0D"),
            '\n' => name.push_str("%0A"),
            plain => name.push(plain),
        }
    }
    name
}
