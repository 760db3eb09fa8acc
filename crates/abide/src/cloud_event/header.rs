//! Attribute values in headers: percent-encoded, perhaps quoted.

/// Everything but printable ASCII is encoded, and so are space, quote and percent.
pub(super) fn encode(value: &str) -> String {
    let mut header = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'%' {
            header.push(char::from(byte));
        } else {
            header.push_str(&format!("%{byte:02X}"));
        }
    }
    header
}

/// `None` when it does not stand for a text. A percent sign that encodes nothing stands for itself.
pub(super) fn decode(header: &str) -> Option<String> {
    let unquoted = unquote(header.trim());
    let mut rest = unquoted.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        let encoded = (*first == b'%').then(|| pair(after)).flatten();
        bytes.push(encoded.unwrap_or(*first));
        rest = if encoded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

/// Takes the quotes off a quoted string, and the backslashes inside it.
fn unquote(header: &str) -> String {
    let inner = header.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else { return header.to_owned() };
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        text.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    text
}

/// The byte that the first two digits stand for.
fn pair(text: &[u8]) -> Option<u8> {
    Some(hex(*text.first()?)? << 4 | hex(*text.get(1)?)?)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_headers() {
        for value in ["plain", "Euro € 😀", "100%", "%41", "a \"b\" \\", "~!#", "é%"] {
            let header = encode(value);
            assert!(header.bytes().all(|byte| byte.is_ascii_graphic()), "{header}");
            assert_eq!(decode(&header).as_deref(), Some(value));
        }
    }

    #[test]
    fn what_others_write_is_understood() {
        for (header, expect) in [
            ("Euro%20%E2%82%AC%20%F0%9F%98%80", Some("Euro € 😀")),
            (r#""a \"b\"""#, Some("a \"b\"")),
            ("100%", Some("100%")),
            ("%zz%4", Some("%zz%4")),
            (" a b ", Some("a b")),
            ("\"", Some("\"")),
            ("%ff", None),
        ] {
            assert_eq!(decode(header).as_deref(), expect, "{header}");
        }
    }
}
