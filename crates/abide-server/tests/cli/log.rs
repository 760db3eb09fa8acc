//! What the log never tells.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, from_str, json};

use crate::server::{Place, Server};

const PAYLOAD: &str = "marked-payload-4711";
const SECRET: &str = "marked-secret-0815";

/// Sends both outside, waits, and fails.
const TALKATIVE: &str = "
name: talkative
steps:
  - id: tell
    http:
      method: POST
      url: '${input.base}/tell'
      query: {key: '${secret.MARKED}'}
      headers: {Authorization: 'Bearer ${secret.MARKED}'}
      body: {note: '${input.note}'}
    retry: {maxAttempts: 2, delay: 1 ms}
    onError: noted
  - {id: ask, waitForEvent: {eventPattern: approval, filterCondition: 'event.payload.note === input.note'}}
  - {id: keep, setOutput: {key: note, value: '${steps.ask.output.payload.note}'}}
  - {id: bad, fail: {code: REJECTED, message: '${input.note}'}}
handlers:
  - {id: noted, set: {why: '${steps.tell.error.message}'}}
";

/// Answers every request with an error that repeats what was asked, and counts those that showed the secret.
fn echo() -> (String, std::sync::mpsc::Receiver<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (seen, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let body = head.clone() + &String::from_utf8(body).unwrap();
            let answer = format!(
                "HTTP/1.1 500 Broken\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            seen.send(body.contains(SECRET) && body.contains(PAYLOAD)).unwrap();
        }
    });
    (base, asked)
}

#[test]
fn neither_payloads_nor_secrets_are_logged_however_much_is() {
    let place = Place::with(&[TALKATIVE]);
    let log = [("ABIDE_LOG", "trace"), ("ABIDE_SECRET_MARKED", SECRET)];
    let server = Server::start_with(
        &[
            "--store",
            &place.store(),
            "--listen",
            "127.0.0.1:0",
            place.at("flows").to_str().unwrap(),
        ],
        &log,
    );
    let (base, asked) = echo();
    let input = format!("{{\"base\": \"{base}\", \"note\": \"{PAYLOAD}\"}}");
    let event = format!("{{\"note\": \"{PAYLOAD}\"}}");
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4731-00f067aa0ba902b1-01";
    let start = ["start", "talkative", "--id", "t", "--input", &input];
    assert!(server.abide_within(trace, &start).status.success());
    assert!(asked.recv().unwrap() && asked.recv().unwrap(), "both were sent, twice");
    server.told(&["publish", "other", &event]);
    server.told(&["send", "t", "approval", &event]);
    let failure = server.refused(&["result", "t", "--wait"]);
    assert!(failure.contains("REJECTED"), "{failure}");
    let lines = server.stop_and_read();
    assert!(lines.iter().any(|line| line.contains("\"DEBUG\"")), "it was to tell much");
    let in_a_step = |line: &&String| line.contains("an attempt failed");
    let failed: Vec<Value> = lines.iter().filter(in_a_step).map(|l| from_str(l).unwrap()).collect();
    assert_eq!(failed.len(), 2 + 1, "two attempts, and the step that fails");
    let spans = &failed[1]["spans"];
    assert_eq!((&spans[0]["instance"], &spans[0]["workflow"]), (&json!("t"), &json!("talkative")));
    assert_eq!((&spans[1]["step"], &spans[1]["attempt"]), (&json!("tell"), &json!(2)));
    assert_eq!(spans[1]["trace"], trace);
    for line in lines {
        assert!(!line.contains(PAYLOAD) && !line.contains(SECRET), "{line}");
    }
}
