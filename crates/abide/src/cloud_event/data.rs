//! The data of an event: JSON, text or bytes.

use serde_json::value::RawValue;

use super::attributes::says_json;
use super::base64;
use crate::json::Json;
use crate::publication::{Form, Malformed, Publication, is_json, is_text};

/// Data that came as bytes, with whatever media type.
pub(super) fn from_bytes(publication: &mut Publication, bytes: &[u8]) -> Result<(), Malformed> {
    let content_type = publication.content_type.as_deref();
    let text = std::str::from_utf8(bytes).ok();
    (publication.form, publication.payload) = if says_json(content_type) {
        let json = serde_json::from_slice(bytes);
        (Form::Json, Some(json.map_err(|refused| invalid(format!("is not JSON: {refused}")))?))
    } else if let Some(text) = text.filter(|_| content_type.is_some_and(is_text)) {
        (Form::Text, Some(string(text)?))
    } else {
        (Form::Bytes, Some(string(&base64::encode(bytes))?))
    };
    Ok(())
}

/// Data that came as a JSON value.
pub(super) fn from_value(publication: &mut Publication, value: &RawValue) -> Result<(), Malformed> {
    let is_string = value.get().starts_with('"');
    let payload = Json::from_raw(value);
    if is_string && !says_json(publication.content_type.as_deref()) {
        // JSON can write half a character; a text can't have one.
        text(&payload)?;
        publication.form = Form::Text;
    }
    publication.payload = Some(payload);
    Ok(())
}

/// Data that came as base64. Without a media type nothing says what it is.
pub(super) fn from_base64(publication: &mut Publication, text: &str) -> Result<(), Malformed> {
    let bytes = base64::decode(text)
        .ok_or_else(|| Malformed::invalid("data_base64", "is not base64 with padding"))?;
    if publication.content_type.is_none() {
        publication.form = Form::Bytes;
        publication.payload = Some(string(text)?);
        return Ok(());
    }
    from_bytes(publication, &bytes)
}

/// The data as bytes, for a body.
pub(super) fn to_bytes(publication: &Publication) -> Result<Vec<u8>, Malformed> {
    let Some(payload) = &publication.payload else { return Ok(Vec::new()) };
    match publication.form {
        Form::Json => Ok(payload.as_str().as_bytes().to_vec()),
        Form::Text => text(payload).map(String::into_bytes),
        Form::Bytes => base64::decode(&text(payload)?)
            .ok_or_else(|| invalid("is said to be bytes and is not base64".into())),
    }
}

/// Checks that form, media type and payload agree, so that what is written reads back.
pub(super) fn check(publication: &Publication) -> Result<(), Malformed> {
    let json_type = publication.content_type.as_deref().map(is_json);
    match (publication.form, json_type) {
        (Form::Text, None | Some(true)) | (Form::Bytes, Some(true)) => {
            let reason = "must say what data is that is not JSON";
            Err(Malformed::invalid("datacontenttype", reason))
        }
        (Form::Json, _) => Ok(()),
        (Form::Text | Form::Bytes, _) if publication.payload.is_none() => {
            Err(invalid("is missing".into()))
        }
        (Form::Text | Form::Bytes, _) => to_bytes(publication).map(drop),
    }
}

fn text(payload: &Json) -> Result<String, Malformed> {
    payload.decode().map_err(|_| invalid("is said to be text or bytes and is no string".into()))
}

fn string(text: &str) -> Result<Json, Malformed> {
    Json::encode(text).map_err(|refused| invalid(refused.to_string()))
}

fn invalid(reason: String) -> Malformed {
    Malformed::invalid("data", reason)
}
