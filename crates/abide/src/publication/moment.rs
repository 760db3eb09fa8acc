//! Times as RFC 3339 writes them.

use super::malformed::Malformed;
use crate::time::Timestamp;

/// The year 0000: before it there is no way to write a time.
const EARLIEST: Timestamp = Timestamp(-62_167_219_200_000);

/// Reads a time.
pub(crate) fn parse(text: &str) -> Result<Timestamp, Malformed> {
    let moment: Option<jiff::Timestamp> = if is_rfc_3339(text) { text.parse().ok() } else { None };
    let moment = moment.map(|moment| Timestamp(moment.as_millisecond()));
    moment.filter(|moment| *moment >= EARLIEST).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let reason = format!("must be RFC 3339, such as 2024-02-29T12:30:45Z, not {shown:?}");
        Malformed::invalid("time", reason)
    })
}

/// Whether the text has the shape of RFC 3339, of which other formats are supersets.
fn is_rfc_3339(text: &str) -> bool {
    const DATE_TIME: &[u8] = b"dddd-dd-ddTdd:dd:dd";
    let Some((head, tail)) = text.as_bytes().split_at_checked(DATE_TIME.len()) else {
        return false;
    };
    let fits = |shape: &[u8], bytes: &[u8]| {
        shape.len() == bytes.len()
            && shape.iter().zip(bytes).all(|(shape, byte)| match shape {
                b'd' => byte.is_ascii_digit(),
                b'+' => matches!(byte, b'+' | b'-'),
                letter => byte.eq_ignore_ascii_case(letter),
            })
    };
    let offset = match tail.split_first() {
        Some((b'.', fraction)) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 || digits > 9 {
                return false;
            }
            &fraction[digits..]
        }
        _ => tail,
    };
    fits(DATE_TIME, head) && (fits(b"Z", offset) || fits(b"+dd:dd", offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_and_nothing_else() {
        let check = |text: &str, expect: Option<&str>| {
            let found = parse(text).ok().map(|moment| moment.to_string());
            assert_eq!(found.as_deref(), expect, "{text}");
        };
        check("2024-02-29T12:30:45Z", Some("2024-02-29T12:30:45.000Z"));
        check("2024-02-29t12:30:45.123456789z", Some("2024-02-29T12:30:45.123Z"));
        check("2024-02-29T12:30:45+05:30", Some("2024-02-29T07:00:45.000Z"));
        check("0000-01-01T00:00:00Z", Some("0000-01-01T00:00:00.000Z"));
        for text in [
            "",
            "2024",
            "2024-02-29",
            "2024-02-29T12:30Z",
            "2024-02-29T12:30:45",
            "2023-02-29T12:30:45Z",
            "2024-02-29 12:30:45Z",
            "2024-02-29T12:30:45+05",
            "2024-02-29T12:30:45+0530",
            "2024-02-29T12:30:45Z[UTC]",
            "2024-02-29T12:30:45.Z",
            "20240229T123045Z",
            "0000-01-01T00:00:00+23:00",
            "9999-12-31T23:59:59-23:00",
            "2024-02-29T12:30:45é",
        ] {
            check(text, None);
        }
    }
}
