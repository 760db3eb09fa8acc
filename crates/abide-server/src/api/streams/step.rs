//! What one streaming step gives.

use std::io;

use ::bytes::Bytes;
use abide::history::StepKind;
use abide::{Frame, FrameKind, Frames, Handle, StreamPosition};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_util::stream::{self, StreamExt};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::bytes;
use super::sse::{self, Event};
use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::params::At;
use crate::api::view::FailureView;

/// What a reader of streaming steps is told.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FrameView {
    /// `chunk`, `rollback`, `done` or `failed`.
    #[serde(rename = "type")]
    kind: &'static str,
    step: String,
    /// The attempt it is about, from 1.
    attempt: u32,
    /// Of `chunk`: the text. Of `failed`: how.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl FrameView {
    pub(super) fn new(frame: &Frame) -> Self {
        let (kind, data) = match &frame.kind {
            FrameKind::Chunk(bytes) => {
                ("chunk", Some(Value::String(String::from_utf8_lossy(bytes).into_owned())))
            }
            FrameKind::Rollback => ("rollback", None),
            FrameKind::Done => ("done", None),
            FrameKind::Failed(failure) => {
                ("failed", serde_json::to_value(FailureView::from(failure.clone())).ok())
            }
        };
        Self { kind, step: frame.step.to_string(), attempt: frame.attempt, data }
    }
}

/// The mark of a reader that saw the end.
const END: &str = ".end";

/// Read a streaming step
///
/// Its bytes as they are stored, then the end. If it is tried again in between, or fails, the response ends
/// abnormally. With `Accept: text/event-stream`: events that also tell of those, resumable by
/// `Last-Event-ID`.
#[utoipa::path(get, path = "/instances/{id}/steps/{step}/stream", tag = "streams",
    params(
        ("id" = String, Path, description = "the instance"),
        ("step" = String, Path, description = "the step"),
        ("Last-Event-ID" = Option<String>, Header, description = "the last event that was seen")),
    responses(
        (status = 200, description = "as it comes", content(
            (String = "text/plain"), (FrameView = "text/event-stream"))),
        (status = 204, description = "it is over and nothing is left")))]
pub(super) async fn stream(
    State(app): State<App>,
    At((id, step)): At<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let as_events = sse::is_wanted(&headers);
    let after = match sse::last_event_id(&headers)?.filter(|_| as_events) {
        Some(seen) if seen.ends_with(END) => return Ok(sse::nothing_more()),
        Some(seen) => Some(seen.parse::<StreamPosition>().map_err(sse::unknown_id)?),
        None => None,
    };
    let handle = app.handle(&id)?;
    let (first, frames) = begun(&handle, &step, after).await?;
    if let Some(FrameKind::Failed(failure)) = first.filter(|_| !as_events) {
        let message = format!("step {step:?} failed before it gave anything: {failure}");
        return Err(ApiError::new(StatusCode::CONFLICT, "STEP_FAILED", message));
    }
    Ok(match as_events {
        true => sse::answer(&app, frames.filter_map(async |frame| Some(event(&frame.ok()?)))),
        false => alone(&app, frames),
    })
}

type Readable = stream::BoxStream<'static, abide::Result<Frame>>;

/// The frames of a step, refused at once where it is already known that there will be none. Once the
/// instance has ended, the first is known, too.
async fn begun(
    handle: &Handle,
    step: &str,
    after: Option<StreamPosition>,
) -> Result<(Option<FrameKind>, Readable), ApiError> {
    let instance = handle.instance().await?;
    let known = handle.steps().await?.into_iter().find(|known| *known.name == *step);
    if let Some(known) = known.filter(|known| known.kind != StepKind::Stream) {
        let message = format!("step {step:?} is a {} and gives no stream", known.kind);
        return Err(ApiError::invalid(message));
    }
    let mut frames: Frames = handle.step_stream(step, after);
    if !instance.phase.is_terminal() {
        return Ok((None, frames.boxed()));
    }
    // Everything is there: if something is wrong, the first frame says so.
    match frames.next().await {
        Some(first) => {
            let first = first?;
            let kind = first.kind.clone();
            Ok((Some(kind), stream::once(async move { Ok(first) }).chain(frames).boxed()))
        }
        None => Ok((None, stream::empty().boxed())),
    }
}

fn event(frame: &Frame) -> Event {
    let is_end = matches!(frame.kind, FrameKind::Done | FrameKind::Failed(_));
    let id = match (frame.position, is_end) {
        (Some(position), false) => Some(position.to_string()),
        (Some(position), true) => Some(format!("{position}{END}")),
        (None, true) => Some(END.to_owned()),
        (None, false) => None,
    };
    Event::new(id, &FrameView::new(frame))
}

/// The bytes alone. Whoever reads them can't be told that they are void but by an abnormal end.
fn alone(app: &App, frames: Readable) -> Response {
    let body = stream::unfold((frames, false), |(mut frames, has_given)| async move {
        loop {
            let broken = |why: String| Err(io::Error::other(why));
            let piece: io::Result<Bytes> = match frames.next().await? {
                Ok(Frame { kind: FrameKind::Chunk(bytes), .. }) => Ok(bytes),
                Ok(Frame { kind: FrameKind::Rollback, .. }) if !has_given => continue,
                Ok(Frame { kind: FrameKind::Rollback, .. }) => broken("tried again".into()),
                Ok(Frame { kind: FrameKind::Done, .. }) => return None,
                Ok(Frame { kind: FrameKind::Failed(failure), .. }) => broken(failure.to_string()),
                Err(error) => broken(error.to_string()),
            };
            return Some((piece, (frames, true)));
        }
    });
    bytes::answer(app, body)
}
