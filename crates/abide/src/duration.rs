//! One reading of durations for code, YAML and HTTP.
//!
//! `"5m"`, `"24 hours"`, `"1 day 2 hours"`, `"PT5M"` and milliseconds as numbers. A string
//! without a unit is refused, because `"5"` means minutes to one reader and seconds to another.

use std::time::Duration;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a duration: {reason}; write for example \"5m\", \"24 hours\" or \"PT5M\"")]
pub struct DurationError {
    text: String,
    reason: String,
}

/// Anything a duration can be given as.
pub trait IntoDuration {
    /// The duration, or what is wrong with the text.
    ///
    /// # Errors
    /// When a text is not a duration.
    fn into_duration(self) -> Result<Duration, DurationError>;
}

impl IntoDuration for Duration {
    fn into_duration(self) -> Result<Duration, DurationError> {
        Ok(self)
    }
}

impl IntoDuration for &str {
    fn into_duration(self) -> Result<Duration, DurationError> {
        parse(self)
    }
}

impl IntoDuration for String {
    fn into_duration(self) -> Result<Duration, DurationError> {
        parse(&self)
    }
}

/// Milliseconds.
impl IntoDuration for u64 {
    fn into_duration(self) -> Result<Duration, DurationError> {
        Ok(Duration::from_millis(self))
    }
}

/// Reads a duration. Months count 30 days, years 365.
///
/// # Errors
/// When the text is empty, negative, lacks a unit or names an unknown one.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let fail = |reason: &str| DurationError { text: text.to_owned(), reason: reason.to_owned() };
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(fail("it is empty"));
    }
    if trimmed.starts_with('-') {
        return Err(fail("it is negative"));
    }
    let ms = match trimmed.strip_prefix(['P', 'p']) {
        Some(rest) => iso(rest),
        None => words(trimmed),
    }
    .map_err(|reason| fail(&reason))?;
    if !ms.is_finite() || ms > 9e15 {
        return Err(fail("it is too long"));
    }
    Ok(Duration::from_secs_f64(ms / 1000.0))
}

/// `1 day 2 hours`, `5m`, `1h30m`.
fn words(text: &str) -> Result<f64, String> {
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let (number, after) = number(rest)?;
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(format!("{number} has no unit"));
        }
        total += number * unit_ms(unit).ok_or_else(|| format!("{unit:?} is not a unit of time"))?;
        rest = after.trim_start_matches([' ', ',']);
    }
    Ok(total)
}

/// The part of an ISO-8601 duration behind the `P`.
fn iso(text: &str) -> Result<f64, String> {
    let mut rest = text;
    let mut total = 0.0;
    let mut clock_part = false;
    let mut parts = 0;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(['T', 't']) {
            clock_part = true;
            rest = after;
            continue;
        }
        let (number, after) = number(rest)?;
        let mut letters = after.chars();
        let unit = letters.next().map(|c| c.to_ascii_uppercase());
        total += number
            * match (clock_part, unit) {
                (false, Some('Y')) => YEAR,
                (false, Some('M')) => MONTH,
                (false, Some('W')) => WEEK,
                (false, Some('D')) => DAY,
                (true, Some('H')) => HOUR,
                (true, Some('M')) => MINUTE,
                (true, Some('S')) => SECOND,
                _ => return Err("it is not ISO-8601".to_owned()),
            };
        parts += 1;
        rest = letters.as_str();
    }
    if parts == 0 {
        return Err("it is not ISO-8601".to_owned());
    }
    Ok(total)
}

fn number(text: &str) -> Result<(f64, &str), String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let number = digits.parse().map_err(|_| format!("a number was expected at {text:?}"))?;
    Ok((number, rest))
}

const SECOND: f64 = 1000.0;
const MINUTE: f64 = 60.0 * SECOND;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;
const WEEK: f64 = 7.0 * DAY;
const MONTH: f64 = 30.0 * DAY;
const YEAR: f64 = 365.0 * DAY;

fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => WEEK,
        "month" | "months" => MONTH,
        "y" | "year" | "years" => YEAR,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ms: u64) {
        assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
    }

    #[test]
    fn every_spelling_is_read() {
        check("250ms", 250);
        check("5m", 300_000);
        check("1h30m", 5_400_000);
        check("24 hours", 86_400_000);
        check("1 day 2 hours", 93_600_000);
        check("1.5 seconds", 1_500);
        check("PT5M", 300_000);
        check("P1DT2H", 93_600_000);
        check("PT0.5S", 500);
        check("1 month", 30 * 86_400_000);
        check("1 year", 365 * 86_400_000);
        check(" 2 Weeks ", 14 * 86_400_000);
        check("0s", 0);
    }

    #[test]
    fn unit_less_negative_and_nonsense_are_refused() {
        for text in ["", "5", "soon", "-1s", "5 fortnights", "P", "PT", "P5H", "1..2s", "5m x"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let message = parse("5").unwrap_err().to_string();
        assert!(message.contains("\"5\"") && message.contains("no unit"), "{message}");
    }
}
