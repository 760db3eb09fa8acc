//! Something sent, as expressions see it.

use std::cell::OnceCell;

use serde_json::Value as Parsed;

use crate::event::{Buffered, Kind};
use crate::expr::{Scope, Value};
use crate::id::InstanceId;
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
        Some(Value::object([
            ("id", Value::text(&*self.sent.id)),
            ("type", Value::text(&*self.sent.name)),
            ("payload", self.payload().map_or_else(absent, Value::from)),
            (
                "source",
                self.sent.source.as_ref().map(InstanceId::as_str).map_or_else(absent, Value::text),
            ),
            ("time", Value::text(self.sent.received_at.to_string())),
        ]))
    }
}
