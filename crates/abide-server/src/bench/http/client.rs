//! A client that costs little beside what it measures: one connection, one request at a time.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::Error;

/// Connections that nobody uses at the moment.
#[derive(Clone)]
pub(super) struct Pool {
    address: SocketAddr,
    idle: Arc<Mutex<Vec<Client>>>,
}

impl Pool {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, idle: Arc::default() }
    }

    pub(super) async fn take(&self) -> Result<Client, Error> {
        let idle = self.idle.lock().pop();
        match idle {
            Some(client) => Ok(client),
            None => Client::connect(self.address).await,
        }
    }

    pub(super) fn give(&self, client: Client) {
        self.idle.lock().push(client);
    }
}

/// See the module.
pub(super) struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await.map_err(Error::io("connecting"))?;
        stream.set_nodelay(true).map_err(Error::io("connecting"))?;
        Ok(Self { stream, read: Vec::with_capacity(4096) })
    }

    /// Posts JSON and reads the JSON that answers it.
    pub(super) async fn post(&mut self, path: &str, body: &str) -> Result<Value, Error> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.write(&request).await?;
        let (status, length) = loop {
            if let Some(head) = self.head() {
                break head;
            }
            self.more().await?;
        };
        while self.read.len() < length {
            self.more().await?;
        }
        let answer = serde_json::from_slice(&self.read[..length])?;
        self.read.drain(..length);
        if !(200..300).contains(&status) {
            return Err(Error::Unexpected(format!("{path} answered {status}: {answer}")));
        }
        Ok(answer)
    }

    /// Asks for a stream; what it answers is read by [`Client::line`].
    pub(super) async fn subscribe(&mut self, path: &str) -> Result<(), Error> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
        self.write(&request).await?;
        let head = loop {
            match self.line().await? {
                line if line.starts_with("HTTP/1.1 ") => break line,
                _ => {}
            }
        };
        while !self.line().await?.is_empty() {}
        match head.contains(" 200 ") {
            true => Ok(()),
            false => Err(Error::Unexpected(format!("{path} answered {head}"))),
        }
    }

    /// The next line of whatever comes.
    pub(super) async fn line(&mut self) -> Result<String, Error> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            self.more().await?;
        }
    }

    async fn write(&mut self, request: &str) -> Result<(), Error> {
        self.stream.write_all(request.as_bytes()).await.map_err(Error::io("a request"))
    }

    async fn more(&mut self) -> Result<(), Error> {
        match self.stream.read_buf(&mut self.read).await.map_err(Error::io("an answer"))? {
            0 => Err(Error::Unexpected("the server closed a connection".to_owned())),
            _ => Ok(()),
        }
    }

    /// Status and length of the body, once the whole head is there; it is taken off.
    fn head(&mut self) -> Option<(u16, usize)> {
        let end = self.read.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&self.read[..end]);
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .and_then(|length| length.parse().ok());
        self.read.drain(..end + 4);
        Some((status, length?))
    }
}
