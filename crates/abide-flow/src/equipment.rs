//! What documents may use of the program that runs them.

use abide::{BoxError, Error, Failure, NonRetryable};
use futures_util::stream::{BoxStream, StreamExt};
use serde_json::Value;

use crate::action::Actions;
use crate::field::{Field, Unresolved};
use crate::flow::{Call, Http, Tool};
use crate::http::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpSettings};
use crate::interpret::{Snapshot, unresolved};
use crate::secret::{EnvironmentSecrets, Revealed, Secrets, Vault};
use crate::tool::{ToolCall, ToolClient};

/// Functions, connections and secrets for the steps of documents. One per engine.
pub struct Equipment {
    actions: Actions,
    vault: Vault,
    http: HttpClient,
    tools: ToolClient,
}

impl Equipment {
    /// With secrets from the environment and the settings as shipped.
    ///
    /// # Errors
    /// When TLS is not to be had.
    pub fn new() -> Result<Self, HttpError> {
        Self::with(HttpSettings::default(), EnvironmentSecrets::default())
    }

    /// With these settings and secrets from this place.
    ///
    /// # Errors
    /// When a certificate of the settings is none, or TLS is not to be had.
    pub fn with(
        settings: HttpSettings,
        secrets: impl Secrets + 'static,
    ) -> Result<Self, HttpError> {
        let vault = Vault::new(secrets);
        let http = HttpClient::new(settings, vault.redactor().clone())?;
        let tools = ToolClient::new(http.clone());
        Ok(Self { actions: Actions::default(), vault, http, tools })
    }

    /// Functions that documents may call.
    #[must_use]
    pub fn actions(mut self, actions: Actions) -> Self {
        self.actions = actions;
        self
    }

    /// Calls a URL. The key is the same for every attempt.
    pub(crate) async fn http(
        &self,
        known: &Snapshot,
        http: &Http,
        key: String,
    ) -> Result<Value, BoxError> {
        let request = self.request(known, http, key).await?;
        let answered = if http.stream {
            match self.http.stream(request).await {
                Ok(stream) => stream.finish().await,
                Err(error) => Err(error),
            }
        } else {
            self.http.call(request).await
        };
        Ok(serde_json::to_value(answered.map_err(|error| failed(&error))?)?)
    }

    /// Calls a URL whose answer is shown while it comes: the answer without its body, and the pieces of that.
    pub(crate) async fn http_stream(
        &self,
        known: &Snapshot,
        http: &Http,
        key: String,
    ) -> Result<(HttpResponse, BoxStream<'static, Result<String, BoxError>>), BoxError> {
        let request = self.request(known, http, key).await?;
        let (head, pieces) =
            self.http.stream(request).await.map_err(|error| failed(&error))?.split();
        Ok((head, pieces.map(|piece| piece.map_err(|error| failed(&error))).boxed()))
    }

    async fn request(
        &self,
        known: &Snapshot,
        http: &Http,
        key: String,
    ) -> Result<HttpRequest, BoxError> {
        let fields = [
            ("http.method", http.method.as_ref()),
            ("http.url", Some(&http.url)),
            ("http.query", http.query.as_ref()),
            ("http.headers", http.headers.as_ref()),
            ("http.body", http.body.as_ref()),
        ];
        let filler = self.filler(known, &fields).await?;
        let method = filler.text_of(http.method.as_ref(), "http.method")?;
        Ok(HttpRequest {
            query: filler.value_of(http.query.as_ref(), "http.query")?,
            headers: filler.value_of(http.headers.as_ref(), "http.headers")?,
            body: filler.value_of(http.body.as_ref(), "http.body")?,
            idempotency_key: Some(key),
            follow_redirects: http.follow_redirects,
            ..HttpRequest::new(
                method.unwrap_or_else(|| "GET".to_owned()),
                filler.text(&http.url, "http.url")?,
            )
        })
    }

