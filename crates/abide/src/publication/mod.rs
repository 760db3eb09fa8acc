//! Events on their way to whoever wants them.
//!
//! Unlike a delivery, a publication names no instance. It is read from Abide's own JSON here, and
//! from CloudEvents in [`crate::cloud_event`].

mod attributes;
mod content;
mod malformed;
mod members;
mod moment;
mod seen;

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::json::Json;
use crate::time::Timestamp;
use crate::trace::{self, Trace};

pub use content::{Extension, Form};
pub use malformed::Malformed;
pub use seen::{Parsed, Seen};

pub(crate) use content::{is_json, is_text};
pub(crate) use members::{Members, check_text, check_type, text_of};
pub(crate) use moment::parse as parse_time;

/// An event to be published.
///
/// Its own JSON is `{type, payload, id?, source?, time?, subject?, correlationId?}`. `null` is the
/// same as absent, except for the payload, where it is a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Publication {
    /// Its type: segments split at `.`.
    pub event_type: String,
    /// Its payload; absent is not the same as `null`.
    pub payload: Option<Json>,
    /// What the payload stands for.
    pub form: Form,
    /// Its id. The same id from the same source again is the same event.
    pub id: Option<String>,
    /// Where it comes from.
    pub source: Option<String>,
    /// When it happened, as its source says; fractions of milliseconds are dropped.
    pub time: Option<Timestamp>,
    /// What it is about.
    pub subject: Option<String>,
    /// What it belongs to.
    pub correlation_id: Option<String>,
    /// The media type of the data, when it is not `application/json`.
    pub content_type: Option<String>,
    /// Attributes of a CloudEvent that mean nothing to Abide, `dataschema` among them.
    pub extensions: BTreeMap<String, Extension>,
}

/// The fields of the own JSON, for the message that names them.
const FIELDS: &str = "type, payload, id, source, time, subject, correlationId";

impl Publication {
    /// The trace it belongs to, by the attribute that CloudEvents has for that; see [`crate::trace`].
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        match self.extensions.get(trace::NAME)? {
            Extension::Text(text) => text.parse().ok(),
            Extension::Bool(_) | Extension::Integer(_) => None,
        }
    }

    /// An event of a type, without anything else.
    pub fn new(event_type: impl Into<String>) -> Self {
        Self { event_type: event_type.into(), ..Self::default() }
    }

    /// Reads Abide's own JSON. The payload is not looked into.
    ///
    /// # Errors
    /// When it is not a JSON object, a field has the wrong type or is not known, or there is no
    /// `type`.
    pub fn from_json(body: &[u8]) -> Result<Self, Malformed> {
        let mut publication = Self::default();
        let mut has_type = false;
        for (name, value) in Members::parse(body)?.into_iter() {
            match &*name {
                "type" => {
                    has_type = true;
                    publication.event_type =
                        text_of("type", value)?.ok_or(Malformed::Missing { attribute: "type" })?;
                }
                "payload" => publication.payload = Some(Json::from_raw(value)),
                "correlationId" => {
                    publication.correlation_id = text_of("correlationId", value)?;
                }
                name => {
                    if !publication.read_common(name, value)? {
                        let reason = format!("is not a field of an event; known: {FIELDS}");
                        return Err(Malformed::invalid(name, reason));
                    }
                }
            }
        }
        if !has_type {
            return Err(Malformed::Missing { attribute: "type" });
        }
        check_type(&publication.event_type)?;
        Ok(publication)
    }

    /// Reads what Abide and CloudEvents call the same; `false` when it is something else.
    pub(crate) fn read_common(&mut self, name: &str, value: &RawValue) -> Result<bool, Malformed> {
        match name {
            "id" => self.id = text_of("id", value)?,
            "source" => self.source = text_of("source", value)?,
            "subject" => self.subject = text_of("subject", value)?,
            "time" => {
                let time = text_of("time", value)?;
                self.time = time.map(|text| parse_time(&text)).transpose()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_json_reads_every_field() {
        let publication = Publication::from_json(
            br#" {"type": "order.paid", "payload": {"a": [1, 2.50]}, "id": "e-1", "source": "shop",
                 "time": "2024-02-29T12:30:45.1239+02:00", "subject": "s", "correlationId": "c"} "#,
        )
        .unwrap();
        let expect = Publication {
            payload: Some(Json::from_stored(r#"{"a": [1, 2.50]}"#.into()).unwrap()),
            id: Some("e-1".into()),
            source: Some("shop".into()),
            time: Some(Timestamp(1_709_202_645_123)),
            subject: Some("s".into()),
            correlation_id: Some("c".into()),
            ..Publication::new("order.paid")
        };
        assert_eq!(publication, expect);
    }

    #[test]
    fn an_absent_payload_is_not_null() {
        let read = |body: &str| Publication::from_json(body.as_bytes()).unwrap();
        assert_eq!(read(r#"{"type": "a"}"#).payload, None);
        assert_eq!(
            read(r#"{"type": "a", "payload": null, "id": null}"#).payload,
            Some(Json::null())
        );
        assert_eq!(read(r#"{"type": "a", "id": null}"#).id, None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |body: &str, expect: &str| {
            let refused = Publication::from_json(body.as_bytes()).unwrap_err();
            assert_eq!(refused.to_string(), expect, "{body}");
        };
        check("{}", "type is missing");
        check(r#"{"type": null}"#, "type is missing");
        check(r#"{"type": 1}"#, "type must be a string, not 1");
        check(r#"{"type": ""}"#, "type must not be empty");
        check(r#"{"type": "a..b"}"#, r#"type "a..b" has an empty segment"#);
        check(r#"{"type": "a", "id": ""}"#, "id must not be empty");
        check(r#"{"type": "a", "id": "\u0000"}"#, "id has the control character U+0000");
        check(r#"{"type": "a", "type": "b"}"#, "type is there twice");
        check(
            r#"{"type": "a", "time": "yesterday"}"#,
            r#"time must be RFC 3339, such as 2024-02-29T12:30:45Z, not "yesterday""#,
        );
        check(
            r#"{"type": "a", "correlationid": "c"}"#,
            "correlationid is not a field of an event; known: type, payload, id, source, time, subject, correlationId",
        );
        check(
            "[]",
            "the body is not a JSON object: invalid type: sequence, expected an object at line 1 column 0",
        );
        assert!(matches!(Publication::from_json(b"{\"type\":"), Err(Malformed::NotJson { .. })));
        assert!(matches!(Publication::from_json(b"\xff"), Err(Malformed::NotJson { .. })));
    }

    #[test]
    fn deep_and_huge_payloads_pass_through() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(r#"{{"type": "a", "payload": {deep}}}"#);
        let publication = Publication::from_json(body.as_bytes()).unwrap();
        assert_eq!(publication.payload.unwrap().as_str(), deep);

        let many: Vec<String> = (0..10_000).map(|n| format!(r#""x{n}": 1"#)).collect();
        let refused = Publication::from_json(format!("{{{}}}", many.join(",")).as_bytes());
        assert!(matches!(refused, Err(Malformed::NotJson { .. })), "{refused:?}");
    }
}
