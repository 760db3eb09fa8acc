//! Where a redirect leads, and what goes along.

use reqwest::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName,
    LOCATION, PROXY_AUTHORIZATION,
};
use reqwest::{Method, StatusCode, Url};

use super::request::{Outgoing, check_url};
use crate::secret::Redactor;

/// Meant for one origin only.
const CREDENTIALS: [HeaderName; 3] = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE];

/// The address in `Location`, when the answer is a redirect that has one.
pub(crate) fn location(status: StatusCode, headers: &HeaderMap) -> Option<&str> {
    let redirects = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    headers.get(LOCATION).filter(|_| redirects)?.to_str().ok()
}

/// The request to send instead.
///
/// 303 asks with `GET`, and so do 301 and 302 after a `POST`, as every browser does; 307 and 308 send
/// the same again. Another origin gets no credentials, and no header with a secret in it; where the
/// body has one, the redirect is refused.
///
/// # Errors
/// Why it can't be followed.
pub(crate) fn next(
    from: &Outgoing,
    status: StatusCode,
    location: &str,
    redactor: &Redactor,
) -> Result<Outgoing, String> {
    let told = redactor.redact(location);
    let url = from.url.join(location).map_err(|why| format!("{told:?} is no address: {why}"))?;
    check_url(&url)?;
    let (mut method, mut body) = (from.method.clone(), from.body.clone());
    let mut headers = from.headers.clone();
    let asks_again = match status.as_u16() {
        303 => method != Method::HEAD,
        301 | 302 => method == Method::POST,
        _ => false,
    };
    if asks_again {
        method = Method::GET;
        body = None;
        [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE].iter().for_each(|name| {
            headers.remove(name);
        });
    }
    if !same_origin(&from.url, &url) {
        let sent = body.as_deref().map(String::from_utf8_lossy);
        if sent.is_some_and(|body| redactor.knows(&body)) {
            return Err(format!("{told:?} is another origin, and the body has a secret in it"));
        }
        let private: Vec<HeaderName> = headers
            .iter()
            .filter(|(name, value)| CREDENTIALS.contains(name) || value.is_sensitive())
            .map(|(name, _)| name.clone())
            .collect();
        private.iter().for_each(|name| {
            headers.remove(name);
        });
        headers.remove(reqwest::header::HOST);
    }
    Ok(Outgoing { method, url, headers, body })
}

fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::http::HttpRequest;

    fn follow(method: &str, status: u16, location: &str) -> Outgoing {
        let redactor = Redactor::default();
        redactor.learn("k3y-s3cret");
        let request = HttpRequest {
            headers: Some(json!({
                "Authorization": "Bearer x", "Cookie": "a=b", "X-Key": "k3y-s3cret", "X-Plain": "1"
            })),
            body: Some(json!({"n": 1})),
            ..HttpRequest::new(method, "http://a.example/one")
        };
        let from = request.prepare(&redactor).unwrap();
        next(&from, StatusCode::from_u16(status).unwrap(), location, &redactor).unwrap()
    }

    #[test]
    fn a_post_becomes_a_get_except_where_the_status_forbids_it() {
        for (method, status, expect) in [
            ("POST", 301, "GET"),
            ("POST", 302, "GET"),
            ("PUT", 302, "PUT"),
            ("PUT", 303, "GET"),
            ("HEAD", 303, "HEAD"),
            ("POST", 307, "POST"),
            ("POST", 308, "POST"),
        ] {
            let to = follow(method, status, "/two");
            assert_eq!(to.method.as_str(), expect, "{method} {status}");
            assert_eq!(to.body.is_some(), to.headers.contains_key(CONTENT_TYPE));
            assert_eq!(to.body.is_some(), expect != "GET", "{method} {status}");
            assert_eq!(to.url.as_str(), "http://a.example/two");
        }
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        assert_eq!(follow("GET", 302, "/two").headers.len(), 5);
        for elsewhere in ["http://b.example/", "https://a.example/", "http://a.example:8080/"] {
            let headers = follow("GET", 302, elsewhere).headers;
            let names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
            assert!(names.contains(&"x-plain"), "{names:?}");
            for gone in ["authorization", "cookie", "x-key"] {
                assert!(!names.contains(&gone), "{elsewhere}: {names:?}");
            }
        }
    }

    #[test]
    fn a_body_with_a_secret_does_not_go_to_another_origin() {
        let redactor = Redactor::default();
        redactor.learn("k3y-s3cret");
        let request = HttpRequest {
            body: Some(json!({"key": "k3y-s3cret"})),
            ..HttpRequest::new("POST", "http://a.example/")
        };
        let from = request.prepare(&redactor).unwrap();
        let go = |status, to| next(&from, status, to, &redactor);
        assert!(go(StatusCode::TEMPORARY_REDIRECT, "http://b.example/").is_err());
        assert!(go(StatusCode::SEE_OTHER, "http://b.example/").is_ok());
        assert!(go(StatusCode::TEMPORARY_REDIRECT, "/two").is_ok());
        assert!(go(StatusCode::FOUND, "file:///etc/passwd").is_err());
    }
}
