//! A header with the HMAC-SHA256 of the body in hexadecimal digits, `sha256=` in front or not; with a
//! header for the time of signing, over `<seconds>.<body>`.

use super::signature::{Refused, Secret, Signed, fits};
use crate::api::guard::from_hex;

/// Answers with the time of signing, when there is one.
pub(super) fn check(
    secret: &Secret,
    call: Signed<'_>,
    header: &str,
    timestamp_header: Option<&str>,
) -> Result<Option<i64>, Refused> {
    let given = call.header(header)?;
    let digits = given.strip_prefix("sha256=").unwrap_or(given);
    let signature = from_hex(digits).ok_or_else(|| Refused::Header(header.to_owned()))?;
    let key = secret.0.as_bytes();
    let Some(name) = timestamp_header else {
        return fits(key, &[call.body], &[signature]).map(|()| None);
    };
    let seconds = call.header(name)?;
    fits(key, &[seconds.as_bytes(), b".", call.body], &[signature])?;
    call.fresh(seconds, name).map(Some)
}

#[cfg(test)]
mod tests {
    use super::super::signature::tests::{headers, signature};
    use super::*;
    use crate::api::guard::hex;
    use abide::Timestamp;

    #[test]
    fn a_time_is_part_of_what_is_signed_when_there_is_one() {
        let body = b"{}";
        let plain = hex(&signature(b"s", body));
        let timed = hex(&signature(b"s", b"1000.{}"));
        let check = |signature: &str, time: Option<&str>, now: i64| {
            let headers = headers(&[("x-sig", signature), ("x-time", "1000")]);
            let signed = Signed { headers: &headers, body, now: Timestamp(now * 1000) };
            check(&Secret("s".into()), signed, "x-sig", time)
        };
        assert_eq!(check(&plain, None, 9999), Ok(None));
        assert_eq!(check(&format!("sha256={plain}"), None, 9999), Ok(None));
        assert_eq!(check(&timed, Some("x-time"), 1100), Ok(Some(1000)));
        assert_eq!(check(&timed, Some("x-time"), 1301), Err(Refused::Time));
        assert_eq!(check(&plain, Some("x-time"), 1100), Err(Refused::Signature));
        assert_eq!(check(&timed, None, 1100), Err(Refused::Signature));
        assert_eq!(check("xyz", None, 1100), Err(Refused::Header("x-sig".into())));
        assert_eq!(check("", None, 1100), Err(Refused::Signature));
    }
}
