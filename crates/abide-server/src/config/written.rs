//! Values as a person writes them, in a file or in the environment, and what they mean.

use std::time::Duration;

use abide_server::ConfiguredToken;
use serde_json::Value;

/// A value before anybody knows what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Text(String),
    Number(u64),
    Flag(bool),
    List(Vec<String>),
    /// A list of maps.
    Records(Value),
}

/// What stands for "no limit".
pub(super) const NONE: &str = "none";

impl Written {
    pub(super) fn duration(&self) -> Result<Duration, String> {
        match self {
            Self::Number(ms) => Ok(Duration::from_millis(*ms)),
            Self::Text(text) => abide::parse_duration(text).map_err(|wrong| wrong.to_string()),
            _ => Err("it must be a duration, like \"30s\" or \"5 minutes\"".to_owned()),
        }
    }

    pub(super) fn bytes(&self) -> Result<u64, String> {
        let wrong = || "it must be a size, like \"4 MiB\" or a number of bytes".to_owned();
        let text = match self {
            Self::Number(bytes) => return Ok(*bytes),
            Self::Text(text) => text.trim(),
            _ => return Err(wrong()),
        };
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "kib" | "k" => 10,
            "mib" | "m" => 20,
            "gib" | "g" => 30,
            _ => return Err(wrong()),
        };
        number.checked_mul(1 << shift).ok_or_else(|| "it is too large".to_owned())
    }

    pub(super) fn count(&self) -> Result<u64, String> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| "it must be a whole number, not negative".to_owned())
    }

    pub(super) fn flag(&self) -> Result<bool, String> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            Self::Text(text) if text == "true" => Ok(true),
            Self::Text(text) if text == "false" => Ok(false),
            _ => Err("it must be true or false".to_owned()),
        }
    }

    pub(super) fn text(&self) -> Result<String, String> {
        match self {
            Self::Text(text) if !text.is_empty() => Ok(text.clone()),
            _ => Err("it must be a text".to_owned()),
        }
    }

    /// In the environment: separated by commas.
    pub(super) fn list(&self) -> Result<Vec<String>, String> {
        match self {
            Self::List(list) => Ok(list.clone()),
            Self::Text(text) if text.trim().is_empty() => Ok(Vec::new()),
            Self::Text(text) => Ok(text.split(',').map(|item| item.trim().to_owned()).collect()),
            _ => Err("it must be a list of texts".to_owned()),
        }
    }

    /// In the environment: JSON.
    pub(super) fn tokens(&self) -> Result<Vec<ConfiguredToken>, String> {
        let wrong =
            |why: serde_json::Error| format!("it must be a list of {{name, hash, scopes}}: {why}");
        match self {
            Self::Records(records) => serde_json::from_value(records.clone()).map_err(wrong),
            Self::Text(text) => serde_json::from_str(text).map_err(wrong),
            Self::List(list) if list.is_empty() => Ok(Vec::new()),
            _ => Err("it must be a list of {name, hash, scopes}".to_owned()),
        }
    }

    /// Whether it says that there shall be no limit.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Text(text) if text == NONE)
    }
}

/// A duration as it could be written.
pub(super) fn show_duration(duration: Duration) -> String {
    const UNITS: [(u128, &str); 4] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let ms = duration.as_millis();
    let whole = UNITS.iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{ms}ms"), |(unit, name)| format!("{}{name}", ms / unit))
}

/// A size as it could be written.
pub(super) fn show_bytes(bytes: u64) -> String {
    const UNITS: [(u32, &str); 3] = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = UNITS.iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    whole.map_or_else(|| bytes.to_string(), |(shift, name)| format!("{} {name}", bytes >> shift))
}

/// Tokens as they could be written. Hashes are no secrets.
pub(super) fn show_tokens(tokens: &[ConfiguredToken]) -> String {
    let shown = tokens.iter().map(|ConfiguredToken { name, hash, scopes }| {
        let scopes: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
        format!("{{ name = {name:?}, hash = {hash:?}, scopes = {scopes:?} }}")
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Written {
        Written::Text(text.to_owned())
    }

    #[test]
    fn sizes_have_units_of_1024() {
        for (written, bytes) in
            [("4 MiB", 4 << 20), ("64KiB", 65_536), ("7", 7), ("1 GiB", 1 << 30)]
        {
            assert_eq!(text(written).bytes(), Ok(bytes), "{written}");
        }
        for wrong in ["MiB", "4 MB", "-1", "4.5 MiB", "99999999999 GiB"] {
            assert!(text(wrong).bytes().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_shown_is_read_again() {
        for ms in [1, 250, 1_000, 90_000, 3_600_000, 604_800_000] {
            let duration = Duration::from_millis(ms);
            assert_eq!(text(&show_duration(duration)).duration(), Ok(duration));
        }
        for bytes in [0, 1, 1023, 1024, 1536, 4 << 20, 1 << 30] {
            assert_eq!(text(&show_bytes(bytes)).bytes(), Ok(bytes));
        }
    }

    #[test]
    fn lists_of_the_environment_are_separated_by_commas() {
        assert_eq!(text("a, b").list(), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(text("").list(), Ok(vec![]));
    }
}
