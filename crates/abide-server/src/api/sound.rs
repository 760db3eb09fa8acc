//! JSON that would be stored untouched is looked at once: nothing nested so deep that a reader gives
//! up on it, no number that no reader can hold.

/// As deep as `serde_json` reads.
const MAX_DEPTH: usize = 127;

/// Why JSON text is refused, if it is. Syntax is for the parser to tell.
pub(super) fn unsound(text: &[u8]) -> Option<String> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(format!("it is nested deeper than {MAX_DEPTH} at byte {at}"));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let end = end_of_number(text, at);
                if is_out_of_range(&text[at..end]) {
                    return Some(format!("the number at byte {at} is out of range"));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the closing quote stands, or the end.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn end_of_number(text: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    text[start..].iter().position(|byte| !is_part(byte)).map_or(text.len(), |end| start + end)
}

/// Only long ones and those with an exponent can be.
fn is_out_of_range(number: &[u8]) -> bool {
    const SAFE_DIGITS: usize = 300;
    if number.len() < SAFE_DIGITS && !number.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return false;
    }
    let value = std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
    value.is_none_or(f64::is_infinite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_json_reads_is_sound() {
        for text in [r#"{"a": [1, -2.5e3, "[[[[\"", "1e999"]}"#, "\"\\", "", "12", "1e308"] {
            assert_eq!(unsound(text.as_bytes()), None, "{text}");
        }
        let deepest = format!("{}1{}", "[".repeat(127), "]".repeat(127));
        assert_eq!(unsound(deepest.as_bytes()), None);
        assert!(serde_json::from_str::<serde_json::Value>(&deepest).is_ok());
    }

    #[test]
    fn what_it_does_not_read_is_not() {
        let deep = format!("{}1{}", "[".repeat(128), "]".repeat(128));
        let long = "9".repeat(400);
        for text in [deep.as_str(), "[1e999]", "-1E400", &long] {
            assert!(unsound(text.as_bytes()).is_some(), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        }
    }
}