    /// Calls a tool.
    pub(crate) async fn tool(
        &self,
        known: &Snapshot,
        tool: &Tool,
        key: String,
    ) -> Result<Value, BoxError> {
        let fields = [
            ("tool.server", tool.server.as_ref()),
            ("tool.name", tool.name.as_ref()),
            ("tool.arguments", tool.arguments.as_ref()),
            ("tool.headers", tool.headers.as_ref()),
        ];
        let filler = self.filler(known, &fields).await?;
        let call = ToolCall {
            server: filler.text_of(tool.server.as_ref(), "tool.server")?,
            name: filler.text_of(tool.name.as_ref(), "tool.name")?,
            arguments: filler.value_of(tool.arguments.as_ref(), "tool.arguments")?,
            headers: filler.value_of(tool.headers.as_ref(), "tool.headers")?,
            idempotency_key: Some(key),
            timeout: None,
        };
        let answered = self.tools.call_tool(call).await;
        answered.map_err(|error| refused(error.failure(), error.is_retryable()))
    }

    /// Calls a function of the program. What it answers has no secret in it.
    pub(crate) async fn call(&self, known: &Snapshot, call: &Call) -> Result<Value, BoxError> {
        let fields = [("call.action", Some(&call.action)), ("call.input", call.input.as_ref())];
        let filler = self.filler(known, &fields).await?;
        let name = filler.text(&call.action, "call.action")?;
        let input = filler.value_of(call.input.as_ref(), "call.input")?.unwrap_or_default();
        let mut output = self.actions.call(&name, input).await?;
        self.vault.redactor().redact_value(&mut output);
        Ok(output)
    }

    /// Reads the secrets that fields name, and tells everything in them that has no value.
    async fn filler<'k>(
        &self,
        known: &'k Snapshot,
        fields: &[(&str, Option<&Field>)],
    ) -> Result<Filler<'k>, BoxError> {
        let given: Vec<&Field> = fields.iter().filter_map(|(_, field)| *field).collect();
        let revealed = self.vault.reveal(&given).await;
        let secrets = revealed.map_err(|error| refused(error.failure(), error.is_retryable()))?;
        let filler = Filler { known, secrets };
        let missing: Vec<Unresolved> =
            fields.iter().flat_map(|(at, field)| filler.missing(*field, at)).collect();
        match missing.is_empty() {
            true => Ok(filler),
            false => Err(refused(unresolved(&missing), false)),
        }
    }
}

/// A call that failed.
fn failed(error: &HttpError) -> BoxError {
    refused(error.failure(), error.is_retryable())
}

/// A failure that is recorded as it is.
fn refused(failure: Failure, is_retryable: bool) -> BoxError {
    let error = Error::Failed(failure);
    if is_retryable { error.into() } else { NonRetryable::new(error).into() }
}

/// Fills fields in, with secrets. It lives as long as one attempt.
struct Filler<'k> {
    known: &'k Snapshot,
    secrets: Revealed,
}

impl Filler<'_> {
    fn missing(&self, field: Option<&Field>, at: &str) -> Vec<Unresolved> {
        let templates = field.filter(|field| !field.is_constant());
        let rendered = templates
            .map(|field| self.known.look(|known| field.render(at, &self.secrets.over(known))));
        rendered.and_then(Result::err).unwrap_or_default()
    }

    fn value(&self, field: &Field, at: &str) -> Result<Value, BoxError> {
        let rendered = self.known.look(|known| field.render(at, &self.secrets.over(known)));
        rendered.map_err(|missing| refused(unresolved(&missing), false))
    }

    fn value_of(&self, field: Option<&Field>, at: &str) -> Result<Option<Value>, BoxError> {
        field.map(|field| self.value(field, at)).transpose()
    }

    fn text(&self, field: &Field, at: &str) -> Result<String, BoxError> {
        match self.value(field, at)? {
            Value::String(text) => Ok(text),
            Value::Number(number) => Ok(number.to_string()),
            _ => {
                let message = format!("`{at}` must be a text");
                Err(refused(Failure::new("VALIDATION_ERROR", message), false))
            }
        }
    }

    fn text_of(&self, field: Option<&Field>, at: &str) -> Result<Option<String>, BoxError> {
        field.map(|field| self.text(field, at)).transpose()
    }
}
