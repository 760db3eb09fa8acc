//! Commands that are sent again: a busy server, a connection that breaks.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::program::{program, stderr, stdout};

/// A server that says what the test wants.
struct Stage {
    socket: TcpListener,
}

impl Stage {
    fn new() -> Self {
        Self { socket: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    fn run(&self, arguments: &[&str]) -> Child {
        let url = format!("http://{}", self.socket.local_addr().unwrap());
        let mut command = program();
        command.args(arguments).args(["--url", &url]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The next request: whom to answer, and its body.
    fn request(&self) -> (TcpStream, Value) {
        let (mut stream, _) = self.socket.accept().unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        (stream, serde_json::from_slice(&body).unwrap())
    }
}

fn answer(mut stream: TcpStream, status: &str, body: &str) {
    let head = "content-type: application/json\r\nretry-after: 0\r\nconnection: close\r\n";
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\n{head}content-length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).unwrap();
}

const DELIVERED: &str = r#"{"eventId": "e", "delivered": 1, "buffered": false}"#;
const BUSY: &str =
    r#"{"error": {"code": "RATE_LIMITED", "message": "later", "status": 429, "details": {}}}"#;

#[test]
fn what_was_cut_off_or_came_too_soon_is_sent_again_with_the_same_id() {
    let stage = Stage::new();
    let child = stage.run(&["send", "a-1", "approval", "{}"]);
    let (cut_off, first) = stage.request();
    drop(cut_off);
    let (busy, second) = stage.request();
    answer(busy, "429 Too Many Requests", BUSY);
    let (stream, third) = stage.request();
    answer(stream, "202 Accepted", DELIVERED);
    assert!(stdout(&child.wait_with_output().unwrap()).contains("delivered"));
    assert!(first["id"].as_str().unwrap().starts_with("evt_"), "{first}");
    assert_eq!((&first, &first), (&second, &third));
}

#[test]
fn a_start_with_an_id_of_its_own_can_be_sent_again_and_one_with_a_given_id_is_not() {
    let stage = Stage::new();
    let child = stage.run(&["start", "greet", "--json"]);
    let (cut_off, first) = stage.request();
    drop(cut_off);
    let (stream, second) = stage.request();
    answer(stream, "201 Created", "{}");
    stdout(&child.wait_with_output().unwrap());
    assert_eq!((&first, &first["ifExists"]), (&second, &"return".into()));

    let child = stage.run(&["start", "greet", "--id", "g-1"]);
    let (cut_off, body) = stage.request();
    drop(cut_off);
    let said = stderr(&child.wait_with_output().unwrap());
    assert!(said.contains("not known") && said.contains("abide show"), "{said}");
    assert!(body.get("ifExists").is_none(), "{body}");
}

#[test]
fn a_server_that_stays_busy_is_given_up_and_one_that_is_another_is_told() {
    let stage = Stage::new();
    let child = stage.run(&["send", "a-1", "approval"]);
    for _ in 0..4 {
        answer(stage.request().0, "429 Too Many Requests", BUSY);
    }
    assert!(stderr(&child.wait_with_output().unwrap()).contains("later (RATE_LIMITED)"));
    let child = stage.run(&["send", "a-1", "approval"]);
    answer(stage.request().0, "404 Not Found", "<html>");
    assert!(stderr(&child.wait_with_output().unwrap()).contains("no Abide server"));
}
