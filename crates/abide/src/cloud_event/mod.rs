//! CloudEvents 1.0, to and from [`Publication`].
//!
//! | CloudEvents | here |
//! |---|---|
//! | `id`, `source`, `type` (required), `subject`, `time` | the same |
//! | `correlationid` | `correlation_id` |
//! | `datacontenttype` | `content_type`; `application/json` is the default and not kept |
//! | `dataschema` and every extension | `extensions`, kept as they are |
//! | `data`, `data_base64`, the body in binary mode | `payload` and `form` |
//!
//! Data that is not JSON is a string in the payload: the text itself when it is a text
//! ([`Form::Text`](crate::publication::Form)), base64 otherwise
//! ([`Form::Bytes`](crate::publication::Form)). In binary mode the media type decides what it is:
//! `text/*` and XML are texts if they are UTF-8. The payload is the same however an event travels.
//!
//! Attributes are at most 1 024 bytes and have no control characters. `source` is not checked to be
//! a URI reference. Nothing here does I/O or knows HTTP: headers are names and values.

mod attributes;
mod base64;
mod binary;
mod data;
mod header;
mod structured;

pub use binary::{Message, decode as decode_binary, encode as encode_binary};
pub use structured::{decode, decode_batch, encode, encode_batch};

use crate::publication::{Malformed, Publication};

/// The media type of one event as JSON.
pub const STRUCTURED: &str = "application/cloudevents+json";

/// The media type of several events as a JSON array.
pub const BATCH: &str = "application/cloudevents-batch+json";

/// Reads whatever the headers say it is: an event in structured or binary mode, a batch, or, when
/// nothing speaks of CloudEvents, Abide's own JSON.
///
/// # Errors
/// When it is not what it says it is. Of a batch all or none is taken.
pub fn read<'h>(
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    body: &[u8],
) -> Result<Vec<Publication>, Malformed> {
    let headers: Vec<(&str, &str)> = headers.into_iter().collect();
    let find = |name: &str| headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let content_type = find("content-type").map_or("", |(_, value)| value);
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        STRUCTURED => decode(body).map(|publication| vec![publication]),
        BATCH => decode_batch(body),
        other if other.starts_with("application/cloudevents") => {
            let reason = format!("{other} is not supported; use {STRUCTURED} or {BATCH}");
            Err(Malformed::invalid("content-type", reason))
        }
        _ if find("ce-specversion").is_some() => {
            decode_binary(headers, body).map(|publication| vec![publication])
        }
        _ => Publication::from_json(body).map(|publication| vec![publication]),
    }
}
