//! Something sent, as expressions see it.

use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::Value as Parsed;

use crate::event::{Buffered, Kind};
use crate::expr::{Scope, Value};
use crate::json::Json;

/// Knows `event` and nothing else. The payload is read when an expression first looks.
pub(crate) struct Envelope<'a> {
    sent: &'a Buffered,
    payload: OnceCell<Option<Parsed>>,
}

impl<'a> Envelope<'a> {
    pub(crate) fn of(sent: &'a Buffered) -> Self {
        Self { sent, payload: OnceCell::new() }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.sent.kind
    }

    pub(crate) fn name(&self) -> &str {
        &self.sent.name
    }

    pub(crate) fn seq(&self) -> Option<i64> {
        self.sent.log.as_ref().map(|place| place.seq)
    }

    /// `None` when there is none, or one too deep to be looked into.
    fn payload(&self) -> Option<&Parsed> {
        let read = || self.sent.payload.as_ref().and_then(|payload: &Json| payload.decode().ok());
        self.payload.get_or_init(read).as_ref()
    }
}

impl Scope for Envelope<'_> {
    fn root(&self, name: &str) -> Option<Value<'_>> {
        if name != "event" {
            return None;
        }
        let absent = || Value::Undefined;
        let place = self.sent.log.as_ref();
        Some(Value::object([
            ("id", Value::text(&*self.sent.id)),
            ("type", Value::text(&*self.sent.name)),
            ("payload", self.payload().map_or_else(absent, Value::from)),
            ("source", text(self.sent.source.as_ref())),
            ("time", Value::text(self.sent.time().to_string())),
            ("subject", text(place.and_then(|place| place.subject.as_ref()))),
            ("correlationId", text(place.and_then(|place| place.correlation_id.as_ref()))),
            ("seq", place.map_or_else(absent, |place| Value::Number(place.seq.into()))),
        ]))
    }
}

fn text(text: Option<&Arc<str>>) -> Value<'_> {
    text.map_or(Value::Undefined, |text| Value::text(&**text))
}
