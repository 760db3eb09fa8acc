//! Data and shorthands that the tests share.

use abide::expr::{Env, EvalError, Expr, Value};
use serde_json::{Value as Json, json};

/// An event and what an instance knows.
pub(crate) struct World {
    pub(crate) event: Json,
    pub(crate) context: Json,
    pub(crate) input: Json,
}

impl World {
    /// Everything an expression may ask for.
    pub(crate) fn all(&self) -> Env<'_> {
        self.known().with("event", &self.event)
    }

    /// What is known when a wait registers.
    pub(crate) fn known(&self) -> Env<'_> {
        let workflow =
            Value::object([("id", Value::text("w-1")), ("context", Value::from(&self.context))]);
        Env::new().with("workflow", workflow).with("input", &self.input)
    }

    pub(crate) fn event(payload: &Json) -> Self {
        Self { event: json!({"type": "t", "payload": payload}), ..Self::default() }
    }
}

impl Default for World {
    fn default() -> Self {
        Self { event: json!({}), context: json!({}), input: json!({}) }
    }
}

pub(crate) fn parse(source: &str) -> Expr {
    source.parse().unwrap_or_else(|error| panic!("{source}: {error}"))
}

/// A result in a text that JavaScript can produce as well: kinds, `-0` and `undefined` are told
/// apart, and every failure is `!`.
pub(crate) fn describe(result: &Result<Value<'_>, EvalError>) -> String {
    match result {
        Ok(value) => describe_value(value),
        Err(_) => "!".to_owned(),
    }
}

fn describe_value(value: &Value<'_>) -> String {
    match value {
        Value::Undefined => "undefined".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Number(number) if number.as_f64() == 0.0 && number.as_f64().is_sign_negative() => {
            "n:-0".to_owned()
        }
        Value::Number(number) => format!("n:{number}"),
        Value::String(text) => format!("s:{}", &**text),
        Value::Array(array) => {
            let items: Vec<_> = array.iter().map(|item| describe_value(&item)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(object) => {
            let mut fields: Vec<_> = object
                .iter()
                .map(|(name, value)| format!("{}={}", &*name, describe_value(&value)))
                .collect();
            fields.sort();
            format!("{{{}}}", fields.join(","))
        }
    }
}

/// A seed for one test; `EXPR_SEED` repeats a failure.
pub(crate) fn seed() -> u64 {
    std::env::var("EXPR_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..))
}
