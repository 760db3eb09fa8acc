//! What methods and functions do.

use super::date;
use super::error::EvalError;
use super::eval::Machine;
use super::function::{Function, Method};
use super::number::Number;
use super::scope::Scope;
use super::text::{self, Text};
use super::tree::Node;
use super::value::{Array, Value};

impl<'a, S: Scope> Machine<'a, S> {
    /// A method without an arrow function.
    pub(super) fn call(
        &mut self,
        object: &Node,
        value: &Value<'a>,
        method: Method,
        argument: Option<&'a Node>,
    ) -> Result<Value<'a>, EvalError> {
        let argument = argument.map(|node| self.eval(node)).transpose()?.unwrap_or_default();
        match value {
            Value::Array(array) if method == Method::Includes => {
                self.includes(array, &argument).map(Value::Bool)
            }
            Value::String(text) => self.call_text(object, text, method, &argument),
            _ => Err(no_method(object, method, value)),
        }
    }

    fn call_text(
        &mut self,
        object: &Node,
        text: &Text<'a>,
        method: Method,
        argument: &Value<'a>,
    ) -> Result<Value<'a>, EvalError> {
        self.work.charge_text(text)?;
        Ok(match method {
            Method::Includes => Value::Bool(text.contains(&*self.work.text(argument)?)),
            Method::StartsWith => Value::Bool(text.starts_with(&*self.work.text(argument)?)),
            Method::EndsWith => Value::Bool(text.ends_with(&*self.work.text(argument)?)),
            Method::ToLowerCase => Value::text(text.to_lowercase()),
            Method::ToUpperCase => Value::text(text.to_uppercase()),
            Method::Trim => Value::String(match text {
                Text::Borrowed(text) => text::trim(text).into(),
                Text::Shared(text) => text::trim(text).to_owned().into(),
            }),
            Method::Some | Method::Every => {
                return Err(no_method(object, method, &Value::String(text.clone())));
            }
        })
    }

    /// Like `===` with each item, except that `NaN` is found.
    fn includes(&mut self, array: &Array<'a>, wanted: &Value<'a>) -> Result<bool, EvalError> {
        let nan = |value: &Value<'_>| matches!(value, Value::Number(number) if number.is_nan());
        for item in array.iter() {
            self.work.charge(1)?;
            if self.work.equal(&item, wanted)? || (nan(&item) && nan(wanted)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `some` and `every`.
    pub(super) fn quantify(
        &mut self,
        object: &Node,
        value: &Value<'a>,
        method: Method,
        parameters: usize,
        body: &'a Node,
    ) -> Result<Value<'a>, EvalError> {
        let Value::Array(array) = value else { return Err(no_method(object, method, value)) };
        let decisive = method == Method::Some;
        let outer = self.locals.len();
        for (place, item) in array.iter().enumerate() {
            self.locals.push(item);
            if parameters > 1 {
                self.locals.push(Value::Number(place.into()));
            }
            let held = self.eval(body);
            self.locals.truncate(outer);
            if held?.is_truthy() == decisive {
                return Ok(Value::Bool(decisive));
            }
        }
        Ok(Value::Bool(!decisive))
    }

    pub(super) fn function(
        &mut self,
        function: Function,
        arguments: &'a [Node],
    ) -> Result<Value<'a>, EvalError> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.eval(argument)?);
        }
        let first = values.first().unwrap_or(&Value::Undefined);
        match function {
            Function::String => self.work.text(first).map(Value::String),
            Function::Boolean => Ok(Value::Bool(first.is_truthy())),
            Function::DateParse => {
                let text = self.work.text(first)?;
                Ok(Value::Number(date::parse(&text).map_or(Number::NAN, Number::from)))
            }
            function => {
                let numbers: Result<Vec<_>, _> =
                    values.iter().map(|value| self.work.number(value)).collect();
                Ok(Value::Number(calculate(function, &numbers?)))
            }
        }
    }
}

fn calculate(function: Function, numbers: &[Number]) -> Number {
    let first = numbers.first().copied().unwrap_or(Number::NAN);
    let second = numbers.get(1).copied().unwrap_or(Number::NAN);
    match function {
        Function::Abs => first.abs(),
        Function::Ceil => first.rounded(f64::ceil),
        Function::Floor => first.rounded(f64::floor),
        Function::Trunc => first.rounded(f64::trunc),
        Function::Round => first.rounded(round),
        Function::Sign => sign(first),
        Function::Sqrt => Number::from(first.as_f64().sqrt()),
        Function::Pow => first.power(second),
        Function::Max => extreme(numbers, f64::NEG_INFINITY, |a, b| a > b),
        Function::Min => extreme(numbers, f64::INFINITY, |a, b| a < b),
        Function::Number | Function::String | Function::Boolean | Function::DateParse => first,
    }
}

/// Halves go up, also below zero.
fn round(float: f64) -> f64 {
    let floor = float.floor();
    let rounded = if float - floor >= 0.5 { floor + 1.0 } else { floor };
    rounded.copysign(float)
}

fn sign(number: Number) -> Number {
    match number.compare(Number::ZERO) {
        Some(std::cmp::Ordering::Less) => Number::from(-1_i64),
        Some(std::cmp::Ordering::Greater) => Number::from(1_i64),
        // Zero keeps its sign, and NaN is itself.
        _ => number,
    }
}

fn extreme(numbers: &[Number], none: f64, beats: fn(i8, i8) -> bool) -> Number {
    let mut best = Number::from(none);
    for number in numbers {
        let Some(ordering) = number.compare(best) else { return Number::NAN };
        // `0` counts as more than `-0`.
        let zeros = i8::from(best.is_negative()) - i8::from(number.is_negative());
        let difference = if ordering.is_eq() { zeros } else { ordering as i8 };
        if beats(difference, 0) {
            best = *number;
        }
    }
    best
}

fn no_method(object: &Node, method: Method, value: &Value<'_>) -> EvalError {
    EvalError::NoMethod { text: object.to_string().into(), method, kind: value.kind() }
}

/// A value as the text that a template inserts: like `String(..)`, with arrays and objects as JSON.
pub(super) fn insert(value: &Value<'_>) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.to_string(),
        value => value.to_json().unwrap_or_default().to_string(),
    }
}
