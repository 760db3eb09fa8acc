//! Values in which `${…}` stands for what is known when a step runs.

use abide::expr::{Roots, Scope, SyntaxError, Template, TemplateError};
use serde_json::{Map, Value};

/// A JSON value whose texts may be templates. A text that is one `${…}` keeps the type of its value.
#[derive(Clone, Debug)]
pub enum Field {
    /// Nothing in it is a template.
    Constant(Value),
    /// A text with `${…}` in it.
    Template(Template),
    /// An array.
    Items(Vec<Field>),
    /// An object.
    Members(Vec<(String, Field)>),
}

/// An expression that has no value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The expression, as it is written.
    pub expression: String,
    /// The field: `body.order`.
    pub field: String,
    /// Why, when it is not just `undefined`.
    pub error: Option<String>,
}

impl Field {
    /// Reads a value.
    ///
    /// # Errors
    /// The first template in it that is none, with the path to it.
    pub fn parse(value: &Value) -> Result<Self, (String, SyntaxError)> {
        Self::parse_at(value, "")
    }

    fn parse_at(value: &Value, path: &str) -> Result<Self, (String, SyntaxError)> {
        Ok(match value {
            Value::String(text) if text.contains("${") => {
                Self::Template(Template::parse(text).map_err(|error| (path.to_owned(), error))?)
            }
            Value::Array(items) => {
                let read = |(place, item): (usize, &Value)| {
                    Self::parse_at(item, &join(path, &place.to_string()))
                };
                let items = items.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
                if items.iter().all(Self::is_constant) {
                    return Ok(Self::Constant(value.clone()));
                }
                Self::Items(items)
            }
            Value::Object(members) => {
                let read = |(name, member): (&String, &Value)| {
                    Ok((name.clone(), Self::parse_at(member, &join(path, name))?))
                };
                let members = members.iter().map(read).collect::<Result<Vec<_>, _>>()?;
                if members.iter().all(|(_, member)| member.is_constant()) {
                    return Ok(Self::Constant(value.clone()));
                }
                Self::Members(members)
            }
            plain => Self::Constant(plain.clone()),
        })
    }

    /// Whether it is the same for everybody.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    /// The templates in it, each with the path to it.
    pub fn templates<'f>(&'f self, at: &str, found: &mut dyn FnMut(&str, &'f Template)) {
        match self {
            Self::Constant(_) => {}
            Self::Template(template) => found(at, template),
            Self::Items(items) => {
                for (place, item) in items.iter().enumerate() {
                    item.templates(&join(at, &place.to_string()), found);
                }
            }
            Self::Members(members) => {
                members.iter().for_each(|(name, member)| member.templates(&join(at, name), found));
            }
        }
    }

    /// Checks that the names in it are known.
    ///
    /// # Errors
    /// The first that is not, with the path to it.
    pub fn check(&self, roots: &Roots) -> Result<(), (String, SyntaxError)> {
        let mut wrong = None;
        self.templates("", &mut |path, template| {
            if let (None, Err(error)) = (&wrong, template.check(roots)) {
                wrong = Some((path.to_owned(), error));
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    /// Its value, on what is known. `at` names the field for the errors.
    ///
    /// # Errors
    /// Every expression in it that has no value.
    pub fn render<S: Scope>(&self, at: &str, known: &S) -> Result<Value, Vec<Unresolved>> {
        let mut unresolved = Vec::new();
        let value = self.fill(at, known, &mut unresolved);
        if unresolved.is_empty() { Ok(value) } else { Err(unresolved) }
    }

    fn fill<S: Scope>(&self, at: &str, known: &S, missing: &mut Vec<Unresolved>) -> Value {
        match self {
            Self::Constant(value) => value.clone(),
            Self::Template(template) => match template.render(known) {
                Ok(value) => value.to_json().unwrap_or(Value::Null),
                Err(error) => {
                    note(at, error, missing);
                    Value::Null
                }
            },
            Self::Items(items) => {
                let fill = |(place, item): (usize, &Self)| {
                    item.fill(&join(at, &place.to_string()), known, missing)
                };
                Value::Array(items.iter().enumerate().map(fill).collect())
            }
            Self::Members(members) => {
                let mut object = Map::with_capacity(members.len());
                for (name, member) in members {
                    object.insert(name.clone(), member.fill(&join(at, name), known, missing));
                }
                Value::Object(object)
            }
        }
    }
}

fn note(at: &str, error: TemplateError, missing: &mut Vec<Unresolved>) {
    let mut add = |expression: String, error: Option<String>| {
        missing.push(Unresolved { expression, field: at.to_owned(), error });
    };
    match error {
        TemplateError::Undefined { expressions } => {
            expressions.into_iter().for_each(|expression| add(expression, None));
        }
        TemplateError::Failed { expression, error } => add(expression, Some(error.to_string())),
        other => add(String::new(), Some(other.to_string())),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl From<Value> for Field {
    /// A value that is taken as it is, `${…}` included.
    fn from(value: Value) -> Self {
        Self::Constant(value)
    }
}

#[cfg(test)]
mod tests {
    use abide::expr::Env;
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_keep_their_type_alone_and_are_inserted_in_text() {
        let field = Field::parse(&json!({
            "whole": "${input.n}", "text": "n = ${input.n}", "deep": [1, {"x": "${input.list}"}], "plain": true
        }));
        let input = json!({"n": 7, "list": [1, 2]});
        let value = field.unwrap().render("body", &Env::new().with("input", &input)).unwrap();
        let expect =
            json!({"whole": 7, "text": "n = 7", "deep": [1, {"x": [1, 2]}], "plain": true});
        assert_eq!(value, expect);
    }

    #[test]
    fn everything_without_a_value_is_listed_with_its_place() {
        let field = Field::parse(&json!({"a": "${input.x}", "b": ["${input.y} and ${input.z}"]}));
        let input = json!({});
        let missing = field.unwrap().render("body", &Env::new().with("input", &input)).unwrap_err();
        let told: Vec<_> =
            missing.iter().map(|one| (one.field.as_str(), one.expression.as_str())).collect();
        assert_eq!(told, [("body.a", "input.x"), ("body.b.0", "input.y"), ("body.b.0", "input.z")]);
    }
}
