//! The sink that posts batches as JSON.

use std::sync::Arc;

use abide::{Error, Result};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Serialize;

use crate::config::TrackerConfig;
use crate::event::TrackedEvent;
use crate::poster::Poster;
use crate::signature::Signer;
use crate::sink::{Batch, Sink, SinkError};

/// Posts `{"events": […]}` with a bearer token. Every answer but a 2xx is an error.
pub struct HttpSink {
    poster: Poster,
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
        let token = HeaderValue::try_from(format!("Bearer {}", config.access_token));
        let mut token = token.map_err(|refused| Error::Invalid {
            what: "accessToken".into(),
            message: refused.to_string(),
        })?;
        token.set_sensitive(true);
        let signer = config.signing_secret.as_deref().map(Signer::new).transpose()?;
        let poster = Poster::new(url, HeaderMap::from_iter([(AUTHORIZATION, token)]))?;
        Ok(Self { poster, signer })
    }

    async fn post(&self, batch: &Batch) -> Result<(), SinkError> {
        let body = serde_json::to_vec(&Body { events: &batch.events }).map_err(SinkError::new)?;
        let signed = self.signer.as_ref().map(|signer| signer.headers(batch, &body));
        self.poster.post("application/json", signed.into_iter().flatten(), body).await
    }
}

impl Sink for HttpSink {
    fn send(&self, batch: Arc<Batch>) -> BoxFuture<'_, Result<(), SinkError>> {
        async move { self.post(&batch).await }.boxed()
    }

    fn address(&self) -> String {
        self.poster.address()
    }
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
