//! One request to a server, byte by byte: for what the commands never send.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::server::Server;

/// Sends it and answers status and body, once the server has ended the connection.
pub(crate) fn ask(
    server: &Server,
    request: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let mut text = format!("{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text +=
        &format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}
