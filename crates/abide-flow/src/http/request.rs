//! What a step asks, and how it is put on the wire.

use std::fmt;
use std::time::Duration;

use abide::trace;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;

use super::error::HttpError;
use crate::secret::Redactor;

/// The connection's own business: a step that set them could send a second request inside its first.
const NOT_FOR_STEPS: [&str; 8] = [
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// The header by which a server recognises a repeated request.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

const FORM: &str = "application/x-www-form-urlencoded";

/// One HTTP call, every template in it filled in.
#[derive(Clone)]
pub struct HttpRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// `http://` or `https://`.
    pub url: String,
    /// Added to the URL: an object. An array repeats its name, null is left out.
    pub query: Option<Value>,
    /// An object. An array repeats its header, null is left out.
    pub headers: Option<Value>,
    /// Sent as JSON; a text as it is, as `text/plain` unless `headers` has a content type. An
    /// object under `application/x-www-form-urlencoded` is sent as a form.
    pub body: Option<Value>,
    /// Sent as `Idempotency-Key` unless `headers` has one: the same for every attempt of a step.
    pub idempotency_key: Option<String>,
    /// How long until the last byte; by default, the settings' timeout.
    pub timeout: Option<Duration>,
    /// How many redirects to follow, at most 20.
    pub follow_redirects: u32,
}

/// A request in the terms of the wire.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

impl HttpRequest {
    /// A request with nothing but a method and a URL.
    #[must_use]
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            query: None,
            headers: None,
            body: None,
            idempotency_key: None,
            timeout: None,
            follow_redirects: 0,
        }
    }

    pub(crate) fn prepare(&self, redactor: &Redactor) -> Result<Outgoing, HttpError> {
        let clean = |text: &str| redactor.redact(text);
        let method = Method::from_bytes(self.method.trim().to_ascii_uppercase().as_bytes())
            .map_err(|_| {
                let method = clean(&self.method);
                HttpError::invalid("method", format!("{method:?}; right would be GET or POST"))
            })?;
        let mut headers = headers_of(self.headers.as_ref(), redactor)?;
        if let Some(key) = &self.idempotency_key
            && !headers.contains_key(IDEMPOTENCY_KEY)
        {
            let value = HeaderValue::from_str(key)
                .map_err(|_| HttpError::invalid("idempotency key", "it is no header value"))?;
            headers.insert(IDEMPOTENCY_KEY, value);
        }
        let mut url = Url::parse(&self.url)
            .map_err(|why| HttpError::invalid("url", format!("{:?}: {why}", clean(&self.url))))?;
        check_url(&url)
            .map_err(|why| HttpError::invalid("url", format!("{:?}: {why}", clean(&self.url))))?;
        add_query(&mut url, self.query.as_ref())?;
        // Of the step that asks, unless its document knows better.
        if let Some(trace) = trace::current().filter(|_| !headers.contains_key(trace::NAME))
            && let Ok(value) = HeaderValue::from_str(&trace.to_string())
        {
            headers.insert(trace::NAME, value);
        }
        let body = self.body.as_ref().map(|body| encode_body(body, &mut headers)).transpose()?;
        Ok(Outgoing { method, url, headers, body })
    }
}

impl fmt::Debug for HttpRequest {
    /// Says where to, not what: everything else may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = Url::parse(&self.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("host", &host)
            .finish_non_exhaustive()
    }
}

impl Outgoing {
    pub(crate) fn to_request(&self) -> reqwest::Request {
        let mut request = reqwest::Request::new(self.method.clone(), self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = self.body.clone().map(Into::into);
        request
    }

    /// The request as messages name it: without what may be private, the query and the user.
    pub(crate) fn name(&self, redactor: &Redactor) -> String {
        let url = &self.url;
        let mut place = format!("{}://{}", url.scheme(), url.host_str().unwrap_or(""));
        if let Some(port) = url.port() {
            place = format!("{place}:{port}");
        }
        redactor.redact(&format!("{} {place}{}", self.method, url.path()))
    }
}

/// Whether a URL is one that can be called at all.
pub(crate) fn check_url(url: &Url) -> Result<(), String> {
    match url.scheme() {
        "http" | "https" => Ok(()),
        other => Err(format!("the scheme {other:?} is neither http nor https")),
    }
}

/// A scalar as text; null is nothing.
fn scalar(value: &Value) -> Result<Option<String>, &'static str> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Bool(_) | Value::Number(_) => Ok(Some(value.to_string())),
        Value::Array(_) | Value::Object(_) => Err("expected a text, a number or true or false"),
    }
}

/// Names and texts, one pair per value.
fn pairs(field: &'static str, value: &Value) -> Result<Vec<(String, String)>, HttpError> {
    let Value::Object(members) = value else {
        return Err(HttpError::invalid(field, "expected an object"));
    };
    let mut pairs = Vec::new();
    for (name, value) in members {
        let single = std::slice::from_ref(value);
        for item in value.as_array().map_or(single, Vec::as_slice) {
            let text =
                scalar(item).map_err(|why| HttpError::invalid(format!("{field}.{name}"), why))?;
            pairs.extend(text.map(|text| (name.clone(), text)));
        }
    }
    Ok(pairs)
}

