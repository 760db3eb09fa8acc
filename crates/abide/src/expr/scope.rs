//! Where names get their values, and which names there are.

use std::collections::BTreeMap;

use super::value::Value;

/// Gives the roots of expressions their values.
///
/// `None` means "not known now": evaluation refuses it, folding leaves it for later. A root that
/// is known and empty is `Some(Value::Undefined)`.
pub trait Scope {
    /// The value of a root such as `event`.
    fn root(&self, name: &str) -> Option<Value<'_>>;
}

/// A scope that is filled by hand.
///
/// ```
/// use abide::expr::{Env, Expr, Value};
/// let context = serde_json::json!({"orderId": "o-17"});
/// let env = Env::new()
///     .with("workflow", Value::object([("id", Value::text("w-1")), ("context", (&context).into())]));
/// let expr: Expr = "workflow.context.orderId".parse().unwrap();
/// assert_eq!(expr.eval(&env).unwrap(), Value::text("o-17"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Env<'a> {
    /// Few, so a scan beats a map.
    roots: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Env<'a> {
    /// Knows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also knows this root; of two with one name the first counts.
    #[must_use]
    pub fn with(mut self, name: &'a str, value: impl Into<Value<'a>>) -> Self {
        self.roots.push((name, value.into()));
        self
    }
}

impl Scope for Env<'_> {
    #[inline]
    fn root(&self, name: &str) -> Option<Value<'_>> {
        self.roots.iter().find(|(root, _)| *root == name).map(|(_, value)| value.reborrow())
    }
}

/// The names that exist in some place, for the static check.
#[derive(Clone, Debug, Default)]
pub struct Roots(pub(crate) BTreeMap<String, Shape>);

/// What is known about the fields of a value before there is one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// Anything: a payload, an output.
    Any,
    /// Exactly these fields.
    Fields(BTreeMap<String, Shape>),
    /// Any names, each with this shape.
    Each(Box<Shape>),
}

impl Shape {
    /// Exactly these fields, of which nothing more is known.
    #[must_use]
    pub fn fields<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self::Fields(names.into_iter().map(|name| (name.to_owned(), Self::Any)).collect())
    }
}

impl Roots {
    /// Knows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What filters and conditions know: `event`, `workflow`, `input` and `steps`.
    #[must_use]
    pub fn filter() -> Self {
        let event = ["id", "type", "payload", "source", "time", "subject", "correlationId", "seq"];
        Self::new()
            .with("event", Shape::fields(event))
            .with("workflow", Shape::fields(["id", "context"]))
            .with("input", Shape::Any)
            .with("steps", Shape::Each(Box::new(Shape::fields(["output", "error"]))))
    }

    /// Also knows this root, or knows it better.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, shape: Shape) -> Self {
        self.0.insert(name.into(), shape);
        self
    }
}
