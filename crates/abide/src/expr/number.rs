//! Numbers: JavaScript's, except that integers stay exact over the range of `i64` and `u64`.
//!
//! JavaScript has only doubles, so two order ids above 2^53 may be "equal". Here a number that is
//! an integer within the range is always kept as one, whichever way it was written (`1`, `1.0`,
//! `1e0`), so equal in value means equal in representation. Results that leave the range, and
//! everything with a fraction, are doubles as in JavaScript.

use std::cmp::Ordering;
use std::fmt;

const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// A number of the expression language.
///
/// `==` on this type is JavaScript's `Object.is`: `NaN` is itself, `0` is not `-0`. What the
/// language calls equal is [`Number::compare`].
#[derive(Clone, Copy, Debug)]
pub struct Number(Repr);

#[derive(Clone, Copy, Debug)]
enum Repr {
    Int(i64),
    /// Above `i64::MAX` only.
    Big(u64),
    /// A fraction, `-0`, out of the integer range, infinite or `NaN`.
    Float(f64),
}

impl Number {
    pub(crate) const NAN: Self = Self(Repr::Float(f64::NAN));
    pub(crate) const ZERO: Self = Self(Repr::Int(0));

    fn from_i128(value: i128) -> Self {
        if let Ok(int) = i64::try_from(value) {
            Self(Repr::Int(int))
        } else if let Ok(big) = u64::try_from(value) {
            Self(Repr::Big(big))
        } else {
            Self(Repr::Float(value as f64))
        }
    }

    /// The exact integer, if it is one.
    fn integer(self) -> Option<i128> {
        match self.0 {
            Repr::Int(int) => Some(i128::from(int)),
            Repr::Big(big) => Some(i128::from(big)),
            Repr::Float(_) => None,
        }
    }

