//! Short-lived tokens that may stand in an address, because `EventSource` can't send headers. They
//! only read, and only streams.

use abide::Timestamp;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::keys::Keys;

const PURPOSE: &str = "access";
const NAME: &str = "access_token";

impl Keys {
    /// A token that is good until then, in this process.
    pub(crate) fn access_token(&self, until: Timestamp) -> String {
        let until = until.0.to_be_bytes();
        let tag = self.sign(PURPOSE, &until);
        URL_SAFE_NO_PAD.encode([&until, tag.as_ref()].concat())
    }

    /// Whether a token is good now.
    pub(super) fn opens(&self, token: &str, now: Timestamp) -> bool {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else { return false };
        let Some((until, tag)) = bytes.split_first_chunk::<8>() else { return false };
        self.verify(PURPOSE, until, tag) && i64::from_be_bytes(*until) > now.0
    }
}

/// Takes the token out of an address, so that nobody behind here sees or logs it.
pub(super) fn take(uri: &mut Uri) -> Option<String> {
    let query = uri.query().filter(|query| query.contains(NAME))?;
    let (mut found, mut rest) = (None, Vec::new());
    for part in query.split('&') {
        match part.split_once('=') {
            Some((NAME, token)) => found = Some(token.to_owned()),
            _ => rest.push(part),
        }
    }
    found.as_ref()?;
    let rest = rest.join("&");
    let mark = if rest.is_empty() { "" } else { "?" };
    let changed = PathAndQuery::try_from(format!("{}{mark}{rest}", uri.path()));
    let mut parts = uri.clone().into_parts();
    // It was part of an address before, so it still is.
    parts.path_and_query = changed.ok();
    *uri = Uri::from_parts(parts).unwrap_or_default();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_until_it_is_over_and_only_as_it_is() {
        let keys = Keys::generate().unwrap();
        let token = keys.access_token(Timestamp(1000));
        assert!(keys.opens(&token, Timestamp(999)));
        assert!(!keys.opens(&token, Timestamp(1000)));
        assert!(!keys.opens(&token[1..], Timestamp(0)) && !keys.opens("", Timestamp(0)));
        let mut bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        bytes[0] = 1;
        assert!(!keys.opens(&URL_SAFE_NO_PAD.encode(&bytes), Timestamp(0)), "another time");
        assert!(!Keys::generate().unwrap().opens(&token, Timestamp(0)), "another process");
    }

    #[test]
    fn the_token_is_taken_out_of_the_address() {
        for (before, token, after) in [
            ("/v1/stream", None, "/v1/stream"),
            ("/v1/stream?access_token=x", Some("x"), "/v1/stream"),
            ("/v1/stream?a=1&access_token=x&b=2", Some("x"), "/v1/stream?a=1&b=2"),
            ("http://h:1/s?access_token=", Some(""), "http://h:1/s"),
            ("/s?my_access_token=x", None, "/s?my_access_token=x"),
        ] {
            let mut uri: Uri = before.parse().unwrap();
            assert_eq!(take(&mut uri).as_deref(), token, "{before}");
            assert_eq!(uri.to_string(), after, "{before}");
        }
    }
}
