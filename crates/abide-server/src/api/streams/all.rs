//! What happens to all instances.

use abide::history::Recorded;
use abide::{Cursor, Engine, Fed, Status};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream::{self, Stream};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::sse::{self, Event};
use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::params::{self, Params};
use crate::api::records;
use crate::api::view::{EntryView, Told};

/// What to be told of.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AllQuery {
    /// Of instances of this workflow.
    workflow: Option<String>,
    /// Of instances in one of these statuses, separated by commas.
    status: Option<String>,
    /// Entries of these types, separated by commas; `*` stands for a part: `step.*`.
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// Who is meant.
struct Wanted {
    workflow: Option<String>,
    statuses: Vec<Status>,
    kinds: Vec<String>,
}

impl Wanted {
    fn of(query: AllQuery) -> Result<Self, ApiError> {
        let kinds: Vec<String> = query
            .kind
            .iter()
            .flat_map(|kinds| kinds.split(','))
            .map(|kind| kind.trim().to_owned())
            .collect();
        for kind in &kinds {
            abide::pattern::check(kind)?;
        }
        let statuses = params::statuses(query.status.as_deref())?;
        Ok(Self { workflow: query.workflow, statuses, kinds })
    }

    fn covers(&self, workflow: &str, status: Status, kind: &str) -> bool {
        self.workflow.as_deref().is_none_or(|wanted| wanted == workflow)
            && (self.statuses.is_empty() || self.statuses.contains(&status))
            && (self.kinds.is_empty()
                || self.kinds.iter().any(|wanted| abide::pattern::matches(wanted, kind)))
    }
}

/// Something is missing.
#[derive(Serialize)]
struct Gap {
    #[serde(rename = "type")]
    kind: &'static str,
    from: String,
    to: String,
}

/// Watch all instances
///
/// What happens from now on, or after `Last-Event-ID`, as server-sent events. A reader that is too slow is
/// told of a `gap`.
#[utoipa::path(get, path = "/stream", tag = "streams",
    params(
        AllQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "the last event that was seen")),
    responses(
        (status = 200, description = "one event per history entry", body = EntryView, content_type = "text/event-stream")))]
pub(super) async fn stream(
    State(app): State<App>,
    Params(query): Params<AllQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let wanted = Wanted::of(query)?;
    let after = match sse::last_event_id(&headers)? {
        Some(id) => id.parse::<Cursor>().map_err(sse::unknown_id)?,
        // Now is when the answer begins, not when somebody first reads from it.
        None => app.engine().feed_head().await?,
    };
    let events = events(app.engine().clone(), after, wanted);
    Ok(sse::answer(&app, events))
}

/// An entry as the history has it. An instance may be deleted by now: then nobody knows its steps.
async fn seen(engine: &Engine, told: Told<'_>, recorded: Recorded) -> EntryView {
    if !records::ends_run(&recorded) {
        return EntryView::new(told, recorded);
    }
    let handle = engine.get(told.id);
    let view = Box::pin(records::entry(&handle, told, recorded.clone())).await;
    view.unwrap_or_else(|_| EntryView::new(told, recorded))
}

fn events(engine: Engine, after: Cursor, wanted: Wanted) -> impl Stream<Item = Event> + Send {
    let watch = engine.watch_all(Some(after));
    stream::unfold((watch, engine, wanted), |(mut watch, engine, wanted)| async move {
        loop {
            let event = match watch.next().await?.ok()? {
                Fed::Gap { from, to } => {
                    let gap = Gap { kind: "gap", from: from.to_string(), to: to.to_string() };
                    Event::new(Some(to), &gap)
                }
                Fed::Entry { cursor, id, workflow, status, recorded } => {
                    if !wanted.covers(&workflow, status, recorded.entry.entry.as_str()) {
                        continue;
                    }
                    let told = Told { id: &id, workflow: &workflow };
                    Event::new(Some(cursor), &seen(&engine, told, recorded).await)
                }
            };
            return Some((event, (watch, engine, wanted)));
        }
    })
}
