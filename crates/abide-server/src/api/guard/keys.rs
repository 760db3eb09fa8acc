//! Randomness, and what only this process can have signed.

use axum::http::StatusCode;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::api::error::ApiError;

/// A key that lives as long as the process. What it is used for goes into what is signed, so that one
/// use can't pass for another.
pub(crate) struct Keys(hmac::Key);

impl Keys {
    pub(super) fn generate() -> Result<Self, ApiError> {
        let bytes: [u8; 32] = random()?;
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    pub(super) fn sign(&self, purpose: &str, what: &[u8]) -> hmac::Tag {
        hmac::sign(&self.0, &labelled(purpose, what))
    }

    /// In constant time.
    pub(super) fn verify(&self, purpose: &str, what: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.0, &labelled(purpose, what), tag).is_ok()
    }
}

fn labelled(purpose: &str, what: &[u8]) -> Vec<u8> {
    [purpose.as_bytes(), b":", what].concat()
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], ApiError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        let message = "the system gives no random bytes";
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", message)
    })?;
    Ok(bytes)
}

/// Bytes in words that people can copy.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What [`hex`] wrote.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit =
        |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some((digit(high)? << 4) | digit(low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_reads_back_and_nothing_else_does() {
        let bytes = [0, 1, 0x7f, 0xff];
        assert_eq!(hex(&bytes), "00017fff");
        assert_eq!(from_hex("00017FfF").unwrap(), bytes);
        assert_eq!(from_hex("").unwrap(), Vec::<u8>::new());
        assert!(from_hex("0").is_none() && from_hex("0g").is_none() && from_hex("é").is_none());
    }

    #[test]
    fn what_was_signed_for_one_purpose_is_not_good_for_another() {
        let keys = Keys::generate().unwrap();
        let tag = keys.sign("a", b"x");
        assert!(keys.verify("a", b"x", tag.as_ref()));
        assert!(!keys.verify("b", b"x", tag.as_ref()));
        assert!(!Keys::generate().unwrap().verify("a", b"x", tag.as_ref()));
    }
}
