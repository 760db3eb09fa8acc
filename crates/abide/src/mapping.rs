//! Making values out of an event: what a trigger gives to the instance it starts.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::expr::{Roots, Scope, Template, TemplateError};

/// What is at a dotted path; `null` when nothing is. A number is a place in an array.
pub(crate) fn at_path<'v>(value: &'v Value, path: &str) -> &'v Value {
    let found = path.split('.').try_fold(value, |value, segment| {
        let item = segment.parse::<usize>().ok().and_then(|index| value.get(index));
        item.or_else(|| value.get(segment))
    });
    found.unwrap_or(&Value::Null)
}

/// How one value is made: a plain text is a dotted path in the payload, one with `${…}` is a
/// template, an object is made member by member, anything else stands for itself.
#[derive(Clone, Debug)]
pub(crate) enum Mapping {
    Path(String),
    Template(Template),
    Members(Vec<(String, Mapping)>),
    Literal(Value),
}

impl Mapping {
    /// Reads a mapping whose templates know these names.
    pub(crate) fn parse(written: &Value, roots: &Roots) -> Result<Self> {
        Ok(match written {
            Value::String(text) if text.contains("${") => {
                let template = Template::parse(text).map_err(|refused| invalid(text, &refused))?;
                template.check(roots).map_err(|refused| invalid(text, &refused))?;
                Self::Template(template)
            }
            Value::String(path) => Self::Path(path.clone()),
            Value::Object(members) => {
                let read = |(name, value): (&String, &Value)| {
                    Ok((name.clone(), Self::parse(value, roots)?))
                };
                Self::Members(members.iter().map(read).collect::<Result<_>>()?)
            }
            other => Self::Literal(other.clone()),
        })
    }

    /// The value for an event.
    pub(crate) fn apply<S: Scope>(
        &self,
        payload: &Value,
        event: &S,
    ) -> Result<Value, TemplateError> {
        Ok(match self {
            Self::Path(path) => at_path(payload, path).clone(),
            Self::Template(template) => {
                let rendered = template.render(event)?;
                rendered.to_json().unwrap_or(Value::Null)
            }
            Self::Members(members) => {
                let mut object = Map::with_capacity(members.len());
                for (name, mapping) in members {
                    object.insert(name.clone(), mapping.apply(payload, event)?);
                }
                Value::Object(object)
            }
            Self::Literal(value) => value.clone(),
        })
    }
}

fn invalid(text: &str, refused: &dyn std::fmt::Display) -> Error {
    Error::Invalid { what: "mapping".into(), message: format!("{text:?}: {refused}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::expr::{Env, Shape};

    #[test]
    fn a_mapping_makes_paths_templates_and_literals() {
        let roots = Roots::new().with("event", Shape::Any);
        let written = json!({
            "id": "order.id", "first": "items.0", "missing": "no.such", "n": 1, "list": ["order.id"],
            "text": "Order ${event.payload.order.id}", "whole": "${event.payload.items}",
            "nested": {"id": "order.id"}
        });
        let mapping = Mapping::parse(&written, &roots).unwrap();
        let event = json!({"payload": {"order": {"id": 7}, "items": ["a", "b"]}});
        let made = mapping.apply(&event["payload"], &Env::new().with("event", &event)).unwrap();
        let expect = json!({
            "id": 7, "first": "a", "missing": null, "n": 1, "list": ["order.id"],
            "text": "Order 7", "whole": ["a", "b"], "nested": {"id": 7}
        });
        assert_eq!(made, expect);
    }

    #[test]
    fn a_template_that_is_none_is_refused_and_one_without_a_value_fails() {
        let roots = Roots::new().with("event", Shape::Any);
        assert!(Mapping::parse(&json!({"a": "${event.}"}), &roots).is_err());
        assert!(Mapping::parse(&json!("${evnt.payload}"), &roots).is_err());
        let mapping = Mapping::parse(&json!("${event.payload.x}"), &roots).unwrap();
        let event = json!({"payload": {}});
        assert!(mapping.apply(&event["payload"], &Env::new().with("event", &event)).is_err());
    }
}
