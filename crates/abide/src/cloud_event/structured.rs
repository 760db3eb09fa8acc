//! Events as JSON, alone or in a batch.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::attributes::{self, VERSION, check_name, check_version, complete, kept_content_type};
use super::data;
use crate::publication::{Extension, Form, Malformed, Members, Publication, check_text, text_of};

/// Reads `application/cloudevents+json`.
///
/// # Errors
/// When it is not a CloudEvent of version 1.0; the error names the attribute.
pub fn decode(body: &[u8]) -> Result<Publication, Malformed> {
    let mut publication = Publication::default();
    let mut version = None;
    let (mut value, mut base64) = (None, None);
    for (name, member) in Members::parse(body)?.into_iter() {
        match &*name {
            "specversion" => version = text_of("specversion", member)?,
            "type" => publication.event_type = text_of("type", member)?.unwrap_or_default(),
            "datacontenttype" => {
                let content_type = text_of("datacontenttype", member)?;
                publication.content_type =
                    content_type.map(|text| kept_content_type(&text)).transpose()?.flatten();
            }
            "correlationid" => publication.correlation_id = text_of("correlationid", member)?,
            "data" => value = Some(member),
            "data_base64" => base64 = base64_of(member)?,
            name => {
                if !publication.read_common(name, member)?
                    && let Some(extension) = extension(name, member)?
                {
                    publication.extensions.insert(name.to_owned(), extension);
                }
            }
        }
    }
    check_version(version.as_deref())?;
    match (value, base64) {
        (Some(_), Some(_)) => {
            return Err(Malformed::invalid("data_base64", "excludes data, and both are there"));
        }
        (Some(value), None) => data::from_value(&mut publication, value)?,
        (None, Some(text)) => data::from_base64(&mut publication, &text)?,
        (None, None) => {}
    }
    complete(publication)
}

/// Reads `application/cloudevents-batch+json`. It may be empty.
///
/// # Errors
/// When it is not an array, or one of its events is wrong; the error says which.
pub fn decode_batch(body: &[u8]) -> Result<Vec<Publication>, Malformed> {
    let events: Vec<&RawValue> = serde_json::from_slice(body)
        .map_err(|refused| Malformed::NotJson { expected: "array", reason: refused.to_string() })?;
    let decode = |(place, event): (usize, &&RawValue)| {
        decode(event.get().as_bytes())
            .map_err(|error| Malformed::InBatch { place, error: Box::new(error) })
    };
    events.iter().enumerate().map(decode).collect()
}

/// Data may be longer than attributes, so it is not read as one.
fn base64_of(member: &RawValue) -> Result<Option<String>, Malformed> {
    serde_json::from_str(member.get())
        .map_err(|_| Malformed::invalid("data_base64", "must be a string"))
}

fn extension(name: &str, member: &RawValue) -> Result<Option<Extension>, Malformed> {
    check_name(name)?;
    let invalid = || {
        let reason = "must be a string, a boolean or a whole number of 32 bits";
        Malformed::invalid(name, reason)
    };
    Ok(match member.get().as_bytes().first() {
        Some(b'n') => None,
        Some(b't') => Some(Extension::Bool(true)),
        Some(b'f') => Some(Extension::Bool(false)),
        Some(b'"') => {
            let text: String = serde_json::from_str(member.get()).map_err(|_| invalid())?;
            check_text(name, &text)?;
            Some(Extension::Text(text))
        }
        _ => Some(Extension::Integer(member.get().parse().map_err(|_| invalid())?)),
    })
}

/// Writes `application/cloudevents+json`.
///
/// # Errors
/// When the publication has no id or source, or what CloudEvents do not allow.
pub fn encode(publication: &Publication) -> Result<String, Malformed> {
    to_text(&Structured::of(publication)?)
}

/// Writes `application/cloudevents-batch+json`.
///
/// # Errors
/// As [`encode`]; the error says which event is wrong.
pub fn encode_batch(publications: &[Publication]) -> Result<String, Malformed> {
    let of = |(place, publication)| {
        Structured::of(publication)
            .map_err(|error| Malformed::InBatch { place, error: Box::new(error) })
    };
    let events: Result<Vec<_>, _> = publications.iter().enumerate().map(of).collect();
    to_text(&events?)
}

fn to_text(value: &impl Serialize) -> Result<String, Malformed> {
    serde_json::to_string(value).map_err(|refused| Malformed::invalid("data", refused.to_string()))
}

/// A publication that can be written.
struct Structured<'p> {
    publication: &'p Publication,
    required: attributes::Required<'p>,
}

impl<'p> Structured<'p> {
    fn of(publication: &'p Publication) -> Result<Self, Malformed> {
        let required = attributes::check(publication)?;
        data::check(publication)?;
        Ok(Self { publication, required })
    }
}

impl Serialize for Structured<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let publication = self.publication;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("specversion", VERSION)?;
        map.serialize_entry("id", self.required.id)?;
        map.serialize_entry("source", self.required.source)?;
        map.serialize_entry("type", &publication.event_type)?;
        if let Some(time) = publication.time {
            map.serialize_entry("time", &time.to_string())?;
        }
        for (name, text) in [
            ("subject", &publication.subject),
            ("correlationid", &publication.correlation_id),
            ("datacontenttype", &publication.content_type),
        ] {
            if let Some(text) = text {
                map.serialize_entry(name, text)?;
            }
        }
        for (name, value) in &publication.extensions {
            map.serialize_entry(name, value)?;
        }
        if let Some(payload) = &publication.payload {
            let bytes = publication.form == Form::Bytes;
            map.serialize_entry(if bytes { "data_base64" } else { "data" }, payload)?;
        }
        map.end()
    }
}
