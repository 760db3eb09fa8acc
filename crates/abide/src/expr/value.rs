//! Values while an expression is evaluated: JSON by reference, and `undefined` beside `null`.
//!
//! Nothing is copied to look at it. Arrays and objects are borrowed from the data or from the
//! expression, or shared when evaluation made them; cloning a value never copies what is inside.

use std::sync::Arc;

use serde_json::Value as Json;

use super::number::Number;
use super::path::Segment;
use super::text::{self, Text};

/// What an expression yields.
///
/// `==` on this type compares structure and tells `0` from `-0`; what the language calls equal
/// is in the expressions.
#[derive(Clone, Debug, Default)]
pub enum Value<'a> {
    /// Absent: a missing field, or the literal.
    #[default]
    Undefined,
    /// JSON's `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, integers exact.
    Number(Number),
    /// A text.
    String(Text<'a>),
    /// An array.
    Array(Array<'a>),
    /// An object.
    Object(Object<'a>),
}

/// An array and where it lives.
#[derive(Clone, Debug)]
pub enum Array<'a> {
    /// In the data.
    Json(&'a [Json]),
    /// In an expression or an environment.
    Items(&'a [Value<'a>]),
    /// Made while evaluating.
    Shared(Arc<[Value<'a>]>),
}

/// A field of an object that is not JSON.
pub type Field<'a> = (Text<'a>, Value<'a>);

/// An object and where it lives.
#[derive(Clone, Debug)]
pub enum Object<'a> {
    /// In the data.
    Json(&'a serde_json::Map<String, Json>),
    /// In an expression or an environment.
    Fields(&'a [Field<'a>]),
    /// Made while evaluating.
    Shared(Arc<[Field<'a>]>),
}

impl<'a> Value<'a> {
    /// A text.
    pub fn text(text: impl Into<Text<'a>>) -> Self {
        Self::String(text.into())
    }

    /// An object of named parts that live in different places, such as an event's envelope and
    /// its payload. Of two fields with one name the later counts.
    pub fn object<N: Into<Text<'a>>>(fields: impl IntoIterator<Item = (N, Value<'a>)>) -> Self {
        let mut unique: Vec<Field<'a>> = Vec::new();
        for (name, value) in fields {
            let name = name.into();
            match unique.iter_mut().find(|(known, _)| *known == name) {
                Some(field) => field.1 = value,
                None => unique.push((name, value)),
            }
        }
        Self::Object(Object::Shared(unique.into()))
    }

    /// An array of values.
    pub fn array(items: impl IntoIterator<Item = Value<'a>>) -> Self {
        Self::Array(Array::Shared(items.into_iter().collect()))
    }

    /// The same value, borrowed for as long as this one.
    #[must_use]
    #[inline]
    pub fn reborrow(&self) -> Value<'_> {
        match self {
            Self::Undefined => Value::Undefined,
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => Value::Number(*number),
            Self::String(text) => Value::String(text.reborrow()),
            Self::Array(array) => Value::Array(match array {
                Array::Json(items) => Array::Json(items),
                Array::Items(items) => Array::Items(items),
                Array::Shared(items) => Array::Items(items),
            }),
            Self::Object(object) => Value::Object(match object {
                Object::Json(map) => Object::Json(map),
                Object::Fields(fields) => Object::Fields(fields),
                Object::Shared(fields) => Object::Fields(fields),
            }),
        }
    }

    /// Whether it counts as true.
    #[must_use]
    #[inline]
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(bool) => *bool,
            Self::Number(number) => number.is_truthy(),
            Self::String(text) => !text.is_empty(),
            Self::Array(_) | Self::Object(_) => true,
        }
    }

    /// Whether it is `undefined`.
    #[must_use]
    pub fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined)
    }

    pub(crate) fn is_nullish(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// What a path leads to from here.
    ///
    /// Almost everything is JSON, where references are followed without making values of them.
    #[inline]
    pub(crate) fn descend(self, segments: &[Segment]) -> Value<'a> {
        match (self, segments.split_first()) {
            (value, None) => value,
            (Self::Object(Object::Json(map)), Some((first, rest))) => match map.get(first.name()) {
                Some(json) => descend_json(json, rest),
                None => Value::Undefined,
            },
            (value, Some((first, rest))) => value.member(first).descend(rest),
        }
    }

    /// The field, item or character of that name; `undefined` when there is none.
    pub(crate) fn member(self, segment: &Segment) -> Value<'a> {
        let found = match self {
            Self::Object(object) => object.get(segment.name()),
            Self::Array(array) => match segment.index() {
                Some(index) => array.get(index),
                None => (segment.name() == "length").then(|| Value::Number(array.len().into())),
            },
            Self::String(text) => match segment.index() {
                Some(index) => character(text, index),
                None => {
                    (segment.name() == "length").then(|| Value::Number(text::length(&text).into()))
                }
            },
            _ => None,
        };
        found.unwrap_or_default()
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Undefined => Kind::Undefined,
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Number(_) => Kind::Number,
            Self::String(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
        }
    }

    /// As JSON, by the rules of `JSON.stringify`: `None` for `undefined`, which is left out of
    /// objects and `null` in arrays; `NaN` and infinities are `null`.
    #[must_use]
    pub fn to_json(&self) -> Option<Json> {
        Some(match self {
            Self::Undefined => return None,
            Self::Null => Json::Null,
            Self::Bool(bool) => Json::Bool(*bool),
            Self::Number(number) => number.to_json(),
            Self::String(text) => Json::String(text.to_string()),
            Self::Array(Array::Json(items)) => Json::Array(items.to_vec()),
            Self::Array(array) => {
                array.iter().map(|item| item.to_json().unwrap_or_default()).collect()
            }
            Self::Object(Object::Json(map)) => Json::Object((*map).clone()),
            Self::Object(object) => Json::Object(
                object
                    .iter()
                    .filter_map(|(name, value)| Some((name.to_string(), value.to_json()?)))
                    .collect(),
            ),
        })
    }

    /// A copy that borrows nothing, nested at most `depth` deep and printing to at most `room`
    /// bytes, which are then used up.
    pub(crate) fn to_static(
        &self,
        depth: usize,
        room: &mut usize,
    ) -> Result<Value<'static>, Unfit> {
        // No number prints longer than this with what separates it from the next.
        spend(room, 32)?;
        let depth = depth.checked_sub(1).ok_or(Unfit::TooDeep)?;
        Ok(match self {
            Self::Undefined => Value::Undefined,
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => Value::Number(*number),
            Self::String(text) => {
                spend(room, text.len() * LONGEST_ESCAPE)?;
                Value::String(text.clone().into_owned())
            }
            Self::Array(array) => {
                let items: Result<Vec<_>, _> =
                    array.iter().map(|item| item.to_static(depth, room)).collect();
                Value::array(items?)
            }
            Self::Object(object) => {
                let mut fields = Vec::with_capacity(object.len());
                for (name, value) in object.iter() {
                    spend(room, name.len() * LONGEST_ESCAPE)?;
                    fields.push((name.into_owned(), value.to_static(depth, room)?));
                }
                Value::Object(Object::Shared(fields.into()))
            }
        })
    }
}

