//! `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>…]`, over `<seconds>.<body>`.

use super::signature::{Refused, Secret, Signed, fits};
use crate::api::guard::from_hex;

const HEADER: &str = "stripe-signature";

/// Answers with the time of signing.
pub(super) fn check(secret: &Secret, call: Signed<'_>) -> Result<i64, Refused> {
    let (mut time, mut signatures) = (None, Vec::new());
    for part in call.header(HEADER)?.split(',') {
        match part.trim().split_once('=') {
            Some(("t", seconds)) => time = Some(seconds),
            // While a secret is being changed there are two. Other versions are not ours.
            Some(("v1", signature)) => signatures.extend(from_hex(signature)),
            _ => {}
        }
    }
    let seconds = time.ok_or_else(|| Refused::Header(HEADER.to_owned()))?;
    fits(secret.0.as_bytes(), &[seconds.as_bytes(), b".", call.body], &signatures)?;
    call.fresh(seconds, HEADER)
}

#[cfg(test)]
mod tests {
    use super::super::signature::tests::{headers, signature};
    use super::*;
    use crate::api::guard::hex;
    use abide::Timestamp;

    #[test]
    fn any_of_the_signatures_will_do_within_five_minutes() {
        let body = br#"{"id": "evt_1"}"#;
        let good = hex(&signature(b"secret", &[b"1000.".as_slice(), body].concat()));
        let check = |header: &str, now: i64| {
            let headers = headers(&[(HEADER, header)]);
            let now = Timestamp(now * 1000);
            check(&Secret("secret".into()), Signed { headers: &headers, body, now })
        };
        assert_eq!(check(&format!("t=1000,v1={good}"), 1000), Ok(1000));
        assert_eq!(check(&format!("t=1000, v1=00,v1={good},v0=x"), 1300), Ok(1000));
        assert_eq!(check(&format!("t=1000,v1={good}"), 700), Ok(1000));
        assert_eq!(check(&format!("t=1000,v1={good}"), 1301), Err(Refused::Time));
        assert_eq!(check(&format!("t=1000,v1={good}"), 699), Err(Refused::Time));
        assert_eq!(check(&format!("t=1001,v1={good}"), 1000), Err(Refused::Signature));
        assert_eq!(check(&format!("t=1000,v0={good}"), 1000), Err(Refused::Signature));
        for wrong in ["", "v1=00", "t", "nonsense"] {
            assert_eq!(check(wrong, 1000), Err(Refused::Header(HEADER.into())), "{wrong}");
        }
    }
}
