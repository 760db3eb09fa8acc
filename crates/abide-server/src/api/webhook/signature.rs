//! Checks that a call comes from who knows the secret. Over the bytes as they came, in constant time.

use abide::Timestamp;
use axum::http::{HeaderMap, HeaderName};
use ring::{digest, hmac};

use super::scheme::{Scheme, Verify};
use super::{hmac as plain, standard, stripe};
use crate::api::guard::hex;

/// How far the clock of a caller may be off, and how late a call may come.
const TOLERANCE_SECONDS: i64 = 300;

/// The secret that a caller and this server share.
pub(crate) struct Secret(pub(crate) String);

/// Why a call is not trusted. Says nothing that would help to forge one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the header {0} is missing or not what it should be")]
    Header(String),
    #[error("the signature does not fit")]
    Signature,
    #[error("it was signed more than 5 minutes ago or in the future")]
    Time,
    /// The operator's fault, not the caller's.
    #[error("the secret is not what the scheme wants")]
    Secret,
}

/// A call as it came.
#[derive(Clone, Copy)]
pub(super) struct Signed<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    pub(super) now: Timestamp,
}

impl<'a> Signed<'a> {
    /// The one header of this name.
    pub(super) fn header(&self, name: &str) -> Result<&'a str, Refused> {
        let refused = || Refused::Header(name.to_owned());
        let known = HeaderName::try_from(name).map_err(|_| refused())?;
        let mut values = self.headers.get_all(known).iter();
        let (Some(only), None) = (values.next(), values.next()) else { return Err(refused()) };
        only.to_str().map_err(|_| refused())
    }

    /// A time of signing, when it is one and close to now.
    pub(super) fn fresh(&self, seconds: &str, header: &str) -> Result<i64, Refused> {
        let at: i64 = seconds.parse().map_err(|_| Refused::Header(header.to_owned()))?;
        let off = self.now.0.div_euclid(1000).saturating_sub(at);
        if off.abs() > TOLERANCE_SECONDS { Err(Refused::Time) } else { Ok(at) }
    }

    /// What stands for a call that has no id of its own.
    fn fingerprint(&self, signed_at: Option<i64>) -> String {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&signed_at.unwrap_or_default().to_be_bytes());
        context.update(self.body);
        hex(context.finish().as_ref())
    }
}

/// Whether one of these is the signature of that.
pub(super) fn fits(key: &[u8], what: &[&[u8]], signatures: &[Vec<u8>]) -> Result<(), Refused> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let what = what.concat();
    let is_one = |signature: &Vec<u8>| hmac::verify(&key, &what, signature).is_ok();
    if signatures.iter().any(is_one) { Ok(()) } else { Err(Refused::Signature) }
}

impl Verify {
    /// Checks a call and answers with the id that it has by itself: the same call again has the same.
    pub(super) fn check(
        &self,
        secret: &Secret,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<String, Refused> {
        let signed = Signed { headers, body, now };
        match self.scheme {
            Scheme::Stripe => {
                let at = stripe::check(secret, signed)?;
                Ok(own_id(body).unwrap_or_else(|| signed.fingerprint(Some(at))))
            }
            Scheme::Standard => standard::check(secret, signed),
            Scheme::Github => {
                plain::check(secret, signed, "x-hub-signature-256", None)?;
                let delivery = signed.header("x-github-delivery").map(str::to_owned);
                Ok(delivery.unwrap_or_else(|_| signed.fingerprint(None)))
            }
            Scheme::Hmac => {
                let header = self.header.as_deref().unwrap_or("x-signature");
                let at = plain::check(secret, signed, header, self.timestamp_header.as_deref())?;
                Ok(signed.fingerprint(at))
            }
        }
    }
}

/// The `id` of a body, which is signed with the rest of it.
fn own_id(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body.get("id").and_then(serde_json::Value::as_str).map(str::to_owned)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The HMAC-SHA256 of something, to sign with.
    pub(crate) fn signature(key: &[u8], what: &[u8]) -> Vec<u8> {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), what).as_ref().to_vec()
    }

    pub(crate) fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let read = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), value.parse().unwrap())
        };
        all.iter().map(read).collect()
    }

    fn verify(scheme: Scheme) -> Verify {
        Verify { scheme, secret_env: "S".into(), header: None, timestamp_header: None }
    }

    #[test]
    fn the_example_of_github_is_good() {
        let (secret, body) = (Secret("It's a Secret to Everybody".into()), b"Hello, World!");
        let published = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let given = [("x-hub-signature-256", published), ("x-github-delivery", "d-1")];
        let check = |headers: &HeaderMap, body: &[u8]| {
            verify(Scheme::Github).check(&secret, headers, body, Timestamp(0))
        };
        assert_eq!(check(&headers(&given), body).unwrap(), "d-1");
        let without = check(&headers(&given[..1]), body).unwrap();
        assert_eq!(without.len(), 64, "the hash of the body: {without}");
        assert_eq!(check(&headers(&given), b"Hello, World?"), Err(Refused::Signature));
        assert_eq!(
            check(&headers(&given[1..]), body),
            Err(Refused::Header("x-hub-signature-256".into()))
        );
    }

    #[test]
    fn a_stripe_call_has_the_id_of_its_event() {
        let secret = Secret("whsec_test".into());
        let now = Timestamp(1_700_000_000_000);
        let sign = |body: &str| {
            let text = format!("1700000000.{body}");
            let value =
                format!("t=1700000000,v1={}", hex(&signature(b"whsec_test", text.as_bytes())));
            let headers = headers(&[("stripe-signature", &value)]);
            verify(Scheme::Stripe).check(&secret, &headers, body.as_bytes(), now)
        };
        assert_eq!(sign(r#"{"id": "evt_1"}"#).unwrap(), "evt_1");
        assert_eq!(sign("not JSON").unwrap().len(), 64);
    }

    #[test]
    fn the_same_bytes_at_another_time_are_another_call() {
        let headers = HeaderMap::new();
        let signed = Signed { headers: &headers, body: b"x", now: Timestamp(0) };
        assert_ne!(signed.fingerprint(Some(1)), signed.fingerprint(Some(2)));
        assert_eq!(signed.fingerprint(Some(1)), signed.fingerprint(Some(1)));
    }
}
