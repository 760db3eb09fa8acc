//! HTTP as steps use it: one client per engine, with the operator's rules.
//!
//! ```text
//!   HttpRequest ──prepare──▶ Outgoing ──address rules──▶ connection ──▶ answer ──▶ HttpResponse
//!                               ▲                                         │        or HttpStream
//!                               └──────────── redirect, checked anew ─────┘
//! ```
//!
//! Nothing here knows about workflows: whoever calls decides what an error means for a step
//! ([`HttpError::is_retryable`], [`HttpError::failure`]). Proxies of the environment are not used,
//! because behind a proxy nobody could say which address is reached.

mod address;
mod error;
mod redirect;
mod request;
mod resolver;
mod response;
mod settings;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Certificate, Client, Response};
use tokio::time::Instant;

pub use address::{AddressRule, AddressRuleError, AddressRules};
pub use error::HttpError;
pub use request::HttpRequest;
pub use resolver::Lookup;
pub use response::HttpResponse;
pub use settings::HttpSettings;
pub use stream::HttpStream;

use crate::secret::{RedactedText, Redactor};
use address::Denied;
pub(crate) use request::{Outgoing, essence};
pub(crate) use response::is_json;
use stream::Patience;

/// A loop of redirects has to end somewhere.
const REDIRECTS_MAX: u32 = 20;

/// How much of a refusal's body is kept.
const REFUSAL_SHOWN: usize = 1024;

/// How much of a refusal's body is read: enough to see a secret whole that begins in what is kept.
const REFUSAL_READ: usize = 64 * 1024;

/// Calls URLs. Cloning it copies pointers; connections are kept and shared.
#[derive(Clone)]
pub struct HttpClient {
    client: Client,
    settings: Arc<HttpSettings>,
    rules: Arc<AddressRules>,
    secrets: Redactor,
}

impl HttpClient {
    /// A client that keeps these secrets out of everything it answers.
    ///
    /// # Errors
    /// When a certificate of the settings is none, or TLS is not to be had.
    pub fn new(settings: HttpSettings, secrets: Redactor) -> Result<Self, HttpError> {
        Self::with_lookup(settings, secrets, resolver::system())
    }

