//! JavaScript's conversions and comparisons, within a bound of work.

use std::cmp::Ordering;

use super::error::EvalError;
use super::number::Number;
use super::text::{self, Text};
use super::value::{Array, Object, Value};

/// Steps an evaluation may take: about one per part, item, field and 64 bytes of text.
pub(crate) const WORK: u32 = 1_000_000;

/// How deep a value is followed when it is compared or turned into text.
pub(crate) const DEPTH: usize = 128;

/// What is left of the allowed steps.
pub(crate) struct Work(u32);

impl Work {
    pub(crate) fn new() -> Self {
        Self(WORK)
    }

    #[inline]
    pub(crate) fn charge(&mut self, steps: usize) -> Result<(), EvalError> {
        match u32::try_from(steps).ok().and_then(|steps| self.0.checked_sub(steps)) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                self.0 = 0;
                Err(EvalError::TooMuchWork { limit: WORK })
            }
        }
    }

    pub(crate) fn charge_text(&mut self, text: &str) -> Result<(), EvalError> {
        self.charge(text.len() / 64)
    }

    /// `===`.
    ///
    /// Arrays and objects are equal when their contents are: identity would not survive storing.
    pub(crate) fn equal(&mut self, a: &Value<'_>, b: &Value<'_>) -> Result<bool, EvalError> {
        self.equal_within(a, b, DEPTH)
    }

    fn equal_within(
        &mut self,
        a: &Value<'_>,
        b: &Value<'_>,
        depth: usize,
    ) -> Result<bool, EvalError> {
        Ok(match (a, b) {
            (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a.equals(*b),
            (Value::String(a), Value::String(b)) => **a == **b,
            (Value::Array(a), Value::Array(b)) => self.equal_arrays(a, b, below(depth)?)?,
            (Value::Object(a), Value::Object(b)) => self.equal_objects(a, b, below(depth)?)?,
            _ => false,
        })
    }

    fn equal_arrays(
        &mut self,
        a: &Array<'_>,
        b: &Array<'_>,
        depth: usize,
    ) -> Result<bool, EvalError> {
        if a.len() != b.len() {
            return Ok(false);
        }
        for (a, b) in a.iter().zip(b.iter()) {
            self.charge(1)?;
            if !self.equal_within(&a, &b, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn equal_objects(
        &mut self,
        a: &Object<'_>,
        b: &Object<'_>,
        depth: usize,
    ) -> Result<bool, EvalError> {
        if a.len() != b.len() {
            return Ok(false);
        }
        for (name, a) in a.iter() {
            self.charge(1)?;
            let Some(b) = b.get(&name) else { return Ok(false) };
            if !self.equal_within(&a, &b, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `==`.
    pub(crate) fn loosely_equal(
        &mut self,
        a: &Value<'_>,
        b: &Value<'_>,
    ) -> Result<bool, EvalError> {
        if a.kind() == b.kind() {
            return self.equal(a, b);
        }
        if a.is_nullish() || b.is_nullish() {
            return Ok(a.is_nullish() && b.is_nullish());
        }
        if !a.is_scalar() && !b.is_scalar() {
            return Ok(false);
        }
        let (a, b) = (self.primitive(a)?, self.primitive(b)?);
        match (&a, &b) {
            (Value::String(a), Value::String(b)) => Ok(**a == **b),
            _ => Ok(self.number(&a)?.equals(self.number(&b)?)),
        }
    }

    /// The order that `<` and its kin go by; `None` when there is none.
    pub(crate) fn order(
        &mut self,
        a: &Value<'_>,
        b: &Value<'_>,
    ) -> Result<Option<Ordering>, EvalError> {
        if let (Value::Number(a), Value::Number(b)) = (a, b) {
            return Ok(a.compare(*b));
        }
        let (a, b) = (self.primitive(a)?, self.primitive(b)?);
        match (&a, &b) {
            (Value::String(a), Value::String(b)) => {
                self.charge_text(a)?;
                Ok(Some(text::compare(a, b)))
            }
            _ => Ok(self.number(&a)?.compare(self.number(&b)?)),
        }
    }

    /// Arrays and objects become text, everything else stays.
    pub(crate) fn primitive<'a>(&mut self, value: &Value<'a>) -> Result<Value<'a>, EvalError> {
        match value {
            Value::Array(_) | Value::Object(_) => Ok(Value::String(self.text(value)?)),
            scalar => Ok(scalar.clone()),
        }
    }

    /// `Number(..)`.
    pub(crate) fn number(&mut self, value: &Value<'_>) -> Result<Number, EvalError> {
        Ok(match value {
            Value::Undefined => Number::NAN,
            Value::Null => Number::ZERO,
            Value::Bool(bool) => Number::from(i64::from(*bool)),
            Value::Number(number) => *number,
            Value::String(text) => {
                self.charge_text(text)?;
                Number::from_text(text)
            }
            Value::Array(_) | Value::Object(_) => Number::from_text(&self.text(value)?),
        })
    }

    /// `String(..)`.
    pub(crate) fn text<'a>(&mut self, value: &Value<'a>) -> Result<Text<'a>, EvalError> {
        Ok(match value {
            Value::Undefined => "undefined".into(),
            Value::Null => "null".into(),
            Value::Bool(true) => "true".into(),
            Value::Bool(false) => "false".into(),
            Value::Number(number) => number.to_string().into(),
            Value::String(text) => text.clone(),
            Value::Object(_) => "[object Object]".into(),
            Value::Array(array) => {
                let mut joined = String::new();
                self.join(array, &mut joined, DEPTH)?;
                joined.into()
            }
        })
    }

    fn join(
        &mut self,
        array: &Array<'_>,
        joined: &mut String,
        depth: usize,
    ) -> Result<(), EvalError> {
        let depth = below(depth)?;
        for (place, item) in array.iter().enumerate() {
            self.charge(1)?;
            if place > 0 {
                joined.push(',');
            }
            match &item {
                Value::Undefined | Value::Null => {}
                Value::Array(inner) => self.join(inner, joined, depth)?,
                scalar => {
                    let text = self.text(scalar)?;
                    self.charge_text(&text)?;
                    joined.push_str(&text);
                }
            }
        }
        Ok(())
    }
}

fn below(depth: usize) -> Result<usize, EvalError> {
    depth.checked_sub(1).ok_or(EvalError::TooDeep { limit: DEPTH })
}