/// Why a value can't become part of an expression.
pub(crate) enum Unfit {
    TooDeep,
    TooLarge,
}

/// `\u0001` for one byte.
const LONGEST_ESCAPE: usize = 6;

fn spend(room: &mut usize, bytes: usize) -> Result<(), Unfit> {
    *room = room.checked_sub(bytes).ok_or(Unfit::TooLarge)?;
    Ok(())
}

fn descend_json<'a>(mut json: &'a Json, segments: &[Segment]) -> Value<'a> {
    for (place, segment) in segments.iter().enumerate() {
        let next = match json {
            Json::Object(map) => map.get(segment.name()),
            Json::Array(items) if segment.index().is_some() => {
                segment.index().and_then(|index| items.get(index))
            }
            other => {
                let rest = segments.get(place..).unwrap_or_default();
                return rest.iter().fold(Value::from(other), Value::member);
            }
        };
        match next {
            Some(next) => json = next,
            None => return Value::Undefined,
        }
    }
    Value::from(json)
}

fn character<'a>(text: Text<'a>, index: usize) -> Option<Value<'a>> {
    Some(Value::String(match text {
        Text::Borrowed(text) => text::at(text, index)?,
        Text::Shared(text) => text::at(&text, index)?.into_owned(),
    }))
}

impl<'a> From<&'a Json> for Value<'a> {
    #[inline]
    fn from(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(bool) => Self::Bool(*bool),
            Json::Number(number) => Self::Number(number.into()),
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(items) => Self::Array(Array::Json(items)),
            Json::Object(map) => Self::Object(Object::Json(map)),
        }
    }
}

impl<'a> Array<'a> {
    /// How many items.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Items(items) => items.len(),
            Self::Shared(items) => items.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at a position.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(items) => items.get(index).map(Value::from),
            Self::Items(items) => items.get(index).map(Value::reborrow),
            Self::Shared(items) => items.get(index).cloned(),
        }
    }

    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        (0..self.len()).map_while(|index| self.get(index))
    }
}

impl<'a> Object<'a> {
    /// How many fields.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(map) => map.len(),
            Self::Fields(fields) => fields.len(),
            Self::Shared(fields) => fields.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Json(map) => map.get(name).map(Value::from),
            Self::Fields(fields) => {
                fields.iter().find(|(field, _)| **field == *name).map(|(_, value)| value.reborrow())
            }
            Self::Shared(fields) => {
                fields.iter().find(|(field, _)| **field == *name).map(|(_, value)| value.clone())
            }
        }
    }

    /// The fields in order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = Field<'a>> + '_> {
        match self {
            Self::Json(map) => {
                Box::new(map.iter().map(|(name, json)| (name.as_str().into(), json.into())))
            }
            Self::Fields(fields) => {
                Box::new(fields.iter().map(|(name, value)| (name.reborrow(), value.reborrow())))
            }
            Self::Shared(fields) => Box::new(fields.iter().cloned()),
        }
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a.iter().eq(b.iter()),
            (Self::Object(a), Self::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(name, value)| b.get(&name) == Some(value))
            }
            _ => false,
        }
    }
}

/// The kinds of values, as messages name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A boolean.
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}
