//! Tools of MCP servers over streamable HTTP.
//!
//! Of the Model Context Protocol a step needs three messages: `initialize` once per server,
//! `notifications/initialized`, and `tools/call`. They go through the same [`HttpClient`] as `http`
//! steps, so that address rules, limits, timeouts and secrets hold for both.

mod error;
mod message;
mod session;

use std::time::Duration;

use serde_json::{Value, json};

pub use error::ToolError;

use crate::http::{HttpClient, HttpError, HttpRequest, within};
use session::{Session, Sessions};

/// How much of what a failed tool says is kept.
const FAILURE_SHOWN: usize = 1024;

/// One call of a tool, every template in it filled in.
#[derive(Clone, Default)]
pub struct ToolCall {
    /// The URL of the server.
    pub server: Option<String>,
    /// Which tool.
    pub name: Option<String>,
    /// With what: an object.
    pub arguments: Option<Value>,
    /// Sent along with every request to the server.
    pub headers: Option<Value>,
    /// Sent as `Idempotency-Key` with the call, for servers that know it.
    pub idempotency_key: Option<String>,
    /// How long it may take; by default, the settings' timeout.
    pub timeout: Option<Duration>,
}

/// Calls tools. Sessions are kept per server and headers, and opened anew when a server forgot them.
pub struct ToolClient {
    http: HttpClient,
    sessions: Sessions,
}

impl ToolClient {
    /// Calls tools by this client.
    #[must_use]
    pub fn new(http: HttpClient) -> Self {
        Self { http, sessions: Sessions::default() }
    }

    /// Calls a tool; its `structuredContent`, or else its `content`.
    ///
    /// # Errors
    /// When the server can't be reached, does not speak the protocol, or the tool failed.
    pub async fn call_tool(&self, call: ToolCall) -> Result<Value, ToolError> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let (Some(server), Some(tool)) = (given(&call.server), given(&call.name)) else {
            return Err(ToolError::NotConfigured);
        };
        let limit = call.timeout.unwrap_or(self.http.settings().timeout);
        let base =
            HttpRequest { headers: call.headers.clone(), ..HttpRequest::new("POST", &server) };
        let name = base.prepare(self.http.secrets())?.name(self.http.secrets());
        let work = async { Ok(self.ask(&base, &call, &tool).await) };
        let mut result = within(limit, &name, work).await??;
        self.http.secrets().redact_value(&mut result);
        outcome(&tool, result)
    }

    /// Calls the tool, once more when the server forgot the session.
    async fn ask(
        &self,
        base: &HttpRequest,
        call: &ToolCall,
        tool: &str,
    ) -> Result<Value, ToolError> {
        let arguments = call.arguments.clone().filter(|arguments| !arguments.is_null());
        let params = json!({ "name": tool, "arguments": arguments.unwrap_or_else(|| json!({})) });
        let mut request = base.clone();
        request.idempotency_key.clone_from(&call.idempotency_key);
        let place = self.sessions.of(base);
        let session = place.open(&self.http, base).await?;
        match self.request(&session, &request, &params).await {
            Err(ToolError::Http(HttpError::Status { status: 404, .. })) if session.id.is_some() => {
                place.forget(&session).await;
                let session = place.open(&self.http, base).await?;
                self.request(&session, &request, &params).await
            }
            answered => answered,
        }
    }

    async fn request(
        &self,
        session: &Session,
        base: &HttpRequest,
        params: &Value,
    ) -> Result<Value, ToolError> {
        message::request(&self.http, base, Some(session), "tools/call", params)
            .await
            .map(|answer| answer.result)
    }
}

/// What a tool's result means for a step.
fn outcome(tool: &str, mut result: Value) -> Result<Value, ToolError> {
    if result["isError"] == json!(true) {
        let texts = result["content"].as_array().into_iter().flatten();
        let texts: Vec<_> = texts.filter_map(|part| part["text"].as_str()).collect();
        let message = match texts.is_empty() {
            true => result["structuredContent"].to_string(),
            false => texts.join("\n"),
        };
        let message = crate::http::cut(message, FAILURE_SHOWN);
        return Err(ToolError::Failed { tool: tool.to_owned(), message });
    }
    let structured = result["structuredContent"].take();
    Ok(if structured.is_null() { result["content"].take() } else { structured })
}
