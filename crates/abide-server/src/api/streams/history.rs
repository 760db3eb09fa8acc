//! The history of one instance, then what happens to it.

use abide::{Handle, Instance, Json, Watched};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream::{self, Stream};
use serde::Serialize;

use super::sse::{self, Event};
use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::params::At;
use crate::api::records;
use crate::api::view::{EntryView, Told};

/// The last event: it repeats the id of the one before.
#[derive(Serialize)]
struct Complete {
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
}

/// Something said to those who watch now. It is not recorded and has no id.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Broadcast<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    instance_id: &'a str,
    name: &'a str,
    payload: &'a Json,
}

/// Watch an instance
///
/// Everything in its history, then whatever happens, as server-sent events; ends with
/// `{"type": "execution_complete", "status": …}`. With `Last-Event-ID`, what came after that.
#[utoipa::path(get, path = "/instances/{id}/stream", tag = "streams",
    params(
        ("id" = String, Path, description = "the instance"),
        ("Last-Event-ID" = Option<String>, Header, description = "the last event that was seen")),
    responses(
        (status = 200, description = "one event per history entry", body = EntryView, content_type = "text/event-stream"),
        (status = 204, description = "it has ended and nothing is left")))]
pub(super) async fn stream(
    State(app): State<App>,
    At(id): At<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let after = match sse::last_event_id(&headers)? {
        Some(id) => id.parse::<i64>().map_err(sse::unknown_id)?,
        None => 0,
    };
    let handle = app.handle(&id)?;
    let instance = handle.instance().await?;
    if instance.phase.is_terminal() && after + 1 >= instance.next_seq && after > 0 {
        return Ok(sse::nothing_more());
    }
    Ok(sse::answer(events(handle, instance, after), app.settings().heartbeat))
}

fn events(handle: Handle, instance: Instance, after: i64) -> impl Stream<Item = Event> + Send {
    let watch = handle.watch(after);
    let begun = (watch, handle, instance, after, false);
    stream::unfold(begun, |(mut watch, handle, instance, mut last, over)| async move {
        if over {
            return None;
        }
        let told = Told { id: &instance.id, workflow: &instance.workflow };
        match watch.next().await {
            Some(Ok(Watched::Recorded(recorded))) => {
                last = recorded.seq;
                let view = records::entry(&handle, told, recorded).await.ok()?;
                let event = Event::new(Some(last), &view);
                Some((event, (watch, handle, instance, last, false)))
            }
            Some(Ok(Watched::Broadcast { name, data })) => {
                let said = Broadcast {
                    kind: "broadcast",
                    instance_id: instance.id.as_str(),
                    name: &name,
                    payload: &data,
                };
                let event = Event::new(None::<i64>, &said);
                Some((event, (watch, handle, instance, last, false)))
            }
            // The server stops, or the store is away: the reader comes back with its last id.
            Some(Err(error)) => {
                tracing::debug!(%error, "a stream ends early");
                None
            }
            None => {
                let status = handle.status().await.ok()?.as_str();
                let event =
                    Event::new(Some(last), &Complete { kind: "execution_complete", status });
                Some((event, (watch, handle, instance, last, true)))
            }
        }
    })
}
