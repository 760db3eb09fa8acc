//! Posts to one address, over connections that are kept.

use std::time::Duration;

use abide::{Error, Result};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response};
use url::Url;

use crate::sink::SinkError;

/// How much of an answer is read, and for how long, so that its connection can be used again.
const ANSWER_MAX: usize = 64 * 1024;
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// See the module. It connects when it has something to send.
pub(crate) struct Poster {
    client: Client,
    url: Url,
    /// With every request.
    headers: HeaderMap,
}

impl Poster {
    pub(crate) fn new(url: Url, headers: HeaderMap) -> Result<Self> {
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
        let wrong = |error: reqwest::Error| Error::Invalid {
            what: "sink".into(),
            message: error.to_string(),
        };
        Ok(Self { client: client.map_err(wrong)?, url, headers })
    }

    /// Every answer but a 2xx is an error.
    pub(crate) async fn post(
        &self,
        content_type: &'static str,
        headers: impl IntoIterator<Item = (&'static str, String)>,
        body: Vec<u8>,
    ) -> Result<(), SinkError> {
        let mut request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, content_type);
        for (name, value) in headers {
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

    /// Where it posts to, without anything secret.
    pub(crate) fn address(&self) -> String {
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
