//! What a call answered, as a step's output.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, SET_COOKIE};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::essence;
use crate::secret::Redactor;

/// The answer of a call: `{status, headers, body}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpResponse {
    /// 200 to 299.
    pub status: u16,
    /// By name in lower case. Several of one name are joined by `, `; `set-cookie` is an array.
    pub headers: Map<String, Value>,
    /// - nothing: null
    /// - content type `application/json` or `…+json`: the value; the text, if it is no JSON after all
    ///   (the server has already done what it was asked, so this is no reason to ask again)
    /// - else, UTF-8: the text
    /// - else: base64, and `bodyEncoding` says so
    pub body: Value,
    /// `base64`, when the body is bytes that are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_encoding: Option<String>,
}

impl HttpResponse {
    /// What arrived. Secrets that the server repeats are gone from it.
    pub(crate) fn new(
        status: u16,
        headers: &HeaderMap,
        bytes: Vec<u8>,
        secrets: &Redactor,
    ) -> Self {
        let (mut body, mut body_encoding) = (Value::Null, None);
        if !bytes.is_empty() {
            let json = is_json(headers).then(|| serde_json::from_slice(&bytes).ok()).flatten();
            body = json.unwrap_or_else(|| {
                String::from_utf8(bytes).map_or_else(
                    |bytes| {
                        body_encoding = Some("base64".to_owned());
                        Value::String(STANDARD.encode(bytes.as_bytes()))
                    },
                    Value::String,
                )
            });
        }
        secrets.redact_value(&mut body);
        Self { status, headers: headers_out(headers, secrets), body, body_encoding }
    }
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.map(essence).unwrap_or("").to_ascii_lowercase();
    matches!(essence.as_str(), "application/json" | "text/json") || essence.ends_with("+json")
}

/// Headers as JSON.
pub(crate) fn headers_out(headers: &HeaderMap, secrets: &Redactor) -> Map<String, Value> {
    // Headers are bytes; those that are no UTF-8 were Latin-1 once.
    let text = |value: &HeaderValue| {
        let bytes = value.as_bytes();
        let text = std::str::from_utf8(bytes)
            .map_or_else(|_| bytes.iter().map(|byte| char::from(*byte)).collect(), str::to_owned);
        secrets.redact(&text)
    };
    let of_name = |name| {
        let mut texts = headers.get_all(name).iter().map(text);
        let value = if name == SET_COOKIE {
            texts.collect::<Vec<_>>().into()
        } else {
            let first = texts.next().unwrap_or_default();
            texts.fold(first, |all, next| format!("{all}, {next}")).into()
        };
        (name.as_str().to_owned(), value)
    };
    headers.keys().map(of_name).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(content_type: &str, bytes: &[u8]) -> (Value, Option<String>) {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
        let response = HttpResponse::new(200, &headers, bytes.to_vec(), &Redactor::default());
        (response.body, response.body_encoding)
    }

    #[test]
    fn a_body_is_json_text_or_base64() {
        assert_eq!(body("application/json; charset=utf-8", b"{\"a\":1}"), (json!({"a": 1}), None));
        assert_eq!(body("application/problem+json", b"[1]"), (json!([1]), None));
        assert_eq!(body("text/plain", b"[1]"), (json!("[1]"), None));
        assert_eq!(body("application/json", b"OK"), (json!("OK"), None));
        assert_eq!(body("application/json", b""), (json!(null), None));
        assert_eq!(body("image/png", b"\x89PNG"), (json!("iVBORw=="), Some("base64".into())));
    }

    #[test]
    fn headers_of_one_name_are_joined_except_cookies() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("vary", "a"), ("vary", "b"), ("set-cookie", "x=1"), ("etag", "\"e\"")]
        {
            headers.append(name, value.parse().unwrap());
        }
        let shown = Value::Object(headers_out(&headers, &Redactor::default()));
        assert_eq!(shown, json!({"vary": "a, b", "set-cookie": ["x=1"], "etag": "\"e\""}));
    }
}
