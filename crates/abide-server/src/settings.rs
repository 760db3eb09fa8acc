//! What an operator may set about the server itself.

use std::time::Duration;

use abide_tracker::Tracker;

use crate::api::ConfiguredToken;

/// Settings of the server. Every limit has a name, a default and a reason.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// `server.maxBody`: bytes of one request. Larger than a payload may be, because a document or a
    /// batch holds several.
    pub max_body: usize,
    /// `server.headerTimeout`: how long a client may take to say what it wants.
    pub header_timeout: Duration,
    /// `server.bodyTimeout`: how long a client may take to send a body.
    pub body_timeout: Duration,
    /// `server.maxConnections`: more wait to be accepted.
    pub max_connections: usize,
    /// `server.maxRequests`: requests served at once, those that only wait (results, streams) not
    /// counted; more are answered `RATE_LIMITED`.
    pub max_requests: usize,
    /// `server.maxWait`: the longest a request may ask to wait for a result, an output or a rest.
    pub max_wait: Duration,
    /// `server.drain`: how long a shutdown waits for requests under way.
    pub drain: Duration,
    /// `server.heartbeat`: how often a stream says that it is alive.
    pub heartbeat: Duration,
    /// `server.cors`: origins whose pages may call, beside the server's own.
    pub cors: Vec<String>,
    /// `server.tokens`: tokens beside those that the store keeps.
    pub tokens: Vec<ConfiguredToken>,
    /// `server.insecure`: without tokens, serve other machines too.
    pub insecure: bool,
    /// Those who are told what happens, for operators to look after: the engine has them already.
    pub sinks: Vec<Tracker>,
    /// Where the secrets of webhooks come from: the environment of the process.
    pub environment: fn(&str) -> Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_body: 4 * 1024 * 1024,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            max_connections: 20_000,
            max_requests: 1024,
            max_wait: Duration::from_secs(300),
            drain: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
            cors: Vec::new(),
            tokens: Vec::new(),
            insecure: false,
            sinks: Vec::new(),
            environment: |name| std::env::var(name).ok(),
        }
    }
}