    /// The same, with names looked up elsewhere than by the system.
    ///
    /// # Errors
    /// As [`HttpClient::new`].
    pub fn with_lookup(
        settings: HttpSettings,
        secrets: Redactor,
        lookup: Lookup,
    ) -> Result<Self, HttpError> {
        // Refused when the program has chosen a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let no_client = |error: reqwest::Error| HttpError::Client { message: causes(&error) };
        let mut roots = Vec::new();
        for pem in &settings.ca_certificates {
            roots.extend(Certificate::from_pem_bundle(pem.as_bytes()).map_err(no_client)?);
        }
        let rules = Arc::new(settings.addresses.clone());
        let guarded = resolver::Guarded { rules: Arc::clone(&rules), lookup };
        let client = Client::builder()
            .user_agent(concat!("abide/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(settings.connect_timeout)
            .dns_resolver(Arc::new(guarded))
            .tls_certs_merge(roots)
            .build()
            .map_err(no_client)?;
        Ok(Self { client, settings: Arc::new(settings), rules, secrets })
    }

    /// Calls a URL and reads the whole answer.
    ///
    /// # Errors
    /// When there is none, or its status is not 2xx.
    pub async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let limit = request.timeout.unwrap_or(self.settings.timeout);
        let outgoing = request.prepare(&self.secrets)?;
        let name = outgoing.name(&self.secrets);
        let answer = async {
            let mut response = self.exchange(outgoing, request.follow_redirects).await?;
            let body = self.read(&name, &mut response).await?;
            let status = response.status().as_u16();
            Ok(HttpResponse::new(status, response.headers(), body, &self.secrets))
        };
        within(limit, &name, answer).await
    }

    /// Calls a URL whose answer is shown while it comes.
    ///
    /// # Errors
    /// When there is none, or its status is not 2xx.
    pub async fn stream(&self, request: HttpRequest) -> Result<HttpStream, HttpError> {
        let limit = request.timeout.unwrap_or(self.settings.timeout);
        let patience = match request.timeout {
            Some(limit) => Patience::Until(Instant::now() + limit, limit),
            None => Patience::Pause(limit),
        };
        let outgoing = request.prepare(&self.secrets)?;
        let name = outgoing.name(&self.secrets);
        let exchange = self.exchange(outgoing, request.follow_redirects);
        let response = within(limit, &name, exchange).await?;
        Ok(HttpStream {
            response,
            request: name,
            text: RedactedText::new(self.secrets.clone()),
            secrets: self.secrets.clone(),
            whole: String::new(),
            received: 0,
            limit: self.settings.stream_max,
            patience,
            ended: false,
        })
    }

    /// What is kept out of answers.
    #[must_use]
    pub fn secrets(&self) -> &Redactor {
        &self.secrets
    }

    pub(crate) fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// Sends a request, and what its redirects make of it; the head of an answer that is 2xx.
    pub(crate) async fn exchange(
        &self,
        mut outgoing: Outgoing,
        redirects: u32,
    ) -> Result<Response, HttpError> {
        if redirects > REDIRECTS_MAX {
            let message = format!("{redirects}; at most {REDIRECTS_MAX} redirects are followed");
            return Err(HttpError::invalid("followRedirects", message));
        }
        let first = outgoing.name(&self.secrets);
        for left in (0..=redirects).rev() {
            let response = self.send(&outgoing).await?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            let location = redirect::location(status, response.headers());
            let (Some(location), true) = (location, redirects > 0) else {
                return Err(self.refusal(&outgoing, response).await);
            };
            let refused = |message| HttpError::RedirectRefused { request: first.clone(), message };
            if left == 0 {
                return Err(refused(format!("more than {redirects} times")));
            }
            outgoing =
                redirect::next(&outgoing, status, location, &self.secrets).map_err(refused)?;
        }
        Err(HttpError::invalid("followRedirects", "no request was sent"))
    }

    /// One request. A host that is spelled as an address is not looked up, so it is checked here;
    /// names are checked where their address is found.
    async fn send(&self, outgoing: &Outgoing) -> Result<Response, HttpError> {
        let name = outgoing.name(&self.secrets);
        let denied = |Denied { host, rule }: Denied| HttpError::AddressDenied {
            request: name.clone(),
            host: self.secrets.redact(&host),
            rule,
        };
        let address = outgoing.url.host().and_then(|host| address::literal(&host));
        if let (Some(host), Some(address)) = (outgoing.url.host_str(), address) {
            self.rules.check(host, address).map_err(denied)?;
        }
        let sent = self.client.execute(outgoing.to_request()).await;
        sent.map_err(|error| match denied_by(&error) {
            Some(reason) => denied(reason.clone()),
            None if error.is_timeout() => {
                HttpError::Timeout { request: name.clone(), limit: self.settings.connect_timeout }
            }
            None => network(&name, error, &self.secrets),
        })
    }

    /// The body, within its limit.
    pub(crate) async fn read(
        &self,
        name: &str,
        response: &mut Response,
    ) -> Result<Vec<u8>, HttpError> {
        let limit = self.settings.body_max;
        let too_large = || HttpError::TooLarge { request: name.to_owned(), limit };
        if response.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        let broken = |error| network(name, error, &self.secrets);
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            if body.len() + piece.len() > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    /// What a status that is not 2xx is reported as.
    async fn refusal(&self, outgoing: &Outgoing, mut response: Response) -> HttpError {
        let mut text = RedactedText::new(self.secrets.clone());
        let (mut body, mut read) = (String::new(), 0);
        // A body that breaks off tells less, and changes nothing about the refusal.
        while let Ok(Some(piece)) = response.chunk().await {
            read += piece.len();
            body.push_str(&text.push(&piece));
            if read > REFUSAL_READ {
                break;
            }
        }
        if read <= REFUSAL_READ {
            body.push_str(&text.finish());
        }
        let location = redirect::location(response.status(), response.headers());
        HttpError::Status {
            request: outgoing.name(&self.secrets),
            status: response.status().as_u16(),
            body: cut(body, REFUSAL_SHOWN),
            location: location.map(|location| self.secrets.redact(location)),
            retry_after: retry_after(response.headers()),
        }
    }
}

/// An attempt's time.
pub(crate) async fn within<T>(
    limit: Duration,
    request: &str,
    work: impl Future<Output = Result<T, HttpError>>,
) -> Result<T, HttpError> {
    let in_time = tokio::time::timeout(limit, work).await;
    in_time.unwrap_or_else(|_| Err(HttpError::Timeout { request: request.to_owned(), limit }))
}

/// What the network said, without the URL, which may hold secrets.
pub(crate) fn network(request: &str, error: reqwest::Error, secrets: &Redactor) -> HttpError {
    let message = secrets.redact(&causes(&error.without_url()));
    HttpError::Network { request: request.to_owned(), message }
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The beginning of a text, at most so many bytes.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    text
}

/// The rule of the resolver that stopped a connection.
fn denied_by<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e Denied> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(denied) = error.downcast_ref::<Denied>() {
            return Some(denied);
        }
        cause = error.source();
    }
    None
}

/// `Retry-After`: seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    let seconds = date.as_second() - jiff::Timestamp::now().as_second();
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let read =
            |text: &str| retry_after(&HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]));
        assert_eq!(read("120"), Some(Duration::from_secs(120)));
        assert_eq!(read("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert!(read("Wed, 21 Oct 2099 07:28:00 GMT") > Some(Duration::from_secs(1)));
        assert_eq!(read("soon"), None);
    }
}