    /// The nearest double.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Repr::Int(int) => int as f64,
            Repr::Big(big) => big as f64,
            Repr::Float(float) => float,
        }
    }

    /// As a position in an array, if it can be one.
    pub(crate) fn as_index(self) -> Option<usize> {
        match self.0 {
            Repr::Int(int) => usize::try_from(int).ok(),
            Repr::Big(_) | Repr::Float(_) => None,
        }
    }

    pub(crate) fn is_nan(self) -> bool {
        matches!(self.0, Repr::Float(float) if float.is_nan())
    }

    pub(crate) fn is_negative(self) -> bool {
        self.as_f64().is_sign_negative() && !self.is_nan()
    }

    /// Neither zero nor `NaN`.
    pub(crate) fn is_truthy(self) -> bool {
        match self.0 {
            Repr::Int(int) => int != 0,
            Repr::Big(_) => true,
            Repr::Float(float) => float != 0.0 && !float.is_nan(),
        }
    }

    /// By exact value; `None` when either is `NaN`. `0` and `-0` are equal.
    #[must_use]
    pub fn compare(self, other: Self) -> Option<Ordering> {
        match (self.0, other.0) {
            (Repr::Int(a), Repr::Int(b)) => Some(a.cmp(&b)),
            (Repr::Float(a), Repr::Float(b)) => a.partial_cmp(&b),
            (Repr::Float(a), _) => compare_to_float(other, a).map(Ordering::reverse),
            (_, Repr::Float(b)) => compare_to_float(self, b),
            _ => Some(self.integer().cmp(&other.integer())),
        }
    }

    pub(crate) fn equals(self, other: Self) -> bool {
        self.compare(other) == Some(Ordering::Equal)
    }

    pub(crate) fn add(self, other: Self) -> Self {
        self.arithmetic(other, i128::checked_add, |a, b| a + b)
    }

    pub(crate) fn subtract(self, other: Self) -> Self {
        self.arithmetic(other, i128::checked_sub, |a, b| a - b)
    }

    pub(crate) fn multiply(self, other: Self) -> Self {
        // A zero product may be `-0`, which only doubles know.
        let exact = |a: i128, b: i128| a.checked_mul(b).filter(|product| *product != 0);
        self.arithmetic(other, exact, |a, b| a * b)
    }

    pub(crate) fn divide(self, other: Self) -> Self {
        let exact = |a: i128, b: i128| (a != 0 && b != 0 && a % b == 0).then(|| a / b);
        self.arithmetic(other, exact, |a, b| a / b)
    }

    pub(crate) fn remainder(self, other: Self) -> Self {
        // The sign follows the dividend, so `-4 % 2` is `-0`.
        let exact = |a: i128, b: i128| a.checked_rem(b).filter(|rest| *rest != 0 || a >= 0);
        self.arithmetic(other, exact, |a, b| a % b)
    }

    pub(crate) fn power(self, other: Self) -> Self {
        let exact = |base: i128, exponent: i128| base.checked_pow(u32::try_from(exponent).ok()?);
        self.arithmetic(other, exact, |base, exponent| {
            // Where JavaScript differs from the C library.
            if exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) {
                f64::NAN
            } else {
                base.powf(exponent)
            }
        })
    }

    pub(crate) fn negate(self) -> Self {
        match self.integer() {
            Some(0) => Self(Repr::Float(-0.0)),
            Some(integer) => Self::from_i128(-integer),
            None => Self::from(-self.as_f64()),
        }
    }

    pub(crate) fn abs(self) -> Self {
        if self.is_negative() { self.negate() } else { self }
    }

    /// Applies a rounding to doubles; integers are round already.
    pub(crate) fn rounded(self, round: fn(f64) -> f64) -> Self {
        match self.0 {
            Repr::Float(float) => Self::from(round(float)),
            Repr::Int(_) | Repr::Big(_) => self,
        }
    }

    fn arithmetic(
        self,
        other: Self,
        exact: impl Fn(i128, i128) -> Option<i128>,
        inexact: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let result = match (self.integer(), other.integer()) {
            (Some(a), Some(b)) => exact(a, b),
            _ => None,
        };
        match result {
            Some(integer) => Self::from_i128(integer),
            None => Self::from(inexact(self.as_f64(), other.as_f64())),
        }
    }

    /// Reads a text as JavaScript's `Number("…")` does; anything unreadable is `NaN`.
    pub(crate) fn from_text(text: &str) -> Self {
        let text = super::text::trim(text);
        if text.is_empty() {
            return Self::ZERO;
        }
        let radix = match text.as_bytes() {
            [b'0', b'x' | b'X', ..] => 16,
            [b'0', b'o' | b'O', ..] => 8,
            [b'0', b'b' | b'B', ..] => 2,
            _ => return Self::from_decimal(text),
        };
        Self::from_digits(&text[2..], radix).unwrap_or(Self::NAN)
    }

    /// Digits of a base, without sign or prefix.
    pub(crate) fn from_digits(digits: &str, radix: u32) -> Option<Self> {
        if digits.is_empty() {
            return None;
        }
        let mut exact = Some(0_u64);
        let mut float = 0.0_f64;
        for digit in digits.chars() {
            let digit = digit.to_digit(radix)?;
            exact = exact
                .and_then(|sum| sum.checked_mul(u64::from(radix)))
                .and_then(|sum| sum.checked_add(u64::from(digit)));
            float = float * f64::from(radix) + f64::from(digit);
        }
        Some(exact.map_or_else(|| Self::from(float), Self::from))
    }

    fn from_decimal(text: &str) -> Self {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned == "Infinity" {
            let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
            return Self::from(f64::INFINITY * sign);
        }
        // Rust also reads "inf" and "nan", JavaScript does not.
        let plain = |c: u8| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'E' | b'-' | b'+');
        if !unsigned.bytes().all(plain) {
            return Self::NAN;
        }
        if unsigned.bytes().all(|c| c.is_ascii_digit())
            && let Ok(integer) = text.parse::<i128>()
            && integer != 0
        {
            let number = Self::from_i128(integer);
            if number.integer().is_some() {
                return number;
            }
        }
        text.parse::<f64>().map_or(Self::NAN, Self::from)
    }

    /// As JSON; `NaN` and infinities become `null`, as with `JSON.stringify`.
    #[must_use]
    pub fn to_json(self) -> serde_json::Value {
        match self.0 {
            Repr::Int(int) => int.into(),
            Repr::Big(big) => big.into(),
            Repr::Float(0.0) => 0.into(),
            Repr::Float(float) => float.into(),
        }
    }
}

/// Compares an integer with a double that is not one.
fn compare_to_float(integer: Number, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    let value = integer.integer()?;
    if float >= TWO_64 {
        return Some(Ordering::Less);
    }
    if float < -TWO_63 {
        return Some(Ordering::Greater);
    }
    // `-0` aside there is a fraction, so equality with the floor means below.
    match value.cmp(&(float.floor() as i128)) {
        Ordering::Equal if float != 0.0 => Some(Ordering::Less),
        ordering => Some(ordering),
    }
}

impl From<f64> for Number {
    fn from(float: f64) -> Self {
        let negative_zero = float == 0.0 && float.is_sign_negative();
        if float.trunc() != float || negative_zero || !(-TWO_63..TWO_64).contains(&float) {
            Self(Repr::Float(float))
        } else if float < TWO_63 {
            Self(Repr::Int(float as i64))
        } else {
            Self(Repr::Big(float as u64))
        }
    }
}

impl From<i64> for Number {
    fn from(int: i64) -> Self {
        Self(Repr::Int(int))
    }
}

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        i64::try_from(int).map_or(Self(Repr::Big(int)), Self::from)
    }
}

