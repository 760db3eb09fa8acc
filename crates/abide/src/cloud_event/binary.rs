//! Events as a body with their attributes in headers.

use super::attributes::{self, VERSION, check_name, check_version, complete, kept_content_type};
use super::{data, header};
use crate::publication::{Extension, Form, Malformed, Publication, check_text, parse_time};

/// What marks a header as an attribute.
const PREFIX: &str = "ce-";

/// An event as headers and a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Lower-case names and values, `content-type` among them.
    pub headers: Vec<(String, String)>,
    /// The data.
    pub body: Vec<u8>,
}

/// Reads binary mode: attributes from headers named `ce-…`, data from the body. Other headers are
/// passed over. An empty body is no data, and data without a media type is JSON.
///
/// # Errors
/// When it is not a CloudEvent of version 1.0; the error names the attribute.
pub fn decode<'h>(
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    body: &[u8],
) -> Result<Publication, Malformed> {
    let mut publication = Publication::default();
    let mut version: Option<String> = None;
    let mut seen: Vec<String> = Vec::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        if name != "content-type" && !name.starts_with(PREFIX) {
            continue;
        }
        if seen.contains(&name) {
            return Err(Malformed::invalid(name, "is there twice"));
        }
        match name.strip_prefix(PREFIX) {
            None => publication.content_type = kept_content_type(value)?,
            Some("specversion") => version = Some(value.trim().to_owned()),
            Some(attribute) => read(&mut publication, attribute, value)?,
        }
        seen.push(name);
        // Servers bound headers as well; this bounds the search for those that are there twice.
        if seen.len() > MOST {
            return Err(Malformed::invalid(
                PREFIX,
                format!("is the prefix of more than {MOST} headers"),
            ));
        }
    }
    check_version(version.as_deref())?;
    if !body.is_empty() {
        data::from_bytes(&mut publication, body)?;
    }
    complete(publication)
}

const MOST: usize = 128;

fn read(publication: &mut Publication, name: &str, value: &str) -> Result<(), Malformed> {
    check_name(name)?;
    let text = header::decode(value)
        .ok_or_else(|| Malformed::invalid(name, "is not percent-encoded UTF-8"))?;
    check_text(name, &text)?;
    match name {
        "id" => publication.id = Some(text),
        "source" => publication.source = Some(text),
        "type" => publication.event_type = text,
        "subject" => publication.subject = Some(text),
        "time" => publication.time = Some(parse_time(&text)?),
        "correlationid" => publication.correlation_id = Some(text),
        "data" | "datacontenttype" => {
            let reason = "is no header: the body is the data, and Content-Type says what it is";
            return Err(Malformed::invalid(name, reason));
        }
        name => drop(publication.extensions.insert(name.to_owned(), Extension::Text(text))),
    }
    Ok(())
}

/// Writes binary mode. Extensions of every type become text.
///
/// # Errors
/// When the publication has no id or source, or what CloudEvents do not allow.
pub fn encode(publication: &Publication) -> Result<Message, Malformed> {
    let required = attributes::check(publication)?;
    data::check(publication)?;
    let mut headers = Vec::with_capacity(8 + publication.extensions.len());
    let mut add = |name: &str, value: &str| {
        headers.push((format!("{PREFIX}{name}"), header::encode(value)));
    };
    add("specversion", VERSION);
    add("id", required.id);
    add("source", required.source);
    add("type", &publication.event_type);
    if let Some(time) = publication.time {
        add("time", &time.to_string());
    }
    for (name, text) in
        [("subject", &publication.subject), ("correlationid", &publication.correlation_id)]
    {
        text.iter().for_each(|text| add(name, text));
    }
    for (name, value) in &publication.extensions {
        add(name, &value.to_string());
    }
    if let Some(content_type) = content_type(publication) {
        headers.push(("content-type".to_owned(), content_type.to_owned()));
    }
    Ok(Message { headers, body: data::to_bytes(publication)? })
}

fn content_type(publication: &Publication) -> Option<&str> {
    let implied = match publication.form {
        Form::Bytes => "application/octet-stream",
        Form::Json | Form::Text => "application/json",
    };
    let implied = publication.payload.is_some().then_some(implied);
    publication.content_type.as_deref().or(implied)
}
