//! The members of a JSON object, read without looking into their values.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::malformed::Malformed;
use crate::pattern;

/// More than any event has. It bounds the search for names that are there twice.
const MOST: usize = 128;

/// The longest attribute, in bytes: id and source together are an index key.
const LONGEST: usize = 1024;

/// Names and values in their order, no name twice.
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Members<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let members: Self = serde_json::from_slice(body).map_err(|refused| Malformed::NotJson {
            expected: "object",
            reason: refused.to_string(),
        })?;
        for (place, (name, _)) in members.0.iter().enumerate() {
            if members.0.iter().take(place).any(|(known, _)| known == name) {
                return Err(Malformed::invalid(&**name, "is there twice"));
            }
        }
        Ok(members)
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = (Cow<'a, str>, &'a RawValue)> {
        self.0.into_iter()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Name(name), value)) = map.next_entry()? {
                    if members.len() == MOST {
                        return Err(A::Error::custom(format!("it has more than {MOST} members")));
                    }
                    members.push((name, value));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Collect).map(Self)
    }
}

/// The text of an attribute; `None` for `null`, which is the same as absent.
pub(crate) fn text_of(attribute: &str, value: &RawValue) -> Result<Option<String>, Malformed> {
    let text: Option<String> = serde_json::from_str(value.get()).map_err(|_| {
        let shown: String = value.get().chars().take(40).collect();
        Malformed::invalid(attribute, format!("must be a string, not {shown}"))
    })?;
    text.iter().try_for_each(|text| check_text(attribute, text))?;
    Ok(text)
}

/// What holds for every attribute that is a text: something, printable, not too long.
pub(crate) fn check_text(attribute: &str, text: &str) -> Result<(), Malformed> {
    let invalid = |reason: String| Err(Malformed::invalid(attribute, reason));
    if text.is_empty() {
        return invalid("must not be empty".into());
    }
    if text.len() > LONGEST {
        return invalid(format!("is {} bytes long, the limit is {LONGEST}", text.len()));
    }
    match text.chars().find(|c| c.is_control()) {
        Some(control) => invalid(format!("has the control character U+{:04X}", u32::from(control))),
        None => Ok(()),
    }
}

/// What holds for a type: segments, none of them empty.
pub(crate) fn check_type(event_type: &str) -> Result<(), Malformed> {
    check_text("type", event_type)?;
    pattern::check(event_type).map_err(|refused| match refused {
        crate::Error::Invalid { message, .. } => Malformed::invalid("type", message),
        other => Malformed::invalid("type", other.to_string()),
    })
}
