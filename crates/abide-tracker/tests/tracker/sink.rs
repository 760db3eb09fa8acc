//! A small HTTP server that takes batches, or does what sinks do on bad days.

use std::net::SocketAddr;
use std::sync::Arc;

use abide::{Clock, Timestamp};
use abide_testkit::ManualClock;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the server does with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Does {
    Answers(u16),
    /// Reads it and says nothing, until it does something else.
    Hangs,
    /// Reads it and goes.
    Closes,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) at: Timestamp,
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The body as it came, which need not be a text.
    pub(crate) bytes: Vec<u8>,
    pub(crate) events: Vec<Value>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

pub(crate) struct HttpServer {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    clock: ManualClock,
    does: watch::Sender<Does>,
    requests: Mutex<Vec<Request>>,
    came: watch::Sender<usize>,
}

impl HttpServer {
    /// A server that takes everything.
    pub(crate) async fn start(clock: &ManualClock) -> Self {
        let shared = Arc::new(Shared {
            clock: clock.clone(),
            does: watch::Sender::new(Does::Answers(200)),
            requests: Mutex::default(),
            came: watch::Sender::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = Some(tokio::spawn(accept(listener, Arc::clone(&shared))));
        Self { address, shared, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/events", self.address)
    }

    pub(crate) fn does(&self, does: Does) {
        self.shared.does.send_replace(does);
    }

    /// Nobody listens any more, and whoever is connected is cut off.
    pub(crate) async fn stop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            let _ = accepting.await;
        }
    }

    /// Listens again where it did.
    pub(crate) async fn start_again(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.accepting = Some(tokio::spawn(accept(listener, Arc::clone(&self.shared))));
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().clone()
    }

    /// Until so many requests came.
    pub(crate) async fn came(&self, times: usize) -> Vec<Request> {
        drop(self.shared.came.subscribe().wait_for(|came| *came >= times).await.unwrap());
        self.requests()
    }

    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.requests().iter().map(|request| request.events.len()).collect()
    }

    /// Every event of every request.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.requests().into_iter().flat_map(|request| request.events).collect()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and with it the connections.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&shared)));
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream, &shared).await {
        shared.requests.lock().push(request);
        shared.came.send_modify(|came| *came += 1);
        let mut does = shared.does.subscribe();
        let now = *does.wait_for(|does| *does != Does::Hangs).await.unwrap();
        let Does::Answers(status) = now else { return };
        let body = r#"{"received":0}"#;
        let answer = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>, shared: &Shared) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut bytes = vec![0; length?.1.parse().unwrap()];
    stream.read_exact(&mut bytes).await.ok()?;
    let body = String::from_utf8_lossy(&bytes).into_owned();
    let read: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let events = read["events"].as_array().cloned().unwrap_or_default();
    let (at, line) = (shared.clock.now(), lines[0].clone());
    Some(Request { at, line, headers, body, bytes, events })
}
