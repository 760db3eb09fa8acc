//! Equality keys: a canonical text per value, fit for an index column.

use std::fmt;

use super::value::Value;

/// A value as an index sees it: `s:text`, `n:123`, `b:true`, `z` for null.
///
/// Two values have the same key exactly when `===` holds between them. Not every value has one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

/// The longest string that becomes a key, in bytes. Longer ones are compared, not looked up.
const LONGEST: usize = 512;

impl Key {
    /// The key of a value; `None` for `undefined`, `NaN`, arrays and objects, for long strings and
    /// for strings with a NUL, which not every database can store.
    #[must_use]
    pub fn of(value: &Value<'_>) -> Option<Self> {
        Some(Self(match value {
            Value::Null => "z".to_owned(),
            Value::Bool(bool) => format!("b:{bool}"),
            // `-0` prints as `0`, to which it is equal.
            Value::Number(number) if !number.is_nan() => format!("n:{number}"),
            Value::String(text) if text.len() <= LONGEST && !text.contains('\0') => {
                format!("s:{}", &**text)
            }
            _ => return None,
        }))
    }

    /// The text to be stored and compared bytewise.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key of a JSON value.
#[must_use]
pub fn key_of(value: &serde_json::Value) -> Option<Key> {
    Key::of(&Value::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_one_key() {
        let check = |json: &str, expect: Option<&str>| {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!(key_of(&value).as_ref().map(Key::as_str), expect, "{json}");
        };
        check("1", Some("n:1"));
        check("1.0", Some("n:1"));
        check("1e0", Some("n:1"));
        check("-0.0", Some("n:0"));
        check("1.5", Some("n:1.5"));
        check("9007199254740993", Some("n:9007199254740993"));
        check("18446744073709551615", Some("n:18446744073709551615"));
        check("1e300", Some("n:1e+300"));
        check("\"1\"", Some("s:1"));
        check("\"\"", Some("s:"));
        check("true", Some("b:true"));
        check("null", Some("z"));
        check("[1]", None);
        check("{}", None);
        check(r#""\u0000""#, None);
        assert_eq!(key_of(&"x".repeat(513).into()), None);
    }
}
