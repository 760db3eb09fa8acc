//! A server on loopback that answers as a test says, and remembers what it was asked.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_flow::{HttpClient, HttpSettings, Lookup, Redactor};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What the server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// Which connection it came by.
    pub(crate) connection: usize,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// What the server says: bytes, and what then.
pub(crate) struct Answer {
    pieces: Vec<Vec<u8>>,
    /// Waited for before every piece but the first.
    gate: Option<Arc<Notify>>,
    then: Then,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Next,
    EndChunks,
    Close,
    Hang,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status} Some\r\ncontent-length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        Self { pieces: vec![bytes], gate: None, then: Then::Next }
    }

    pub(crate) fn json(body: &serde_json::Value) -> Self {
        Self::new(200, &[("content-type", "application/json")], body.to_string())
    }

    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self::new(status, &[("content-type", "text/plain")], body)
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::new(status, &[("location", location)], "")
    }

    /// An answer in chunks, which reach the client one by one however the network joins them.
    pub(crate) fn pieces(content_type: &str, pieces: &[&[u8]]) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let mut all = vec![head.into_bytes()];
        all.extend(pieces.iter().map(|piece| {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            chunk
        }));
        Self { pieces: all, gate: None, then: Then::EndChunks }
    }

    /// Nothing, on an open connection.
    pub(crate) fn silence() -> Self {
        Self { pieces: Vec::new(), gate: None, then: Then::Hang }
    }

    /// Every piece but the first waits for this.
    pub(crate) fn gated(mut self, gate: &Arc<Notify>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }

    /// Says no more, and leaves the connection open.
    pub(crate) fn and_hangs(mut self) -> Self {
        self.then = Then::Hang;
        self
    }

    /// Ends the connection in the middle of the body.
    pub(crate) fn and_breaks_off(mut self) -> Self {
        let last = self.pieces.last_mut().unwrap();
        last.truncate(last.len() - 1);
        self.then = Then::Close;
        self
    }
}

type Script = Arc<dyn Fn(&Received) -> Answer + Send + Sync>;

/// The server. It ends with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(
        answer: impl Fn(&Received) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::listen(Arc::new(answer), None).await
    }

    pub(crate) async fn listen(answer: Script, tls: Option<tokio_rustls::TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&received);
        let connections = AtomicUsize::new(0);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = connections.fetch_add(1, Ordering::Relaxed);
                let (answer, seen, tls) = (Arc::clone(&answer), Arc::clone(&seen), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, connection, &answer, &seen).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, connection, &answer, &seen).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, received, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    connection: usize,
    answer: &Script,
    seen: &Mutex<Vec<Received>>,
) {
    let mut stream = BufReader::new(stream);
    while let Some(received) = read_request(&mut stream, connection).await {
        seen.lock().unwrap().push(received.clone());
        let answer = answer(&received);
        for (at, piece) in answer.pieces.iter().enumerate() {
            if let (Some(gate), true) = (&answer.gate, at > 0) {
                gate.notified().await;
            }
            if stream.write_all(piece).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
        match answer.then {
            Then::Next => {}
            Then::EndChunks => {
                if stream.write_all(b"0\r\n\r\n").await.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
            Then::Close => {
                let _ = stream.shutdown().await;
                return;
            }
            Then::Hang => std::future::pending().await,
        }
    }
}

async fn read_request<S: AsyncRead + Unpin>(
    stream: &mut BufReader<S>,
    connection: usize,
) -> Option<Received> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok().filter(|read| *read > 0)?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut received = Received { method, target, headers, body: String::new(), connection };
    let length = received.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    received.body = String::from_utf8(body).unwrap();
    Some(received)
}

/// Settings under which a test that hangs ends, and none that works does.
pub(crate) fn settings() -> HttpSettings {
    let mut settings = HttpSettings::default();
    settings.timeout = Duration::from_secs(20);
    settings
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(settings(), Redactor::default()).unwrap()
}

/// Names of the tests: what they mean is fixed, and `.test` exists nowhere else.
pub(crate) fn names() -> Lookup {
    Arc::new(|host| {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let found = match host.as_str() {
            "server.test" => vec![address("127.0.0.1")],
            "metadata.test" => vec![address("169.254.169.254"), address("fe80::1")],
            "mapped.test" => vec![address("::ffff:169.254.169.254")],
            "mixed.test" => vec![address("169.254.169.254"), address("127.0.0.1")],
            _ => Vec::new(),
        };
        Box::pin(async move { Ok(found) })
    })
}

pub(crate) fn client_with_names(settings: HttpSettings) -> HttpClient {
    HttpClient::with_lookup(settings, Redactor::default(), names()).unwrap()
}
