//! A publication as expressions see it.

use std::cell::OnceCell;

use serde_json::Value as Tree;

use super::Publication;
use crate::expr::{Field, Object, Scope, Value};

/// Holds the payload of one publication once it has been read.
#[derive(Debug, Default)]
pub struct Parsed(OnceCell<Option<Tree>>);

/// Knows `event` and nothing else. The payload is read when an expression first looks at the
/// event; one that is nested too deeply to be read is `undefined`.
///
/// ```
/// use abide::expr::Expr;
/// use abide::publication::{Parsed, Publication, Seen};
///
/// let body = br#"{"type": "payment.card", "payload": {"amount": 120}}"#;
/// let publication = Publication::from_json(body).unwrap();
/// let parsed = Parsed::default();
/// let event = Seen::of(&publication, &parsed);
/// let filter: Expr = "event.payload.amount >= 100".parse().unwrap();
/// assert!(filter.is_match(&event).unwrap());
/// ```
#[derive(Debug)]
pub struct Seen<'a> {
    publication: &'a Publication,
    parsed: &'a Parsed,
    seq: Option<i64>,
    fields: OnceCell<[Field<'a>; 8]>,
}

impl<'a> Seen<'a> {
    /// A publication, and where to keep its payload when it is read.
    #[must_use]
    pub fn of(publication: &'a Publication, parsed: &'a Parsed) -> Self {
        Self { publication, parsed, seq: None, fields: OnceCell::new() }
    }

    /// With its place in the log.
    #[must_use]
    pub fn numbered(mut self, seq: i64) -> Self {
        self.seq = Some(seq);
        self
    }

    fn fields(&self) -> &[Field<'a>; 8] {
        self.fields.get_or_init(|| {
            let Publication { event_type, id, source, subject, correlation_id, time, .. } =
                self.publication;
            let text =
                |text: &'a Option<String>| text.as_deref().map_or(Value::Undefined, Value::text);
            let payload = self.payload().map_or(Value::Undefined, Value::from);
            [
                ("payload".into(), payload),
                ("type".into(), Value::text(event_type.as_str())),
                ("id".into(), text(id)),
                ("source".into(), text(source)),
                ("subject".into(), text(subject)),
                ("correlationId".into(), text(correlation_id)),
                (
                    "time".into(),
                    time.map_or(Value::Undefined, |time| Value::text(time.to_string())),
                ),
                ("seq".into(), self.seq.map_or(Value::Undefined, |seq| Value::Number(seq.into()))),
            ]
        })
    }

    fn payload(&self) -> Option<&'a Tree> {
        let read = || self.publication.payload.as_ref().and_then(|payload| payload.decode().ok());
        self.parsed.0.get_or_init(read).as_ref()
    }
}

impl Scope for Seen<'_> {
    #[inline]
    fn root(&self, name: &str) -> Option<Value<'_>> {
        (name == "event").then(|| Value::Object(Object::Fields(self.fields())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::time::Timestamp;

    #[test]
    fn every_field_is_seen_and_absent_ones_are_undefined() {
        let check = |publication: &Publication, source: &str| {
            let parsed = Parsed::default();
            let event = Seen::of(publication, &parsed).numbered(7);
            let expr: crate::expr::Expr = source.parse().unwrap();
            assert!(expr.is_match(&event).unwrap(), "{source}");
        };
        let full = Publication {
            payload: Some(Json::encode(&serde_json::json!({"a": [1]})).unwrap()),
            id: Some("i".into()),
            source: Some("s".into()),
            time: Some(Timestamp(0)),
            subject: Some("u".into()),
            correlation_id: Some("c".into()),
            ..Publication::new("t")
        };
        check(&full, "event.type === 't' && event.payload.a[0] === 1 && event.id === 'i'");
        check(&full, "event.source === 's' && event.subject === 'u' && event.seq === 7");
        check(&full, "event.correlationId === 'c' && event.time === '1970-01-01T00:00:00.000Z'");
        let bare = Publication::new("t");
        for field in ["payload", "payload.a", "id", "source", "time", "subject", "correlationId"] {
            check(&bare, &format!("event.{field} === undefined"));
        }
        let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
        let deep = Publication { payload: Some(Json::from_stored(deep).unwrap()), ..bare };
        check(&deep, "event.payload === undefined");
    }
}
