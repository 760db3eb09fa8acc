//! A server on loopback for documents: answers as a test says, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request: `POST`, `/orders?x=1`, its headers in lower case, and its body, null when there is none.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Value,
    pub(crate) body: Value,
}

impl Asked {
    /// `POST /orders`.
    pub(crate) fn what(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

type Script = Arc<dyn Fn(&Asked) -> (u16, Value) + Send + Sync>;

/// The server. It ends with the test.
pub(crate) struct Loopback {
    pub(crate) base: String,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Loopback {
    /// Answers with a status and JSON; a text goes word by word, as one that is still being written,
    /// and that of a redirect is where it leads. A number with 429 says in how many seconds to come back.
    pub(crate) async fn start(
        answer: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (answer, asked): (Script, _) = (Arc::new(answer), Arc::new(Mutex::new(Vec::new())));
        let seen = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&seen)));
            }
        });
        Self { base, asked, task }
    }

    /// Every request in order: `POST /orders {"id":1}`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What an MCP server without sessions answers whose tools do this.
pub(crate) fn mcp(asked: &Asked, tool: impl Fn(&str, &Value) -> Value) -> (u16, Value) {
    let params = &asked.body["params"];
    let result = match asked.body["method"].as_str() {
        Some("initialize") => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}})
        }
        Some("tools/call") => {
            let content = tool(params["name"].as_str().unwrap_or(""), &params["arguments"]);
            json!({"structuredContent": content, "content": []})
        }
        _ => return (202, Value::Null),
    };
    (200, json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}))
}

async fn serve(stream: TcpStream, answer: Script, seen: Arc<Mutex<Vec<String>>>) {
    let mut stream = BufReader::new(stream);
    let Some(asked) = read(&mut stream).await else { return };
    let body = if asked.body.is_null() { String::new() } else { format!(" {}", asked.body) };
    seen.lock().unwrap().push(format!("{}{body}", asked.what()));
    let (status, told) = answer(&asked);
    let head = format!("HTTP/1.1 {status} Some\r\nconnection: close\r\n");
    let bytes = match told {
        Value::String(elsewhere) if (300..400).contains(&status) => {
            format!("{head}location: {elsewhere}\r\ncontent-length: 0\r\n\r\n")
        }
        Value::Number(seconds) if status == 429 => {
            format!("{head}retry-after: {seconds}\r\ncontent-length: 0\r\n\r\n")
        }
        Value::String(text) => {
            let chunk = |word: &str| format!("{:x}\r\n{word}\r\n", word.len());
            let chunks: String = text.split_inclusive(' ').map(chunk).collect();
            let kind = "content-type: text/plain\r\ntransfer-encoding: chunked";
            format!("{head}{kind}\r\n\r\n{chunks}0\r\n\r\n")
        }
        Value::Null => format!("{head}content-length: 0\r\n\r\n"),
        json => {
            let (json, kind) = (json.to_string(), "content-type: application/json");
            format!("{head}{kind}\r\ncontent-length: {}\r\n\r\n{json}", json.len())
        }
    };
    // Whoever asked may have gone.
    let _ = stream.write_all(bytes.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok().filter(|read| *read > 0)?;
    let mut words = first.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut headers, mut length) = (json!({}), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        if name == "content-length" {
            length = value.parse().ok()?;
        }
        headers[name] = value.into();
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Asked { method, path, headers, body })
}
