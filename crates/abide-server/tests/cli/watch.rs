//! `abide watch`: live, to the end, across restarts.

use std::process::{Child, Stdio};

use crate::lines::Lines;
use crate::program::program;
use crate::server::{APPROVE, Place, Server};

fn watch(server: &Server, arguments: &[&str]) -> (Child, Lines) {
    let mut child = program()
        .arg("watch")
        .args(arguments)
        .env("ABIDE_URL", &server.url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let out = Lines::of(child.stdout.take().unwrap());
    (child, out)
}

fn started() -> (Place, Server) {
    let place = Place::with(&[APPROVE]);
    let server = place.serve();
    server.told(&["start", "approve", "--id", "a-1", "--input", "{\"amount\": 5}"]);
    (place, server)
}

#[test]
fn an_instance_is_followed_to_its_end_which_the_exit_code_tells() {
    let (_place, server) = started();
    let (mut child, mut out) = watch(&server, &["a-1"]);
    out.until("● started {\"amount\":5}");
    out.until("… decision: waiting for event approval until ");
    server.told(&["send", "a-1", "approval", "{\"approved\": true}"]);
    out.until("✓ decision: event approval came");
    out.until("● completed {\"approved\":true}");
    assert!(child.wait().unwrap().success());
    // Once more from the beginning, although it has ended.
    let told = server.told(&["watch", "a-1"]);
    assert!(told.contains("● started") && told.contains("● completed"), "{told}");
}

#[test]
fn a_bad_end_is_a_failure_and_json_is_passed_on() {
    let (_place, server) = started();
    server.told(&["send", "a-1", "approval", "{\"approved\": false}", "--settle"]);
    let output = server.abide(&["watch", "a-1", "--json"]);
    assert!(!output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let frames: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(frames[0]["type"], "workflow.started");
    let last = frames.last().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&"execution_complete".into(), &"errored".into()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("a-1 errored"), "{said}");
    assert!(server.refused(&["watch", "nobody"]).contains("WORKFLOW_NOT_FOUND"));
}

#[test]
fn a_server_that_goes_away_is_found_again_and_nothing_is_shown_twice() {
    let (place, server) = started();
    let (mut child, mut out) = watch(&server, &["a-1"]);
    out.until("waiting for event approval");
    let address = server.address().to_owned();
    server.kill();
    let server = place.serve_at(&address);
    server.told(&["send", "a-1", "approval", "{\"approved\": true}"]);
    out.until("● completed");
    assert!(child.wait().unwrap().success());
    let all = out.rest();
    let times = |part: &str| all.iter().filter(|line| line.contains(part)).count();
    assert_eq!((times("● started"), times("waiting for"), times("● completed")), (1, 1, 1));
}
