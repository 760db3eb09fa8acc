//! JSON-RPC messages over HTTP, and their answers: JSON, or a stream of server-sent events.

use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::error::ToolError;
use super::session::Session;
use crate::http::{HttpClient, HttpError, HttpRequest, Outgoing, cut, essence, is_json, network};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Every request has an HTTP exchange of its own, so one number serves all.
const ID: i64 = 1;

/// How much of a refusal is kept.
const REFUSAL_SHOWN: usize = 1024;

/// What a server answered to a request.
pub(super) struct Answer {
    /// The request as messages name it.
    pub(super) request: String,
    /// The session that the server opened.
    pub(super) session: Option<String>,
    pub(super) result: Value,
}

/// Sends a request and waits for its answer.
pub(super) async fn request(
    http: &HttpClient,
    base: &HttpRequest,
    session: Option<&Session>,
    method: &str,
    params: &Value,
) -> Result<Answer, ToolError> {
    let message = json!({ "jsonrpc": "2.0", "id": ID, "method": method, "params": params });
    let outgoing = outgoing(http, base, session, message)?;
    let request = outgoing.name(http.secrets());
    let mut response = http.exchange(outgoing, 0).await?;
    let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
    let session = session.map(str::to_owned);
    let answer = if is_json(response.headers()) {
        let body = http.read(&request, &mut response).await?;
        serde_json::from_slice(&body).ok().filter(is_answer)
    } else if is_event_stream(&response) {
        answer_in_stream(http, &request, &mut response).await?
    } else {
        None
    };
    let Some(mut answer) = answer else {
        let message = format!("no answer to {method}: neither JSON-RPC nor events with one");
        return Err(ToolError::Protocol { request, message });
    };
    if let Some(error) = answer.get("error") {
        let said = error["message"].as_str().unwrap_or_default();
        return Err(ToolError::Refused {
            request,
            method: method.to_owned(),
            code: error["code"].as_i64().unwrap_or_default(),
            message: cut(http.secrets().redact(said), REFUSAL_SHOWN),
        });
    }
    Ok(Answer { request, session, result: answer["result"].take() })
}

/// Sends what has no answer.
pub(super) async fn notify(
    http: &HttpClient,
    base: &HttpRequest,
    session: &Session,
    method: &str,
) -> Result<(), ToolError> {
    let message = json!({ "jsonrpc": "2.0", "method": method });
    http.exchange(outgoing(http, base, Some(session), message)?, 0).await?;
    Ok(())
}

fn outgoing(
    http: &HttpClient,
    base: &HttpRequest,
    session: Option<&Session>,
    message: Value,
) -> Result<Outgoing, HttpError> {
    let request = HttpRequest { body: Some(message), ..base.clone() };
    let mut outgoing = request.prepare(http.secrets())?;
    let both = HeaderValue::from_static("application/json, text/event-stream");
    outgoing.headers.insert(ACCEPT, both);
    outgoing.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let value = |text: &str| {
        HeaderValue::from_str(text).map_err(|_| HttpError::invalid("session", "it is no header"))
    };
    if let Some(session) = session {
        outgoing.headers.insert(PROTOCOL_VERSION, value(&session.version)?);
        if let Some(id) = &session.id {
            outgoing.headers.insert(SESSION, value(id)?);
        }
    }
    Ok(outgoing)
}

/// An answer to our request, and not a message of the server's own.
fn is_answer(message: &Value) -> bool {
    message.get("method").is_none()
        && (message["id"] == json!(ID) || (message["id"].is_null() && message["error"].is_object()))
        && (message.get("result").is_some() || message.get("error").is_some())
}

fn is_event_stream(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| essence(value).eq_ignore_ascii_case("text/event-stream"))
}

/// The first event that is the answer; progress and other news before it are passed over.
async fn answer_in_stream(
    http: &HttpClient,
    request: &str,
    response: &mut Response,
) -> Result<Option<Value>, HttpError> {
    let settings = http.settings();
    let too_large = |limit| HttpError::TooLarge { request: request.to_owned(), limit };
    let mut events = Events::default();
    let mut received = 0;
    loop {
        let piece = response.chunk().await;
        let piece = piece.map_err(|error| network(request, error, http.secrets()))?;
        let Some(piece) = piece else {
            // The server may be asked again: it ended before it answered.
            let message = "the stream ended without an answer".to_owned();
            return Err(HttpError::Network { request: request.to_owned(), message });
        };
        received += piece.len();
        if received > settings.stream_max {
            return Err(too_large(settings.stream_max));
        }
        for data in events.push(&piece) {
            let message: Option<Value> = serde_json::from_str(&data).ok();
            if let Some(answer) = message.filter(is_answer) {
                return Ok(Some(answer));
            }
        }
        if events.pending() > settings.body_max {
            return Err(too_large(settings.body_max));
        }
    }
}

/// Server-sent events, of which only the data matter.
#[derive(Default)]
struct Events {
    line: Vec<u8>,
    data: String,
    /// The last byte was a carriage return: a line feed after it belongs to it.
    after_return: bool,
}

impl Events {
    /// Takes a piece; gives the data of every event that is complete.
    fn push(&mut self, piece: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for &byte in piece {
            let ends = matches!(byte, b'\n' | b'\r');
            if ends && !(byte == b'\n' && self.after_return) {
                complete.extend(self.end_line());
            } else if !ends {
                self.line.push(byte);
            }
            self.after_return = byte == b'\r';
        }
        complete
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return Some(data).filter(|data| !data.is_empty());
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(data) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
        }
        None
    }

    fn pending(&self) -> usize {
        self.line.len() + self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut_and_ended() {
        let text = ": hello\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nid: 7\n\ndata:x\n\ndata: y\r\r";
        let expect = ["{\"a\":\n1}", "x", "y"];
        let mut whole = Events::default();
        assert_eq!(whole.push(text.as_bytes()), expect);
        let mut pieces = Events::default();
        let found: Vec<_> = text.bytes().flat_map(|byte| pieces.push(&[byte])).collect();
        assert_eq!(found, expect);
        assert_eq!(pieces.pending(), 0);
    }

    #[test]
    fn only_an_answer_to_the_request_counts() {
        assert!(is_answer(&json!({"id": 1, "result": {}})));
        assert!(is_answer(&json!({"id": null, "error": {"code": -32700}})));
        assert!(!is_answer(&json!({"id": 2, "result": {}})));
        assert!(!is_answer(&json!({"id": 1, "method": "ping"})));
        assert!(!is_answer(&json!({"method": "notifications/progress"})));
        assert!(!is_answer(&json!("text")));
    }
}
