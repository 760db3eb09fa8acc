//! Sessions with MCP servers.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::error::ToolError;
use super::message;
use crate::http::{HttpClient, HttpRequest};

/// Servers that are remembered; the one unused for longest goes first.
const REMEMBERED: usize = 64;

/// The version that is asked for, and those that have the three messages in the same form.
const VERSION: &str = "2025-06-18";
const SPOKEN: [&str; 3] = ["2025-03-26", VERSION, "2025-11-25"];

/// A session that a server agreed to.
pub(super) struct Session {
    /// What the server calls it; a server without state calls it nothing.
    pub(super) id: Option<String>,
    /// The version both speak.
    pub(super) version: String,
}

/// The sessions by server and headers: another user of the same server has another session.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Vec<(Key, Arc<Place>)>>);

#[derive(PartialEq, Eq)]
struct Key {
    url: String,
    headers: Option<Value>,
}

/// Where one session is kept. Those who come while it is opened wait for it.
#[derive(Default)]
pub(super) struct Place(tokio::sync::Mutex<Option<Arc<Session>>>);

impl Sessions {
    pub(super) fn of(&self, base: &HttpRequest) -> Arc<Place> {
        let key = Key { url: base.url.clone(), headers: base.headers.clone() };
        let mut places = self.0.lock();
        let known = places.iter().position(|(other, _)| *other == key);
        let entry = known.map_or_else(|| (key, Arc::default()), |at| places.remove(at));
        if places.len() == REMEMBERED {
            places.remove(0);
        }
        let place = Arc::clone(&entry.1);
        places.push(entry);
        place
    }
}

impl Place {
    /// The session; opens it if there is none.
    pub(super) async fn open(
        &self,
        http: &HttpClient,
        base: &HttpRequest,
    ) -> Result<Arc<Session>, ToolError> {
        let mut kept = self.0.lock().await;
        if let Some(session) = &*kept {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(initialize(http, base).await?);
        *kept = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Forgets a session that the server forgot, unless somebody opened another one since.
    pub(super) async fn forget(&self, gone: &Arc<Session>) {
        let mut kept = self.0.lock().await;
        if kept.as_ref().is_some_and(|session| Arc::ptr_eq(session, gone)) {
            *kept = None;
        }
    }
}

async fn initialize(http: &HttpClient, base: &HttpRequest) -> Result<Session, ToolError> {
    let params = json!({
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": { "name": "abide", "version": env!("CARGO_PKG_VERSION") },
    });
    let answer = message::request(http, base, None, "initialize", &params).await?;
    let version = answer.result["protocolVersion"].as_str().unwrap_or_default().to_owned();
    if !SPOKEN.contains(&version.as_str()) {
        let version = http.secrets().redact(&version);
        let message = format!("the server speaks MCP {version:?}, not one of {SPOKEN:?}");
        return Err(ToolError::Protocol { request: answer.request, message });
    }
    let session = Session { id: answer.session, version };
    message::notify(http, base, &session, "notifications/initialized").await?;
    Ok(session)
}
