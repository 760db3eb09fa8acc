//! `abide serve`: starting, stopping, and being killed.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::program::{path, program, refusal, stderr};
use crate::server::{APPROVE, GREET, Place, Server, write};

#[test]
fn a_server_that_is_asked_to_stop_ends_well_and_the_next_one_goes_on() {
    let place = Place::with(&[APPROVE]);
    let server = place.serve();
    server.told(&["start", "approve", "--id", "a-1", "--input", "{\"amount\": 5}"]);
    assert!(server.terminate().success());
    let server = place.serve();
    assert_eq!(server.json(&["show", "a-1"])["status"], "waiting");
    server.told(&["send", "a-1", "approval", "{\"approved\": true}"]);
    assert_eq!(server.told(&["result", "a-1", "--wait"]), "{\"approved\":true}\n");
    assert!(server.terminate().success());
}

/// A server that is asked for something and does not answer before it is told to.
fn call(socket: &TcpListener) -> std::net::TcpStream {
    let (mut stream, _) = socket.accept().unwrap();
    let (mut request, mut byte) = (Vec::new(), [0]);
    while !request.ends_with(b"\r\n\r\n") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the caller hung up");
        request.push(byte[0]);
    }
    stream
}

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_step_goes_on_when_it_is_started_again() {
    let place = Place::with(&["
name: caller
steps:
  - {id: before, set: {seen: 1}}
  - {id: call, http: {url: '${input.url}'}}
output: '${steps.call.output.body}'
"]);
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let input = format!("{{\"url\": \"http://{}/\"}}", socket.local_addr().unwrap());
    let server = place.serve();
    server.told(&["start", "caller", "--id", "c-1", "--input", &input]);
    let unanswered = call(&socket);
    server.kill();
    drop(unanswered);

    let server = place.serve();
    let mut again = call(&socket);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 6\r\n\r\n";
    again.write_all(format!("{head}\"done\"").as_bytes()).unwrap();
    assert_eq!(server.told(&["result", "c-1", "--wait"]), "\"done\"\n");
    let history = server.told(&["history", "c-1"]);
    assert!(history.contains("STEP_INTERRUPTED"), "{history}");
}

#[test]
fn a_server_that_can_not_write_any_more_says_so_and_ends_and_nothing_that_it_answered_is_lost() {
    let place = Place::with(&[APPROVE]);
    let (store, flows) = (place.store(), place.at("flows"));
    let arguments = ["--store", &store, "--listen", "127.0.0.1:0", path(&flows)];
    let server = Server::start_within(4096, &arguments);
    let input = place.at("input.json");
    write(&input, &format!("{{\"amount\": 5, \"note\": \"{}\"}}", "x".repeat(500_000)));
    let input = format!("@{}", path(&input));
    let start = |id: &str| server.abide(&["start", "approve", "--id", id, "--input", &input]);
    let ids: Vec<String> = (0..40).map(|n| format!("a-{n}")).collect();
    let started: Vec<_> = ids.iter().take_while(|id| start(id).status.success()).collect();
    assert!(!started.is_empty() && started.len() < ids.len(), "{}", started.len());
    let (status, log) = server.ends();
    assert!(!status.success());
    assert!(log.iter().any(|line| line.contains("the store is closed")), "{log:#?}");

    let server = place.serve();
    for id in started {
        assert_eq!(server.json(&["show", id])["status"], "waiting", "{id}");
    }
}

#[test]
fn other_machines_are_not_served_without_a_token() {
    let place = Place::with(&[]);
    let said = refusal(&["serve", "--store", &place.store(), "--listen", "0.0.0.0:0"]);
    assert!(said.contains("abide token new") && said.contains("--insecure"), "{said}");
}

#[test]
fn what_can_not_be_served_says_why() {
    let place = Place::with(&[]);
    let store = place.store();
    assert!(refusal(&["serve", "--store", "postgres://localhost/x"]).contains("not there yet"));
    assert!(refusal(&["serve", "--store", "abide.db"]).contains("sqlite:FILE"));
    let said = refusal(&["serve", "--store", &store, "--listen", "here"]);
    assert!(said.contains("127.0.0.1:7878"), "{said}");
    let bad = place.at("bad.yaml");
    write(&bad, "name: bad\nsteps:\n  - {id: a, slep: 1 hour}\n");
    let output = program()
        .args(["serve", "--store", &store, "--listen", "127.0.0.1:0", path(&bad)])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(said.contains("bad.yaml:3:") && said.contains("sleep"), "{said}");
    assert!(refusal(&["serve", "--store", &store, "no-such-dir"]).contains("no-such-dir"));
}

#[test]
fn an_address_and_a_store_that_are_taken_are_told() {
    let place = Place::with(&[GREET]);
    let server = place.serve();
    let other = Place::with(&[]);
    let said = refusal(&["serve", "--store", &other.store(), "--listen", server.address()]);
    assert!(said.contains("listens there already") && said.contains("--listen"), "{said}");
    let said = refusal(&["serve", "--store", &place.store(), "--listen", "127.0.0.1:0"]);
    assert!(said.contains("in use by another process"), "{said}");
}

#[test]
fn settings_come_from_the_file_and_flags_win() {
    let place = Place::with(&[GREET]);
    let file = place.at("abide.toml");
    let (store, flows) = (place.store(), place.at("flows"));
    write(
        &file,
        &format!(
            "[server]\nlisten = \"0.0.0.0:0\"\nworkflows = [{:?}]\nmaxBody = 64\n[store]\nurl = {store:?}\n",
            path(&flows)
        ),
    );
    let server = Server::start(&["--config", path(&file), "--listen", "127.0.0.1:0"]);
    assert!(server.told(&["workflows"]).contains("greet"));
    let long = format!("{{\"name\": \"{}\"}}", "x".repeat(100));
    assert!(server.refused(&["start", "greet", "--input", &long]).contains("PAYLOAD_TOO_LARGE"));
}

#[test]
fn requests_that_wait_do_not_hold_up_a_shutdown() {
    let place = Place::with(&[APPROVE]);
    let server = place.serve();
    server.told(&["start", "approve", "--id", "a-1", "--input", "{\"amount\": 5}"]);
    let mut waiting = program()
        .args(["watch", "a-1", "--url", &server.url])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    crate::lines::Lines::of(waiting.stdout.take().unwrap()).until("waiting for event approval");
    let log = server.stop_and_read();
    assert!(!log.iter().any(|line| line.contains("server.drain")), "{log:?}");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
}
