//! The rules that hold for attributes, however they travel.

use crate::publication::{Extension, Malformed, Publication, check_text, check_type, is_json};

pub(super) const VERSION: &str = "1.0";

/// Not free for extensions.
const RESERVED: [&str; 10] = [
    "specversion",
    "id",
    "source",
    "type",
    "time",
    "subject",
    "datacontenttype",
    "correlationid",
    "data",
    "data_base64",
];

/// Names are lower-case letters and digits.
pub(super) fn check_name(name: &str) -> Result<(), Malformed> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if name.is_empty() || !name.bytes().all(plain) {
        let reason = "is not a name of an attribute: lower-case letters and digits only";
        return Err(Malformed::invalid(name, reason));
    }
    Ok(())
}

pub(super) fn check_version(version: Option<&str>) -> Result<(), Malformed> {
    match version {
        Some(VERSION) => Ok(()),
        Some(other) => {
            let reason = format!("must be {VERSION:?}, not {other:?}");
            Err(Malformed::invalid("specversion", reason))
        }
        None => Err(Malformed::Missing { attribute: "specversion" }),
    }
}

/// A media type as it is kept: none for plain JSON, which is the default.
pub(super) fn kept_content_type(content_type: &str) -> Result<Option<String>, Malformed> {
    const NAME: &str = "datacontenttype";
    let content_type = content_type.trim();
    check_text(NAME, content_type)?;
    if !content_type.is_ascii() || !content_type.contains('/') {
        let reason = format!("must be a media type such as application/json, not {content_type:?}");
        return Err(Malformed::invalid(NAME, reason));
    }
    let default = content_type.eq_ignore_ascii_case("application/json");
    Ok((!default).then(|| content_type.to_owned()))
}

/// What a CloudEvent can't be without.
pub(super) struct Required<'p> {
    pub(super) id: &'p str,
    pub(super) source: &'p str,
}

/// Checks that a publication can be written as a CloudEvent that reads back.
pub(super) fn check(publication: &Publication) -> Result<Required<'_>, Malformed> {
    let Publication { id, source, subject, correlation_id, content_type, extensions, .. } =
        publication;
    check_type(&publication.event_type)?;
    let texts =
        [("id", id), ("source", source), ("subject", subject), ("correlationid", correlation_id)];
    for (name, text) in texts {
        text.iter().try_for_each(|text| check_text(name, text))?;
    }
    if let Some(content_type) = content_type {
        kept_content_type(content_type)?;
    }
    for (name, value) in extensions {
        check_name(name)?;
        if RESERVED.contains(&name.as_str()) {
            return Err(Malformed::invalid(name, "is no extension"));
        }
        if let Extension::Text(text) = value {
            check_text(name, text)?;
        }
    }
    let missing = |attribute| Malformed::Missing { attribute };
    Ok(Required {
        id: id.as_deref().ok_or(missing("id"))?,
        source: source.as_deref().ok_or(missing("source"))?,
    })
}

/// What a CloudEvent needs beyond what every publication has, once it is read.
pub(super) fn complete(publication: Publication) -> Result<Publication, Malformed> {
    if publication.event_type.is_empty() {
        return Err(Malformed::Missing { attribute: "type" });
    }
    check(&publication)?;
    Ok(publication)
}

/// Whether data without a form of its own is JSON.
pub(super) fn says_json(content_type: Option<&str>) -> bool {
    content_type.is_none_or(is_json)
}