impl From<usize> for Number {
    fn from(size: usize) -> Self {
        Self::from(size as u64)
    }
}

impl From<&serde_json::Number> for Number {
    fn from(number: &serde_json::Number) -> Self {
        if let Some(int) = number.as_i64() {
            Self::from(int)
        } else if let Some(big) = number.as_u64() {
            Self::from(big)
        } else {
            number.as_f64().map_or(Self::NAN, Self::from)
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Repr::Float(a), Repr::Float(b)) => {
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
            }
            _ => self.integer().is_some() && self.integer() == other.integer(),
        }
    }
}

/// As JavaScript prints it, with all digits of an exact integer.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Int(int) => write!(f, "{int}"),
            Repr::Big(big) => write!(f, "{big}"),
            Repr::Float(float) => write_float(f, float),
        }
    }
}

/// `Number::toString` of the standard: exponents from 1e21 up and from 1e-7 down.
fn write_float(f: &mut fmt::Formatter<'_>, float: f64) -> fmt::Result {
    if float.is_nan() {
        return f.write_str("NaN");
    }
    if float.is_infinite() {
        return f.write_str(if float > 0.0 { "Infinity" } else { "-Infinity" });
    }
    if float == 0.0 {
        return f.write_str("0");
    }
    let magnitude = float.abs();
    if (1e-6..1e21).contains(&magnitude) {
        return write!(f, "{float}");
    }
    let scientific = format!("{float:e}");
    match scientific.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => write!(f, "{digits}e+{exponent}"),
        _ => f.write_str(&scientific),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_javascript() {
        let check = |float: f64, expect: &str| assert_eq!(Number::from(float).to_string(), expect);
        check(0.0, "0");
        check(-0.0, "0");
        check(1.0, "1");
        check(0.1, "0.1");
        check(1e21, "1e+21");
        check(1e20, "100000000000000000000");
        check(1.5e-7, "1.5e-7");
        check(0.000_001, "0.000001");
        check(-1.25e300, "-1.25e+300");
        check(f64::NEG_INFINITY, "-Infinity");
        check(f64::NAN, "NaN");
    }

    #[test]
    fn texts_read_as_in_javascript() {
        let check = |text: &str, expect: f64| {
            assert_eq!(Number::from_text(text), Number::from(expect), "{text:?}");
        };
        check("", 0.0);
        check("  \u{feff}12 ", 12.0);
        check("-0", -0.0);
        check("+1.5e3", 1500.0);
        check(".5", 0.5);
        check("5.", 5.0);
        check("0x1F", 31.0);
        check("0b101", 5.0);
        check("-0x1", f64::NAN);
        check("0x", f64::NAN);
        check(".", f64::NAN);
        check("inf", f64::NAN);
        check("infinity", f64::NAN);
        check("-Infinity", f64::NEG_INFINITY);
        check("1_000", f64::NAN);
        check("1 2", f64::NAN);
    }

    #[test]
    fn integers_beyond_doubles_stay_distinct() {
        let a = Number::from_text("9007199254740993");
        assert!(!a.equals(Number::from(9_007_199_254_740_992.0)));
        assert_eq!(a.to_string(), "9007199254740993");
        assert_eq!(a.compare(Number::from(9_007_199_254_740_992.0)), Some(Ordering::Greater));
        assert_eq!(Number::from(u64::MAX).compare(Number::from(TWO_64)), Some(Ordering::Less));
        assert_eq!(Number::from(i64::MIN), Number::from(-TWO_63));
        assert_eq!(Number::from(0_i64).compare(Number::from(-0.0)), Some(Ordering::Equal));
        assert_eq!(Number::from(-1_i64).compare(Number::from(-0.5)), Some(Ordering::Less));
        assert_eq!(Number::from(0_i64).compare(Number::from(-0.5)), Some(Ordering::Greater));
    }

    #[test]
    fn arithmetic_is_exact_within_64_bits_and_double_beyond() {
        let max = Number::from(u64::MAX);
        assert_eq!(max.subtract(Number::from(1_i64)), Number::from(u64::MAX - 1));
        assert_eq!(max.add(Number::from(1_i64)), Number::from(TWO_64));
        assert_eq!(max.multiply(max).as_f64(), TWO_64 * TWO_64);
        assert_eq!(Number::from(-4_i64).remainder(Number::from(2_i64)), Number::from(-0.0));
        assert_eq!(Number::from(0_i64).multiply(Number::from(-2_i64)), Number::from(-0.0));
        assert_eq!(Number::from(7_i64).divide(Number::from(2_i64)), Number::from(3.5));
        assert!(Number::from(1_i64).power(Number::from(f64::INFINITY)).is_nan());
    }
}
