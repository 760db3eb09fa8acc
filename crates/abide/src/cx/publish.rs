//! Publishing from a workflow.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::engine::IntoPublication;
use crate::error::Result;
use crate::log::Publish;
use crate::pattern;
use crate::publication::Publication;
use crate::run::OpId;
use crate::verdict::Verdict;

use super::Cx;
use super::asked::Asked;

/// An event to whoever wants it; see [`Cx::publish`].
#[must_use = "an event is not published unless awaited"]
pub struct Publishing {
    asked: Asked,
    event: Result<Publication>,
}

impl Publishing {
    pub(super) fn new(cx: &Cx, event: impl IntoPublication) -> Self {
        let event = event.into_publication();
        let event_type = event.as_ref().map_or("event", |event| &event.event_type);
        let asked = Asked::new(cx, cx.use_name(&format!("publish {event_type}")));
        Self { asked, event }
    }
}

fn begin(cx: &Cx, event: &Result<Publication>, name: &Arc<str>) -> Result<OpId> {
    let event = event.as_ref().map_err(Clone::clone)?;
    pattern::check(&event.event_type)?;
    if let Some(payload) = &event.payload {
        cx.check_size("the payload", payload)?;
    }
    let publisher = &cx.resident;
    let publish = || {
        let event = Publication {
            // The same event of the same step, however often it is tried.
            source: Some(publisher.id.to_string()),
            id: Some(format!("{}:{name}", publisher.run)),
            ..event.clone()
        };
        // Triggers and definitions are asked only now: a replay finds what came of it.
        publisher.env.prepare(event.clone()).unwrap_or_else(|refused| Publish {
            refused: Some(refused.to_string()),
            ..Publish::new(event)
        })
    };
    Ok(publisher.state.lock().begin_publish(name, publish))
}

impl Future for Publishing {
    type Output = Result<Verdict>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { asked, event } = self.get_mut();
        let answer = asked.poll_value(task, |cx, name| begin(cx, event, name));
        answer.map(|answer| answer?.decode())
    }
}
