//! A value in the rest of a line.

use serde_json::Value;

use super::clean;

/// How many characters of a value are worth reading in passing.
const MOST: usize = 100;

/// JSON in one line, cut where nobody reads on. Texts without control characters.
pub(crate) fn brief(value: &Value) -> String {
    let text = clean(&value.to_string());
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// An event without its envelope: its payload says most. Anything else as it is.
pub(crate) fn brief_of_event(value: &Value) -> String {
    let is_event = value.get("type").is_some() && value.get("id").is_some();
    match value.get("payload").filter(|_| is_event) {
        Some(payload) => brief(payload),
        None => brief(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(brief(&json!({"a": [1, "x"]})), "{\"a\":[1,\"x\"]}");
        let cut = brief(&json!("ü".repeat(200)));
        assert_eq!(cut.chars().count(), MOST + 1);
        assert!(cut.ends_with('…'));
    }
}
