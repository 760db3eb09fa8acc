//! An answer that is shown while it comes.

use std::time::Duration;

use futures_util::stream::{self, Stream};
use reqwest::header::HeaderMap;
use tokio::time::Instant;

use super::error::HttpError;
use super::response::{HttpResponse, headers_out};
use crate::secret::{RedactedText, Redactor};

/// The text of an answer, piece by piece. Bytes that are no UTF-8 become `�`; a secret that the
/// server repeats becomes `***`, also when it comes in two pieces.
pub struct HttpStream {
    pub(crate) response: reqwest::Response,
    pub(crate) request: String,
    pub(crate) secrets: Redactor,
    pub(crate) text: RedactedText,
    /// What was handed out so far.
    pub(crate) whole: String,
    pub(crate) received: usize,
    pub(crate) limit: usize,
    pub(crate) patience: Patience,
    pub(crate) ended: bool,
}

/// How long a stream may take.
#[derive(Clone, Copy)]
pub(crate) enum Patience {
    /// All of it, until then.
    Until(Instant, Duration),
    /// Each pause.
    Pause(Duration),
}

impl HttpStream {
    /// 200 to 299.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The next piece, or none at the end.
    ///
    /// # Errors
    /// When the connection breaks, the answer is over its limit, or takes too long.
    pub async fn next(&mut self) -> Result<Option<String>, HttpError> {
        let piece = self.read().await?;
        self.whole.push_str(piece.as_deref().unwrap_or_default());
        Ok(piece)
    }

    /// The same, for somebody who keeps the text.
    async fn read(&mut self) -> Result<Option<String>, HttpError> {
        while !self.ended {
            let piece = match self.receive().await? {
                Some(bytes) => self.text.push(&bytes),
                None => {
                    self.ended = true;
                    self.text.finish()
                }
            };
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// The answer without its body, and the pieces of that, as a stream that ends after an error.
    pub(crate) fn split(
        self,
    ) -> (HttpResponse, impl Stream<Item = Result<String, HttpError>> + Send + use<>) {
        let head = self.response_with(String::new());
        let pieces = stream::unfold(Some(self), |state| async {
            let mut source = state?;
            match source.read().await {
                Ok(piece) => piece.map(|piece| (Ok(piece), Some(source))),
                Err(error) => Some((Err(error), None)),
            }
        });
        (head, pieces)
    }

    /// The pieces, as a stream that ends after an error.
    pub fn chunks(&mut self) -> impl Stream<Item = Result<String, HttpError>> + Send + '_ {
        stream::unfold(Some(self), |state| async {
            let source = state?;
            match source.next().await {
                Ok(piece) => piece.map(|piece| (Ok(piece), Some(source))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Reads what is left; the answer with the whole text as its body, what was handed out included.
    ///
    /// # Errors
    /// As [`HttpStream::next`].
    pub async fn finish(mut self) -> Result<HttpResponse, HttpError> {
        while self.next().await?.is_some() {}
        let whole = std::mem::take(&mut self.whole);
        Ok(self.response_with(whole))
    }

    fn response_with(&self, text: String) -> HttpResponse {
        let (status, headers) = (self.status(), self.headers());
        HttpResponse { status, headers, body: text.into(), body_encoding: None }
    }

    fn headers(&self) -> serde_json::Map<String, serde_json::Value> {
        let headers: &HeaderMap = self.response.headers();
        headers_out(headers, &self.secrets)
    }

    async fn receive(&mut self) -> Result<Option<bytes::Bytes>, HttpError> {
        let (end, limit) = match self.patience {
            Patience::Until(end, limit) => (end, limit),
            Patience::Pause(limit) => (Instant::now() + limit, limit),
        };
        let piece = tokio::time::timeout_at(end, self.response.chunk())
            .await
            .map_err(|_| HttpError::Timeout { request: self.request.clone(), limit })?
            .map_err(|error| super::network(&self.request, error, &self.secrets))?;
        self.received += piece.as_ref().map_or(0, bytes::Bytes::len);
        if self.received > self.limit {
            return Err(HttpError::TooLarge { request: self.request.clone(), limit: self.limit });
        }
        Ok(piece)
    }
}

impl std::fmt::Debug for HttpStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpStream").field("request", &self.request).finish_non_exhaustive()
    }
}
