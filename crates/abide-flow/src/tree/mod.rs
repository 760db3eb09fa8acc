//! A document as it is written: values, and where each of them stands.

mod build;
mod scalar;
mod source;

pub(crate) use build::build;
pub(crate) use source::{Lines, Places, Span, Style};

use serde_json::{Number, Value};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) span: Span,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String, Style),
    List(Vec<Tree>),
    Map(Vec<(Key, Tree)>),
}

/// The name of a member and its place.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) span: Span,
}

impl Tree {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text, _) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Tree> {
        match &self.content {
            Content::Map(members) => {
                members.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::Text(..) => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(flag) => Value::Bool(*flag),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text, _) => Value::String(text.clone()),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Map(members) => {
                let member = |(key, value): &(Key, Tree)| (key.name.clone(), value.to_json());
                Value::Object(members.iter().map(member).collect())
            }
        }
    }

    /// The bytes it takes, roughly: what an alias of it costs.
    fn weight(&self) -> usize {
        const NODE: usize = 16;
        NODE + match &self.content {
            Content::Text(text, _) => text.len(),
            Content::List(items) => items.iter().map(Self::weight).sum(),
            Content::Map(members) => {
                members.iter().map(|(key, value)| key.name.len() + value.weight()).sum()
            }
            Content::Null | Content::Bool(_) | Content::Number(_) => 0,
        }
    }

    /// How many lists and maps there are within each other.
    fn height(&self) -> usize {
        match &self.content {
            Content::List(items) => 1 + items.iter().map(Self::height).max().unwrap_or(0),
            Content::Map(members) => {
                1 + members.iter().map(|(_, value)| value.height()).max().unwrap_or(0)
            }
            _ => 0,
        }
    }
}
