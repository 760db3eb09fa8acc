//! The history of one instance, then what happens to it.

use std::sync::Arc;

use abide::{Handle, Instance, InstanceId, Json, Watch, Watched};
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
    Ok(sse::answer(&app, events(handle, &instance, after)))
}

/// Somebody who watches. It keeps little, because there may be many who hear nothing.
struct Watcher {
    watch: Watch,
    handle: Handle,
    id: InstanceId,
    workflow: Arc<str>,
    /// The number of the last entry that was told.
    last: i64,
    over: bool,
}

fn events(
    handle: Handle,
    instance: &Instance,
    after: i64,
) -> impl Stream<Item = Event> + Send + use<> {
    let watcher = Watcher {
        watch: handle.watch(after),
        handle,
        id: instance.id.clone(),
        workflow: Arc::clone(&instance.workflow),
        last: after,
        over: false,
    };
    stream::unfold(Box::new(watcher), |mut watcher| async move {
        let event = watcher.next().await?;
        Some((event, watcher))
    })
}

impl Watcher {
    async fn next(&mut self) -> Option<Event> {
        if self.over {
            return None;
        }
        match self.watch.next().await {
            Some(Ok(Watched::Recorded(recorded))) => {
                self.last = recorded.seq;
                let told = Told { id: &self.id, workflow: &self.workflow };
                // Boxed, so that it takes no room while there is nothing to tell.
                let view = Box::pin(records::entry(&self.handle, told, recorded)).await.ok()?;
                Some(Event::new(Some(self.last), &view))
            }
            Some(Ok(Watched::Broadcast { name, data })) => {
                let instance_id = self.id.as_str();
                let said =
                    Broadcast { kind: "broadcast", instance_id, name: &name, payload: &data };
                Some(Event::new(None::<i64>, &said))
            }
            // The server stops, or the store is away: the reader comes back with its last id.
            Some(Err(error)) => {
                tracing::debug!(%error, "a stream ends early");
                None
            }
            None => {
                self.over = true;
                let status = Box::pin(self.handle.status()).await.ok()?.as_str();
                let complete = Complete { kind: "execution_complete", status };
                Some(Event::new(Some(self.last), &complete))
            }
        }
    }
}
