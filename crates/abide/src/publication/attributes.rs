//! What a publication says beside its own fields, as one JSON object to be stored.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Extension, Form, Publication};
use crate::error::{Error, Result};
use crate::json::Json;

impl Publication {
    /// Its form, content type and extensions; `None` when there is nothing to say.
    ///
    /// # Errors
    /// Never in practice: these are texts, numbers and truth values.
    pub fn attributes(&self) -> Result<Option<Json>> {
        let mut all = Map::new();
        match self.form {
            Form::Json => {}
            Form::Text => drop(all.insert("form".into(), "text".into())),
            Form::Bytes => drop(all.insert("form".into(), "bytes".into())),
        }
        if let Some(content_type) = &self.content_type {
            all.insert("contentType".into(), content_type.as_str().into());
        }
        if !self.extensions.is_empty() {
            let kept = |value: &Extension| match value {
                Extension::Bool(bool) => Value::from(*bool),
                Extension::Integer(integer) => Value::from(*integer),
                Extension::Text(text) => Value::from(text.as_str()),
            };
            let kept: Map<String, Value> =
                self.extensions.iter().map(|(name, value)| (name.clone(), kept(value))).collect();
            all.insert("extensions".into(), kept.into());
        }
        if all.is_empty() { Ok(None) } else { Json::encode(&all).map(Some) }
    }

    /// Reads back what [`Publication::attributes`] gave.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when it is something else.
    pub fn with_attributes(mut self, attributes: Option<&Json>) -> Result<Self> {
        let Some(attributes) = attributes else { return Ok(self) };
        let corrupt = || Error::corrupt(format!("attributes of an event: {}", attributes.as_str()));
        let all: Map<String, Value> = attributes.decode().map_err(|_| corrupt())?;
        self.form = match all.get("form").and_then(Value::as_str) {
            None => Form::Json,
            Some("text") => Form::Text,
            Some("bytes") => Form::Bytes,
            Some(_) => return Err(corrupt()),
        };
        self.content_type = all.get("contentType").and_then(Value::as_str).map(str::to_owned);
        let extensions = all.get("extensions").and_then(Value::as_object);
        let kept = |value: &Value| match value {
            Value::Bool(bool) => Some(Extension::Bool(*bool)),
            Value::Number(number) => {
                number.as_i64().and_then(|n| i32::try_from(n).ok()).map(Extension::Integer)
            }
            Value::String(text) => Some(Extension::Text(text.clone())),
            _ => None,
        };
        let read = |(name, value): (&String, &Value)| {
            kept(value).map(|value| (name.clone(), value)).ok_or_else(corrupt)
        };
        self.extensions =
            extensions.into_iter().flatten().map(read).collect::<Result<BTreeMap<_, _>>>()?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_read_back_equal() {
        let plain = Publication::new("a");
        assert_eq!(plain.attributes().unwrap(), None);
        let extensions = [
            ("a".to_owned(), Extension::Bool(true)),
            ("b".to_owned(), Extension::Integer(-7)),
            ("c".to_owned(), Extension::Text("7".into())),
        ];
        for form in [Form::Json, Form::Text, Form::Bytes] {
            let full = Publication {
                form,
                content_type: Some("text/plain".into()),
                extensions: extensions.clone().into(),
                ..plain.clone()
            };
            let stored = full.attributes().unwrap();
            assert_eq!(plain.clone().with_attributes(stored.as_ref()).unwrap(), full);
        }
        let broken = Json::encode(&serde_json::json!({"extensions": {"a": [1]}})).unwrap();
        assert!(plain.with_attributes(Some(&broken)).is_err());
    }
}
