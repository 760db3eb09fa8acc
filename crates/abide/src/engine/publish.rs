//! Events to whoever wants them.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::json::Json;
use crate::log::Publish;
use crate::pattern;
use crate::publication::{Extension, Publication};
use crate::trace;
use crate::verdict::Verdict;

use super::{Engine, Env};

/// What can be published.
pub trait IntoPublication {
    /// The event to be published.
    ///
    /// # Errors
    /// When its payload can't be stored as JSON.
    fn into_publication(self) -> Result<Publication>;
}

impl IntoPublication for Publication {
    fn into_publication(self) -> Result<Publication> {
        Ok(self)
    }
}

/// As [`Event::new`] made it: with an id only if it was given one.
impl<T: Serialize> IntoPublication for Event<T> {
    fn into_publication(self) -> Result<Publication> {
        let Self { id, event_type, payload, source, received_at } = self;
        Ok(Publication {
            payload: Some(Json::encode(&payload)?),
            id: Some(id).filter(|id| !id.is_empty()),
            source,
            time: Some(received_at).filter(|at| at.0 != 0),
            ..Publication::new(event_type)
        })
    }
}

impl Env {
    /// Checks an event and asks the triggers. What is wrong with its payload is for the store to
    /// answer, after it has looked for a duplicate.
    pub(crate) fn prepare(&self, mut event: Publication) -> Result<Publish> {
        pattern::check(&event.event_type)?;
        let limit = self.config.payload_max;
        if let Some(size) = event.payload.as_ref().map(Json::size).filter(|size| *size > limit) {
            return Err(Error::TooLarge { what: "the payload".into(), size, limit });
        }
        event.id.get_or_insert_with(|| format!("evt_{}", self.clock.uuid().simple()));
        event.time.get_or_insert_with(|| self.clock.now());
        if let Some(trace) =
            trace::current().filter(|_| !event.extensions.contains_key(trace::NAME))
        {
            event.extensions.insert(trace::NAME.to_owned(), Extension::Text(trace.to_string()));
        }
        let mut refused = None;
        if let Some(defined) = self.catalog.definition(&event.event_type) {
            match defined.admit(event.payload.take()) {
                Ok(payload) => event.payload = payload,
                Err(wrong) => refused = Some(wrong),
            }
        }
        if refused.is_some() {
            return Ok(Publish { refused, ..Publish::new(event) });
        }
        let effects = self.catalog.effects(&event, &self.registry);
        Ok(Publish {
            cancels: effects.cancels,
            starts: effects.starts,
            failed: effects.failed,
            ..Publish::new(event)
        })
    }
}

impl Engine {
    /// Publishes an event to whoever wants it: waits whose pattern and filter match, wherever they
    /// are, and triggers. When this returns, the event is in the log and survives a crash; waits
    /// that are reached later find it there. The same source and id again changes nothing and is
    /// answered as the first time.
    ///
    /// # Errors
    /// [`Error::EventInvalid`] when the payload is not as its definition says, [`Error::TooLarge`],
    /// a type that is none, or the store's own.
    pub async fn publish(&self, event: impl IntoPublication) -> Result<Verdict> {
        let publish = self.inner.env.prepare(event.into_publication()?)?;
        self.inner.store.publish(publish).await
    }

    /// Tells what would come of publishing an event now, and does nothing.
    ///
    /// # Errors
    /// As [`Engine::publish`].
    pub async fn publish_dry(&self, event: impl IntoPublication) -> Result<Verdict> {
        let publish = self.inner.env.prepare(event.into_publication()?)?;
        self.inner.store.publish(Publish { dry_run: true, ..publish }).await
    }
}
