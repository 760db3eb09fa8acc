//! One request after the other, and what their answers mean.
//!
//! What changes something carries an id that was chosen before the first try, so it may be sent again
//! when the server is busy or the connection breaks: whatever came of the first try is not done twice.

use std::time::Duration;

use abide::trace::{self, Trace};
use reqwest::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use super::reach::Reach;
use crate::error::Error;

/// How often something is sent, at most.
const TRIES: u32 = 4;

/// How long to wait before the second try; the next ones wait longer.
const PAUSE: Duration = Duration::from_millis(200);

/// Longer than a server lets anybody wait.
const PATIENCE: Duration = Duration::from_secs(330);

/// A server.
pub(super) struct Api {
    base: Url,
    token: Option<String>,
    client: Client,
}

/// What a server answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// As it came.
    pub(super) text: String,
}

impl Answer {
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.text).map_err(|wrong| {
            Error::Unexpected(format!("the server's answer is not what it should be: {wrong}"))
        })
    }
}

/// What is asked for.
pub(super) struct Asked<'a> {
    method: Method,
    path: Vec<&'a str>,
    query: Vec<(&'static str, String)>,
    body: Option<(&'static str, String)>,
    is_repeatable: bool,
}

impl<'a> Asked<'a> {
    pub(super) fn get(path: &[&'a str]) -> Self {
        Self::new(Method::GET, path, true)
    }

    pub(super) fn post(path: &[&'a str]) -> Self {
        Self::new(Method::POST, path, false)
    }

    /// Setting something to the same again changes nothing.
    pub(super) fn put(path: &[&'a str]) -> Self {
        Self::new(Method::PUT, path, true)
    }

    fn new(method: Method, path: &[&'a str], is_repeatable: bool) -> Self {
        Self { method, path: path.to_vec(), query: Vec::new(), body: None, is_repeatable }
    }

    pub(super) fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    pub(super) fn json(mut self, body: &impl Serialize) -> Result<Self, Error> {
        self.body = Some(("application/json", serde_json::to_string(body)?));
        Ok(self)
    }

    pub(super) fn yaml(mut self, text: String) -> Self {
        self.body = Some(("application/yaml", text));
        self
    }

    /// A second try changes nothing: the server knows it by an id, or it sets something to the same again.
    pub(super) fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }
}

impl Api {
    pub(super) fn new(reach: &Reach) -> Result<Self, Error> {
        let wrong = |why: String| {
            let right = "write it like http://127.0.0.1:7878";
            Error::Refused(format!("{:?} is no address of a server: {why}; {right}", reach.url))
        };
        let base = Url::parse(&reach.url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(wrong("it has no http:// or https:// in front".to_owned()));
        }
        let token = reach.token.clone().filter(|token| !token.is_empty());
        let client = client(&base).map_err(|error| wrong(causes(&error)))?;
        Ok(Self { base, token, client })
    }

    /// Where the server is.
    pub(super) fn url(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    /// Sends it, again if need be, and answers what is not a refusal.
    pub(super) async fn ask(&self, asked: Asked<'_>) -> Result<Answer, Error> {
        for nth in 1.. {
            let may_repeat = nth < TRIES;
            let pause = match self.request(&asked)?.send().await {
                Ok(response) => match read(response).await {
                    Ok((answer, _)) if answer.status.is_success() => return Ok(answer),
                    Ok((answer, after)) if may_repeat && is_busy(answer.status) => after,
                    Ok((answer, _)) => return Err(refusal(&answer)),
                    Err(_) if may_repeat && asked.is_repeatable => None,
                    Err(error) => return Err(self.lost(&error, asked.is_repeatable)),
                },
                Err(error) if error.is_connect() => {
                    return Err(Error::Unreachable { url: self.url(), why: causes(&error) });
                }
                Err(_) if may_repeat && asked.is_repeatable => None,
                Err(error) => return Err(self.lost(&error, asked.is_repeatable)),
            };
            tokio::time::sleep(pause.unwrap_or(PAUSE * nth)).await;
        }
        Err(Error::Unexpected("no try is left".to_owned()))
    }

    /// Opens a stream of events behind one that was seen.
    pub(super) async fn stream(
        &self,
        path: &[&str],
        last_seen: Option<&str>,
    ) -> Result<Response, Error> {
        let mut request = self.request(&Asked::get(path))?.header(ACCEPT, "text/event-stream");
        if let Some(id) = last_seen {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await;
        let response = response
            .map_err(|error| Error::Unreachable { url: self.url(), why: causes(&error) })?;
        if response.status().is_success() {
            return Ok(response);
        }
        match read(response).await {
            Ok((answer, _)) => Err(refusal(&answer)),
            Err(error) => Err(self.lost(&error, true)),
        }
    }

    fn request(&self, asked: &Asked<'_>) -> Result<RequestBuilder, Error> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| Error::Refused(format!("{} is no address of a server", self.base)))?
            .pop_if_empty()
            .push("v1")
            .extend(&asked.path);
        if !asked.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&asked.query);
        }
        let mut request = self.client.request(asked.method.clone(), url);
        if let Some((media, body)) = &asked.body {
            request = request.header(CONTENT_TYPE, *media).body(body.clone());
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        // Whoever calls may be part of a trace, and says so as tools of OpenTelemetry do.
        if let Some(trace) = trace_of_caller() {
            request = request.header(trace::NAME, trace.to_string());
        }
        Ok(request.timeout(PATIENCE))
    }

    fn lost(&self, error: &reqwest::Error, is_repeatable: bool) -> Error {
        let advice = if is_repeatable {
            "try again: nothing is done twice"
        } else {
            "whether it was done is not known: look with `abide show`"
        };
        Error::Lost { url: self.url(), why: causes(error), advice }
    }
}

fn client(base: &Url) -> Result<Client, reqwest::Error> {
    // Refused when it was done already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let is_near = base.host_str().is_some_and(|host| {
        host == "localhost" || host.starts_with("127.") || host.trim_matches(['[', ']']) == "::1"
    });
    let builder = || {
        let builder = Client::builder().user_agent(concat!("abide/", env!("CARGO_PKG_VERSION")));
        // No proxy knows the way to this machine.
        if is_near { builder.no_proxy() } else { builder }
    };
    // An image may come without any authorities. Plain HTTP needs none.
    builder().build().or_else(|_| builder().tls_certs_only([]).build())
}

async fn read(response: Response) -> Result<(Answer, Option<Duration>), reqwest::Error> {
    let status = response.status();
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let text = response.text().await?;
    Ok((Answer { status, text }, after.map(|after| after.min(Duration::from_secs(5)))))
}

/// Whether the server asks to come again, having done nothing.
fn is_busy(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}

#[derive(Deserialize)]
struct Refusal {
    error: RefusalBody,
}

#[derive(Deserialize)]
struct RefusalBody {
    code: String,
    message: String,
}

fn refusal(answer: &Answer) -> Error {
    match serde_json::from_str(&answer.text) {
        Ok(Refusal { error: RefusalBody { code, message } }) => {
            Error::Api { code, message: message.trim_end().to_owned() }
        }
        Err(_) => {
            let message = "what answers there is no Abide server".to_owned();
            Error::Api { code: format!("HTTP {}", answer.status.as_u16()), message }
        }
    }
}

/// An error with everything that led to it: the last cause says most.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

fn trace_of_caller() -> Option<Trace> {
    std::env::var("TRACEPARENT").ok()?.parse().ok()
}
