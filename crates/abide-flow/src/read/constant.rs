//! Texts that are the same for everybody, and so can be checked before anything runs.

use abide::{Timestamp, parse_duration, pattern};

use super::meant;
use super::shape::Takes;

/// What is wrong with a text, and what would be right.
pub(super) type Refused = (String, Option<String>);

pub(super) fn word(text: &str, words: &[&str]) -> Result<(), Refused> {
    if words.contains(&text) {
        return Ok(());
    }
    let hint = meant(text, words.iter().copied());
    Err((format!("`{text}` is not one of {}", words.join(", ")), hint))
}

pub(super) fn duration(text: &str) -> Result<(), Refused> {
    parse_duration(text).map(drop).map_err(|refused| (refused.to_string(), None))
}

pub(super) fn moment(text: &str) -> Result<(), Refused> {
    text.parse::<Timestamp>().map(drop).map_err(|_| {
        let hint =
            "write RFC 3339, such as `2026-01-31T12:00:00Z`, or unix milliseconds as a number";
        (format!("`{text}` is not a moment"), Some(hint.to_owned()))
    })
}

pub(super) fn since(text: &str) -> Result<(), Refused> {
    if matches!(text, "start" | "now") || moment(text).is_ok() || duration(text).is_ok() {
        return Ok(());
    }
    let hint =
        meant(text, ["start", "now"]).or_else(|| Some(format!("it is {}", Takes::Since.wanted())));
    Err((format!("`{text}` says no time to look back to"), hint))
}

pub(super) fn url(text: &str) -> Result<(), Refused> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    if rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !text.contains(char::is_whitespace)
    {
        return Ok(());
    }
    let hint = "a URL begins with `http://` or `https://` and a host";
    Err((format!("`{text}` is not a URL"), Some(hint.to_owned())))
}

pub(super) fn event_pattern(text: &str) -> Result<(), Refused> {
    pattern::check(text).map_err(|refused| match refused {
        abide::Error::Invalid { message, .. } => (format!("bad event pattern: {message}"), None),
        other => (other.to_string(), None),
    })
}

pub(super) fn event_type(text: &str) -> Result<(), Refused> {
    event_pattern(text)?;
    if text.split('.').any(|segment| matches!(segment, "*" | "**")) {
        return Err((format!("`{text}` is a pattern; an event has one type"), None));
    }
    Ok(())
}

/// The longest id: names of steps in the history are made of it.
const MAX_ID: usize = 200;

pub(super) fn new_id(text: &str) -> Result<(), Refused> {
    if text.is_empty() || text.len() > MAX_ID {
        return Err((format!("an id has 1 to {MAX_ID} bytes, not {}", text.len()), None));
    }
    match text.chars().find(|c| matches!(c, '#' | '[' | ']' | '.') || c.is_control()) {
        None => Ok(()),
        Some(bad) => {
            let better: String = text
                .chars()
                .map(|c| if "#[].".contains(c) || c.is_control() { '_' } else { c })
                .collect();
            Err((format!("an id can't have {bad:?} in it"), Some(format!("write `{better}`"))))
        }
    }
}
