//! What a text without quotes is: null, a boolean, a number, or just a text.
//!
//! These are the rules of YAML 1.2, where `no`, `on` and `12:30` are texts. Numbers are as JSON has
//! them, with hexadecimal and octal ones beside; `007` is a text, so that ids keep their zeros.

use serde_json::Number;

use super::{Content, Style};

/// The value of a text without quotes, or why it has none.
pub(super) fn plain(text: &str) -> Result<Content, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Content::Null,
        "true" | "True" | "TRUE" => Content::Bool(true),
        "false" | "False" | "FALSE" => Content::Bool(false),
        _ => match number(text)? {
            Some(number) => Content::Number(number),
            None => Content::Text(text.to_owned(), Style::Bare),
        },
    })
}

fn number(text: &str) -> Result<Option<Number>, String> {
    if matches!(text.trim_start_matches(['+', '-']).to_lowercase().as_str(), ".inf" | ".nan") {
        return Err(format!("{text} is not a number that JSON knows"));
    }
    let unfit = || format!("{text} is too large for a number");
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_digit(radix))
        {
            return u64::from_str_radix(digits, radix).map(|n| Some(n.into())).map_err(|_| unfit());
        }
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some(is_whole) = shape(unsigned) else { return Ok(None) };
    if is_whole {
        let signed = text.strip_prefix('+').unwrap_or(text);
        let whole = signed.parse::<u64>().map(Number::from);
        return whole
            .or_else(|_| signed.parse::<i64>().map(Number::from))
            .map(Some)
            .map_err(|_| unfit());
    }
    let number = text.parse::<f64>().ok().and_then(Number::from_f64);
    number.map(Some).ok_or_else(unfit)
}

/// Whether the digits are a whole number or one with a fraction; neither, it is none.
fn shape(unsigned: &str) -> Option<bool> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(unsigned);
    if whole > 1 && unsigned.starts_with('0') {
        return None;
    }
    let rest = &unsigned[whole..];
    if rest.is_empty() {
        return (whole > 0).then_some(true);
    }
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => (digits(after), &after[digits(after)..]),
        None => (0, rest),
    };
    if whole + fraction == 0 {
        return None;
    }
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty().then_some(false),
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            (!exponent.is_empty() && digits(exponent) == exponent.len()).then_some(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tree::{Span, Tree};

    fn value(text: &str) -> Value {
        Tree { span: Span::default(), content: plain(text).unwrap() }.to_json()
    }

    #[test]
    fn plain_texts_are_what_yaml_1_2_says() {
        for (text, expect) in [
            ("~", json!(null)),
            ("true", json!(true)),
            ("42", json!(42)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("2e3", json!(2000.0)),
            ("0x1f", json!(31)),
            ("0o17", json!(15)),
        ] {
            assert_eq!(value(text), expect, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_something_is_a_text() {
        for text in
            ["no", "yes", "on", "12:30", "007", "1_000", "1.2.3", ".", "-", "0x", "1e", "5m"]
        {
            assert_eq!(value(text), json!(text));
        }
    }

    #[test]
    fn numbers_that_would_change_are_refused() {
        for text in
            [".inf", "-.INF", ".nan", "18446744073709551616", "1e999", "0xfffffffffffffffff"]
        {
            assert!(plain(text).is_err(), "{text}");
        }
    }
}
