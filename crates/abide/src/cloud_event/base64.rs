//! Base64 as in RFC 4648, with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            let padding = digit > chunk.len();
            text.push(if padding { '=' } else { char::from(ALPHABET[value as usize]) });
        }
    }
    text
}

/// `None` when it is not base64, or not the one way to write these bytes.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for place in 0..4 {
            bits = bits << 6 | chunk.get(place).map_or(Some(0), |digit| value(*digit))?;
        }
        let [_, a, b, c] = bits.to_be_bytes();
        let whole = chunk.len() * 6 / 8;
        bytes.extend_from_slice(&[a, b, c][..whole]);
        if [a, b, c][whole..].iter().any(|rest| *rest != 0) {
            return None;
        }
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        for text in
            ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Z===", "Zm9v\n", "Zm-v", "=Zg=", "éé"]
        {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn random_bytes_read_back() {
        let mut random = fastrand::Rng::with_seed(5);
        for length in 0..200 {
            let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}