fn headers_of(value: Option<&Value>, redactor: &Redactor) -> Result<HeaderMap, HttpError> {
    let mut headers = HeaderMap::new();
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(headers) };
    for (name, text) in pairs("headers", value)? {
        let wrong = |why: &str| HttpError::invalid(format!("headers.{name}"), why);
        let header: HeaderName = name.parse().map_err(|_| wrong("this is no header name"))?;
        if NOT_FOR_STEPS.contains(&header.as_str()) {
            return Err(wrong("this header belongs to the connection"));
        }
        let mut value = HeaderValue::from_str(text.trim())
            .map_err(|_| wrong("the value has characters that no header may have"))?;
        value.set_sensitive(redactor.knows(&text));
        headers.append(header, value);
    }
    Ok(headers)
}

fn add_query(url: &mut Url, query: Option<&Value>) -> Result<(), HttpError> {
    let Some(query) = query.filter(|query| !query.is_null()) else { return Ok(()) };
    let pairs = pairs("query", query)?;
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    Ok(())
}

fn encode_body(body: &Value, headers: &mut HeaderMap) -> Result<Bytes, HttpError> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_form = essence(given).eq_ignore_ascii_case(FORM);
    let (bytes, content_type) = match body {
        Value::String(text) => (text.clone().into_bytes(), "text/plain; charset=utf-8"),
        Value::Object(_) if is_form => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            (form.extend_pairs(pairs("body", body)?).finish().into_bytes(), FORM)
        }
        json => (json.to_string().into_bytes(), "application/json"),
    };
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(content_type));
    Ok(bytes.into())
}

/// A media type without its parameters.
pub(crate) fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or("").trim()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prepare(request: &HttpRequest) -> Result<Outgoing, HttpError> {
        request.prepare(&Redactor::default())
    }

    #[test]
    fn query_is_added_repeated_and_left_out() {
        let query = json!({"a": [1, "x y"], "none": null, "b": true});
        let request =
            HttpRequest { query: Some(query), ..HttpRequest::new("get", "http://h/p?z=0") };
        let outgoing = prepare(&request).unwrap();
        assert_eq!(outgoing.url.as_str(), "http://h/p?z=0&a=1&a=x+y&b=true");
        assert_eq!(outgoing.method, Method::GET);
    }

    #[test]
    fn the_body_decides_its_content_type_unless_the_step_does() {
        let sent = |body: Value, headers: Value| {
            let request = HttpRequest {
                body: Some(body),
                headers: Some(headers),
                ..HttpRequest::new("POST", "http://h/")
            };
            let outgoing = prepare(&request).unwrap();
            let content_type = outgoing.headers[CONTENT_TYPE].to_str().unwrap().to_owned();
            (String::from_utf8(outgoing.body.unwrap().to_vec()).unwrap(), content_type)
        };
        let check = |found: (String, String), body: &str, content_type: &str| {
            assert_eq!(found, (body.to_owned(), content_type.to_owned()));
        };
        check(sent(json!({"a": 1}), json!({})), r#"{"a":1}"#, "application/json");
        check(sent(json!(null), json!({})), "null", "application/json");
        check(sent(json!("hi"), json!({})), "hi", "text/plain; charset=utf-8");
        check(sent(json!("<a/>"), json!({"Content-Type": "text/xml"})), "<a/>", "text/xml");
        check(
            sent(json!({"a": "x&y", "b": 2}), json!({"content-type": FORM})),
            "a=x%26y&b=2",
            FORM,
        );
    }

    #[test]
    fn what_can_not_be_sent_names_its_field() {
        let check = |request: HttpRequest, expect: &str| {
            let Err(refused) = prepare(&request) else { panic!("{request:?} was taken") };
            assert!(refused.to_string().contains(expect), "{refused}");
            assert!(!refused.is_retryable());
        };
        let base = HttpRequest::new("GET", "http://h/");
        check(HttpRequest { method: "G T".into(), ..base.clone() }, "invalid method");
        check(HttpRequest { url: "stock/reserve".into(), ..base.clone() }, "invalid url");
        check(HttpRequest { url: "file:///etc/passwd".into(), ..base.clone() }, "neither http nor");
        let headers = |value: Value| HttpRequest { headers: Some(value), ..base.clone() };
        check(headers(json!({"x": {"y": 1}})), "headers.x");
        check(headers(json!({"x": "a\r\nb: c"})), "headers.x");
        check(headers(json!({"Content-Length": "3"})), "belongs to the connection");
        check(headers(json!(["x"])), "expected an object");
        check(HttpRequest { query: Some(json!({"q": {"y": 1}})), ..base }, "query.q");
    }

    #[test]
    fn the_idempotency_key_of_the_document_wins() {
        let key = |headers: Value| {
            let request = HttpRequest {
                idempotency_key: Some("wf_1/charge".into()),
                headers: Some(headers),
                ..HttpRequest::new("POST", "http://h/")
            };
            prepare(&request).unwrap().headers[IDEMPOTENCY_KEY].clone()
        };
        assert_eq!(key(json!({})), "wf_1/charge");
        assert_eq!(key(json!({"Idempotency-Key": "mine"})), "mine");
    }
}
