//! The sink that posts batches.

use std::sync::Arc;
use std::time::Duration;

use abide::{Error, Result};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response};
use serde::Serialize;
use url::Url;

use crate::config::TrackerConfig;
use crate::event::TrackedEvent;
use crate::signature::Signer;
use crate::sink::{Batch, Sink, SinkError};

/// How much of an answer is read, and for how long, so that its connection can be used again.
const ANSWER_MAX: usize = 64 * 1024;
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Posts `{"events": […]}` with a bearer token. Every answer but a 2xx is an error.
pub struct HttpSink {
    client: Client,
    url: Url,
    authorization: HeaderValue,
    signer: Option<Signer>,
}

#[derive(Serialize)]
struct Body<'b> {
    events: &'b [TrackedEvent],
}

impl HttpSink {
    /// The sink of a configuration. It connects when it has something to send.
    ///
    /// # Errors
    /// When the configuration can't work.
    pub fn new(config: &TrackerConfig) -> Result<Self> {
        let url = config.check()?;
        let wrong =
            |what: &'static str, message: String| Error::Invalid { what: what.into(), message };
        let authorization = HeaderValue::try_from(format!("Bearer {}", config.access_token));
        let mut authorization =
            authorization.map_err(|refused| wrong("accessToken", refused.to_string()))?;
        authorization.set_sensitive(true);
        let signer = config.signing_secret.as_deref().map(Signer::new).transpose()?;
        // Refused when the program has chosen a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            Client::builder()
                .user_agent(concat!("abide/", env!("CARGO_PKG_VERSION")))
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
        };
        let client = builder().build().or_else(|error| {
            // An image may come without any authorities. Plain HTTP needs none.
            tracing::warn!(%error, "the system's certificate authorities are not used");
            let none: [reqwest::Certificate; 0] = [];
            builder().tls_certs_only(none).build()
        });
        let client = client.map_err(|error| wrong("tracker", error.to_string()))?;
        Ok(Self { client, url, authorization, signer })
    }

    async fn post(&self, batch: &Batch) -> Result<(), SinkError> {
        let body = serde_json::to_vec(&Body { events: &batch.events }).map_err(SinkError::new)?;
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, self.authorization.clone());
        for (name, value) in self.signer.iter().flat_map(|signer| signer.headers(batch, &body)) {
            request = request.header(name, value);
        }
        // The address may hold a secret, and operators know it.
        let sent = request.body(body).send().await;
        let response = sent.map_err(|error| SinkError::new(causes(&error.without_url())))?;
        let status = response.status();
        tokio::spawn(tokio::time::timeout(ANSWER_TIME, drain(response)));
        if status.is_success() {
            return Ok(());
        }
        Err(SinkError::new(format!("it answered {status}")))
    }
}

impl Sink for HttpSink {
    fn send(&self, batch: Arc<Batch>) -> BoxFuture<'_, Result<(), SinkError>> {
        async move { self.post(&batch).await }.boxed()
    }

    fn address(&self) -> String {
        let mut shown = self.url.clone();
        // Refused for addresses that can't have them.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        shown.set_query(None);
        shown.set_fragment(None);
        shown.to_string()
    }
}

async fn drain(mut response: Response) {
    let mut read = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        if read > ANSWER_MAX {
            return;
        }
    }
}

/// An error with everything that led to it.
fn causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_anything_secret() {
        let config = TrackerConfig::new("https://user:pass@example.com/x?key=1#y", "token");
        assert_eq!(HttpSink::new(&config).unwrap().address(), "https://example.com/x");
    }
}
