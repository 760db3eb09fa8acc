//! `abide sinks`: who is told what happens, as operators look after them.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{GREET, Place, Server};
use crate::tracker::{configured, sink};

/// A server with a durable sink and one that nobody answers for.
fn watched() -> (Place, Server, Receiver<Value>) {
    let place = Place::with(&[GREET]);
    let (url, events) = sink();
    let config = format!(
        "[[tracker]]\nname = \"audit\"\nurl = {url:?}\naccessToken = \"hush\"\ndurable = true\n\
         [[tracker]]\nname = \"loose\"\nurl = \"http://user:pass@127.0.0.1:1/x?key=k\"\n\
         accessToken = \"hush\"\nretry.maxAttempts = 0\n"
    );
    let server = configured(&place, &config);
    (place, server, events)
}

fn greet(server: &Server) {
    server.told(&["start", "greet", "--input", "{\"name\": 1}", "--wait"]);
}

/// The ids of the next events that arrive.
fn next(events: &Receiver<Value>, count: usize) -> Vec<Value> {
    let next = || events.recv_timeout(Duration::from_secs(30)).unwrap()["eventId"].clone();
    (0..count).map(|_| next()).collect()
}

/// A sink once it is so, because what was sent is counted a moment after it arrived.
fn once(server: &Server, place: usize, is_so: impl Fn(&Value) -> bool) -> Value {
    loop {
        let sink = server.json(&["sinks"])["sinks"][place].clone();
        if is_so(&sink) {
            return sink;
        }
    }
}

#[test]
fn sinks_are_listed_with_how_they_are_doing() {
    let (_place, server, events) = watched();
    greet(&server);
    next(&events, 4);
    let loose = once(&server, 1, |loose| loose["dropped"] == 4);
    let audit = once(&server, 0, |audit| audit["lag"] == 0);
    assert_eq!((&audit["sent"], &loose["sent"]), (&json!(4), &json!(0)));
    let told = server.told(&["sinks"]);
    let lines: Vec<Vec<&str>> =
        told.lines().map(|line| line.split_whitespace().collect()).collect();
    let heading = "SINK STATUS DURABLE SENT DROPPED PENDING LAG URL LAST ERROR";
    assert_eq!(lines[0].join(" "), heading, "{told}");
    assert_eq!(lines[1][..7], ["audit", "active", "yes", "4", "0", "0", "0"], "{told}");
    assert_eq!(lines[1].len(), 8, "it has no error\n{told}");
    assert_eq!(lines[2][..7], ["loose", "active", "no", "0", "4", "0", "-"], "{told}");
    assert_eq!(lines[2][7], "http://127.0.0.1:1/x", "{told}");
    assert!(lines[2].len() > 8, "its error is told\n{told}");
    for secret in ["hush", "pass", "key=k"] {
        assert!(!told.contains(secret), "{told}");
    }
}

#[test]
fn a_sink_is_paused_resumed_and_told_again() {
    let (_place, server, events) = watched();
    let told = server.told(&["sinks", "pause", "audit"]);
    assert!(told.lines().nth(1).unwrap().starts_with("audit  paused  yes"), "{told}");
    greet(&server);
    let paused = server.json(&["sinks"])["sinks"][0].clone();
    assert_eq!((&paused["status"], &paused["sent"]), (&json!("paused"), &json!(0)));
    let rows = paused["lag"].as_u64().unwrap();
    assert!(rows > 1, "{paused}");
    assert!(events.try_recv().is_err());
    let resumed = server.json(&["sinks", "resume", "audit"]);
    assert_eq!((&resumed["name"], &resumed["status"]), (&json!("audit"), &json!("active")));
    let first = next(&events, 4);
    once(&server, 0, |audit| audit["lag"] == 0);
    let told = server.told(&["sinks", "replay", "audit"]);
    assert!(told.contains("audit"), "{told}");
    assert_eq!(next(&events, 4), first);
    once(&server, 0, |audit| audit["lag"] == 0);
    let from = ["replay", "audit", "--from", &rows.to_string()];
    let replayed = server.json(&[&["sinks"][..], &from].concat());
    assert_eq!(replayed["name"], "audit");
    let mut last = next(&events, 1);
    while last.last() != first.last() {
        last.extend(next(&events, 1));
    }
    assert!(first.ends_with(&last) && last.len() < first.len(), "{last:?} of {first:?}");
}

#[test]
fn what_can_not_be_done_to_a_sink_says_why() {
    let (_place, server, _events) = watched();
    for action in ["pause", "resume", "replay"] {
        let unknown = server.refused(&["sinks", action, "nobody"]);
        assert!(unknown.contains("nobody") && unknown.contains("NOT_FOUND"), "{unknown}");
        let volatile = server.refused(&["sinks", action, "loose"]);
        assert!(volatile.contains("not durable"), "{volatile}");
    }
    let beyond = server.refused(&["sinks", "replay", "audit", "--from", "1000"]);
    assert!(beyond.contains("VALIDATION_ERROR") && beyond.contains("ends with row"), "{beyond}");
    assert!(server.refused(&["sinks", "replay", "audit", "--from", "soon"]).contains("--from"));
    assert!(server.refused(&["sinks", "stop", "audit"]).contains("stop"));
}

#[test]
fn a_server_without_sinks_says_how_to_have_one() {
    let place = Place::with(&[]);
    let server = place.serve();
    assert!(server.told(&["sinks"]).contains("[tracker]"));
    assert_eq!(server.json(&["sinks"]), json!({"sinks": []}));
    let before_the_subcommand = ["sinks", "--url", "http://127.0.0.1:1", "pause", "x"];
    assert!(server.refused(&before_the_subcommand).contains("http://127.0.0.1:1"));
}
