//! Texts with expressions in them: `Order ${input.orderId}`.

use super::call;
use super::error::{EvalError, SyntaxError, Warning};
use super::parser::parse_embedded;
use super::scope::{Roots, Scope};
use super::value::Value;
use super::{Expr, check};

/// A text in which `${…}` stands for values; `$${` is a plain `${`.
///
/// When the whole text is one `${…}` its value keeps its type, otherwise values are inserted: as
/// `String(..)` would print them, arrays and objects as JSON.
#[derive(Clone, Debug)]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Expr(Expr),
}

/// Why a template has no value on this data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// Expressions that yield `undefined`, all of them, as they are written.
    #[error("undefined: {}", .expressions.join(", "))]
    Undefined {
        /// Their texts.
        expressions: Vec<String>,
    },
    /// An expression has no value.
    #[error("{expression}: {error}")]
    Failed {
        /// Its text.
        expression: String,
        /// Why.
        error: EvalError,
    },
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// When an expression in it is not one; the position is that in the whole text.
    pub fn parse(source: &str) -> Result<Self, SyntaxError> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut position = 0;
        while let Some(found) = source.get(position..).and_then(|rest| rest.find("${")) {
            let at = position + found;
            text.push_str(source.get(position..at).unwrap_or(""));
            if text.ends_with('$') {
                text.push('{');
                position = at + 2;
                continue;
            }
            let (node, end) = parse_embedded(source, at + 2)?;
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            let written = source.get(at + 2..end - 1).unwrap_or("").trim();
            parts.push(Part::Expr(Expr::new(node, Some(written))));
            position = end;
        }
        text.push_str(source.get(position..).unwrap_or(""));
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self { source: source.to_owned(), parts })
    }

    /// The text it was read from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether there is no `${…}` in it.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.expressions().next().is_none()
    }

    /// The expressions in it, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.parts.iter().filter_map(|part| match part {
            Part::Expr(expr) => Some(expr),
            Part::Text(_) => None,
        })
    }

    /// Checks the names in all expressions. Positions are those in the whole text.
    ///
    /// # Errors
    /// When a root does not exist.
    pub fn check(&self, roots: &Roots) -> Result<Vec<Warning>, SyntaxError> {
        let mut warnings = Vec::new();
        for expr in self.expressions() {
            warnings.extend(check::check(&expr.node, &self.source, roots)?);
        }
        Ok(warnings)
    }

    /// Its value on this data.
    ///
    /// # Errors
    /// When expressions err or yield `undefined`.
    pub fn render<'a, S: Scope>(&'a self, scope: &'a S) -> Result<Value<'a>, TemplateError> {
        let mut undefined = Vec::new();
        let mut values = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let value = match part {
                Part::Text(text) => Value::text(text.as_str()),
                Part::Expr(expr) => {
                    let value = expr.eval(scope).map_err(|error| fail(expr, error))?;
                    if value.is_undefined() {
                        undefined.push(expr.source_text().to_owned());
                    }
                    value
                }
            };
            values.push(value);
        }
        if !undefined.is_empty() {
            return Err(TemplateError::Undefined { expressions: undefined });
        }
        if values.len() == 1 {
            return Ok(values.pop().unwrap_or_default());
        }
        Ok(Value::text(values.iter().map(call::insert).collect::<String>()))
    }
}

fn fail(expr: &Expr, error: EvalError) -> TemplateError {
    TemplateError::Failed { expression: expr.source_text().to_owned(), error }
}
