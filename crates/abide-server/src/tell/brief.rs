//! A value in the rest of a line.

use serde_json::Value;

/// How many characters of a value are worth reading in passing.
const MOST: usize = 100;

/// JSON in one line, cut where nobody reads on. Texts without control characters.
pub(crate) fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
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
