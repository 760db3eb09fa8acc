//! What a payload stands for when it did not come as JSON, and attributes that are only kept.

use serde::{Serialize, Serializer};

/// What the payload stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Itself.
    #[default]
    Json,
    /// A text: the payload is a JSON string with that text.
    Text,
    /// Bytes: the payload is a JSON string with their base64.
    Bytes,
}

/// The value of an attribute that is only kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extension {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number, 32 bits as CloudEvents has it.
    Integer(i32),
    /// A text.
    Text(String),
}

impl std::fmt::Display for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(bool) => bool.fmt(f),
            Self::Integer(integer) => integer.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Extension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Integer(integer) => serializer.serialize_i32(*integer),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// A media type without its parameters.
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether data of this media type is JSON.
pub(crate) fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// Whether data of this media type is text, if it is UTF-8.
pub(crate) fn is_text(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence.starts_with("text/") || essence == "application/xml" || essence.ends_with("+xml")
}
