//! Every request has an id: its own, or one that is made for it.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::keys::{hex, random};

pub(super) const NAME: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request: what it says, when that is short and readable.
pub(super) fn of(headers: &HeaderMap) -> HeaderValue {
    let is_sane = |id: &&HeaderValue| {
        !id.is_empty() && id.len() <= 128 && id.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    if let Some(given) = headers.get(NAME).filter(is_sane) {
        return given.clone();
    }
    let made = random::<12>().map(|bytes| format!("req_{}", hex(&bytes))).unwrap_or_default();
    HeaderValue::try_from(made).unwrap_or(HeaderValue::from_static("req_unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sane_id_is_taken() {
        let with = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(NAME, HeaderValue::from_bytes(value).unwrap());
            of(&headers)
        };
        assert_eq!(with(b"abc-1"), "abc-1");
        let long = "x".repeat(129);
        for strange in [&b""[..], b"a b", b"\xff", long.as_bytes()] {
            assert!(with(strange).to_str().unwrap().starts_with("req_"), "{strange:?}");
        }
        assert_ne!(of(&HeaderMap::new()), of(&HeaderMap::new()));
    }
}
