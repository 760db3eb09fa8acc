//! Every command that talks to a server, as it should go and as it should not.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::program::{program, refusal, stdout};
use crate::server::{APPROVE, GREET, PAY, Place, Server, write};

const MAIL: &str = "
name: mail
steps:
  - {id: sign, waitForSignal: {name: signed, timeout: 1 hour}}
  - {id: letter, receive: {topic: letters, timeout: 1 hour}}
output: {sign: '${steps.sign.output.payload}', letter: '${steps.letter.output.payload}'}
";

fn server() -> (Place, Server) {
    let place = Place::with(&[GREET, APPROVE, PAY, MAIL]);
    let server = place.serve();
    (place, server)
}

#[test]
fn start_tells_the_id_and_with_wait_the_result() {
    let (_place, server) = server();
    let told = server.told(&["start", "approve", "--id", "a-1", "--input", "{\"amount\": 5}"]);
    assert!(told.starts_with("a-1  approve v1  waiting"), "{told}");
    let input = "{\"name\": \"Ada\"}";
    assert_eq!(server.told(&["start", "greet", "--input", input, "--wait"]), "\"hello Ada\"\n");
    let started = server.json(&["start", "greet", "--id", "g-1", "--input", input, "--tag", "t"]);
    assert_eq!((&started["id"], &started["tags"]), (&json!("g-1"), &json!(["t"])));
    let result = server.json(&["start", "greet", "--input", input, "--wait=20s"]);
    assert_eq!(result, json!({"status": "completed", "output": "hello Ada"}));
}

#[test]
fn input_comes_from_a_file_or_from_standard_input() {
    let (place, server) = server();
    let file = place.at("input.json");
    write(&file, "{\"name\": \"file\"}\n");
    let at = format!("@{}", file.display());
    assert_eq!(server.told(&["start", "greet", "--input", &at, "--wait"]), "\"hello file\"\n");
    let mut child = program()
        .args(["start", "greet", "--input", "-", "--wait", "--url", &server.url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"name\": \"pipe\"}").unwrap();
    assert_eq!(stdout(&child.wait_with_output().unwrap()), "\"hello pipe\"\n");
}

#[test]
fn what_can_not_be_started_says_why_and_fails() {
    let (_place, server) = server();
    for (arguments, parts) in [
        (&["start", "greed"][..], &["greed", "greet", "WORKFLOW_TYPE_UNKNOWN"][..]),
        (&["start", "approve", "--input", "{}"], &["amount", "VALIDATION_ERROR"]),
        (&["start", "greet", "--input", "Ada"], &["Ada is not JSON", "quotes"]),
        (&["start", "greet", "--input", "@none.json"], &["none.json"]),
        (&["start", "greet", "--timeout", "soon"], &["VALIDATION_ERROR"]),
    ] {
        let said = server.refused(arguments);
        for part in parts {
            assert!(said.contains(part), "{arguments:?} said {said}");
        }
    }
    server.told(&["start", "greet", "--id", "twice", "--input", "{\"name\": 1}"]);
    assert!(server.refused(&["start", "greet", "--id", "twice"]).contains("ALREADY_EXISTS"));
    server.told(&["start", "greet", "--id", "twice", "--if-exists", "return"]);
}

#[test]
fn waiting_in_vain_and_bad_ends_are_failures() {
    let (_place, server) = server();
    let start = ["start", "approve", "--id", "a-1", "--input", "{\"amount\": 5}", "--wait=50ms"];
    let said = server.refused(&start);
    assert!(said.contains("a-1 is waiting") && said.contains("abide watch a-1"), "{said}");
    server.told(&["send", "a-1", "approval", "{\"approved\": false}"]);
    let said = server.refused(&["result", "a-1", "--wait"]);
    assert!(said.contains("errored") && said.contains("REJECTED"), "{said}");
    let output = server.abide(&["result", "a-1", "--json"]);
    assert!(!output.status.success());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["status"], &told["error"]["code"]), (&json!("errored"), &json!("REJECTED")));
    assert!(server.refused(&["result", "nobody"]).contains("WORKFLOW_NOT_FOUND"));
}

#[test]
fn send_tells_whether_somebody_waited() {
    let (_place, server) = server();
    server.told(&["start", "approve", "--id", "a-1", "--input", "{\"amount\": 5}"]);
    let event = ["send", "a-1", "approval", "{\"approved\": true}", "--id", "e-1", "--settle"];
    let told = server.told(&event);
    assert_eq!(told, "e-1  delivered; now completed\n");
    let again = server.json(&["send", "a-1", "approval", "null", "--id", "e-1"]);
    assert_eq!((&again["eventId"], &again["delivered"]), (&json!("e-1"), &json!(1)));
    assert!(server.refused(&["send", "a-1", "approval"]).contains("WORKFLOW_NOT_RUNNING"));
    server.told(&["send", "a-1", "approval", "--ignore-ended"]);
    assert!(server.refused(&["send", "nobody", "x"]).contains("WORKFLOW_NOT_FOUND"));
}

#[test]
fn signals_and_messages_are_kept_until_somebody_waits_for_them() {
    let (_place, server) = server();
    server.told(&["start", "mail", "--id", "m-1"]);
    let told = server.told(&["message", "m-1", "letters", "{\"text\": \"dear\"}"]);
    assert!(told.contains("kept until somebody waits"), "{told}");
    let buffer = server.told(&["buffer", "m-1"]);
    assert!(buffer.contains("letters") && buffer.contains("{\"text\":\"dear\"}"), "{buffer}");
    assert_eq!(server.json(&["buffer", "m-1"])["events"][0]["kind"], "message");
    assert!(server.told(&["signal", "m-1", "signed", "7"]).contains("delivered"));
    let ended = server.json(&["result", "m-1", "--wait"]);
    assert_eq!(ended["output"], json!({"sign": 7, "letter": {"text": "dear"}}));
    assert_eq!(server.told(&["buffer", "m-1"]), "nothing is kept\n");
    assert!(server.refused(&["buffer", "nobody"]).contains("WORKFLOW_NOT_FOUND"));
    assert!(server.refused(&["signal", "nobody", "x"]).contains("WORKFLOW_NOT_FOUND"));
    assert!(server.refused(&["message", "nobody", "x"]).contains("WORKFLOW_NOT_FOUND"));
}

#[test]
fn show_explains_what_an_instance_waits_for_clause_by_clause() {
    let (_place, server) = server();
    let input = "{\"orderId\": \"o-1\", \"amount\": 100}";
    server.told(&["start", "pay", "--id", "p-1", "--input", input, "--correlation-id", "c-1"]);
    let miss = ["publish", "payment.card", "{\"orderId\": \"o-1\", \"amount\": 90}", "--id", "e-1"];
    assert!(server.told(&miss).contains("nobody wanted it yet"));
    let shown = server.told(&["show", "p-1"]);
    for part in [
        "instance     p-1",
        "status       waiting",
        "correlation  c-1",
        "payment  event  waiting",
        "payment: event payment.* until ",
        "  if event.payload.orderId === input.orderId && event.payload.amount >= input.amount",
        "  nearly took e-1",
        "✓ event.payload.orderId === \"o-1\": \"o-1\" === \"o-1\"",
        "✗ event.payload.amount >= 100: 90 >= 100",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    let explained = server.told(&["explain", "e-1", "p-1"]);
    assert!(explained.contains("p-1 did not take it"), "{explained}");
    assert!(explained.contains("✗ event.payload.amount >= 100: 90 >= 100"), "{explained}");
    assert_eq!(server.json(&["explain", "e-1", "p-1"])["matched"], false);
    assert_eq!(server.json(&["show", "p-1"])["status"], "waiting");
    assert!(server.refused(&["show", "nobody"]).contains("WORKFLOW_NOT_FOUND"));
    assert!(server.refused(&["explain", "nothing", "p-1"]).contains("EVENT_NOT_FOUND"));
    assert!(server.refused(&["explain", "e-1", "nobody"]).contains("WORKFLOW_NOT_FOUND"));
}

#[test]
fn publish_tells_who_took_it_and_a_dry_run_changes_nothing() {
    let (_place, server) = server();
    let input = "{\"orderId\": \"o-1\", \"amount\": 100}";
    server.told(&["start", "pay", "--id", "p-1", "--input", input]);
    let payment = "{\"orderId\": \"o-1\", \"amount\": 120}";
    let dry = server.told(&["publish", "payment.card", payment, "--dry-run"]);
    assert!(dry.contains("dry run") && dry.contains("taken by p-1"), "{dry}");
    assert_eq!(server.json(&["show", "p-1"])["status"], "waiting");
    assert_eq!(server.told(&["events"]), "no events\n");
    let told = server.told(&["publish", "payment.card", payment, "--id", "e-1"]);
    assert!(told.contains("taken by p-1"), "{told}");
    let again = server.told(&["publish", "payment.card", payment, "--id", "e-1"]);
    assert!(again.contains("had come before"), "{again}");
    let order = ["publish", "order.placed", "{\"id\": \"o-2\", \"total\": 1}", "--id", "e-2"];
    assert_eq!(server.json(&order)["startedCount"], 1);
    let taken = server.told(&["explain", "e-1"]);
    assert!(taken.contains("TAKEN SO FAR BY\np-1"), "{taken}");
    server.told(&["publish", "nobody.cares", "[1, 2]"]);
    let log = server.told(&["events"]);
    let lines: Vec<_> = log.lines().collect();
    assert!(lines[1].contains("payment.card") && lines[1].contains("yes"), "{log}");
    assert!(lines[3].contains("nobody.cares") && lines[3].contains("[1,2]"), "{log}");
    let unmatched = server.json(&["events", "--unmatched", "--type", "nobody.*"]);
    assert_eq!(unmatched["events"].as_array().unwrap().len(), 1);
    assert_eq!(server.json(&["events", "--after", "1"])["events"][0]["seq"], 2);
    assert!(server.refused(&["publish", "not..a.type"]).contains("EVENT_INVALID"));
    assert!(server.refused(&["events", "--from", "yesterday"]).contains("VALIDATION_ERROR"));
}

#[test]
fn lists_are_tables_and_say_when_there_is_more() {
    let (_place, server) = server();
    assert_eq!(server.told(&["list"]), "no instances\n");
    for id in ["a-1", "a-2", "a-3"] {
        server.told(&["start", "approve", "--id", id, "--input", "{\"amount\": 5}"]);
    }
    let told = server.told(&["list", "--limit", "2", "--status", "waiting"]);
    let lines: Vec<_> = told.lines().collect();
    assert!(lines[0].starts_with("ID   WORKFLOW    STATUS   CREATED"), "{told}");
    assert!(lines[1].starts_with("a-3  approve v1  waiting"), "{told}");
    let cursor = lines[3].rsplit(' ').next().unwrap();
    assert!(lines[3].starts_with("there are more: --cursor"), "{told}");
    let rest = server.told(&["list", "--limit", "2", "--cursor", cursor]);
    assert!(rest.contains("a-1") && !rest.contains("a-2"), "{rest}");
    assert_eq!(server.json(&["list"])["instances"].as_array().unwrap().len(), 3);
    assert!(server.refused(&["list", "--status", "done"]).contains("VALIDATION_ERROR"));
    let waits = server.told(&["subscriptions", "--instance", "a-1"]);
    assert!(waits.contains("decision") && waits.contains("approval"), "{waits}");
    let waits = server.json(&["subscriptions", "--status", "active", "--limit", "2"]);
    assert_eq!(waits["subscriptions"].as_array().unwrap().len(), 2);
    assert_eq!(server.told(&["subscriptions", "--pattern", "x"]), "nobody waits\n");
    assert!(server.refused(&["subscriptions", "--status", "x"]).contains("VALIDATION_ERROR"));
    assert!(server.told(&["nodes"]).contains("node_"));
    assert_eq!(server.json(&["nodes"])["nodes"].as_array().unwrap().len(), 1);
}

#[test]
fn history_and_outputs_are_shown() {
    let (_place, server) = server();
    server.told(&["start", "greet", "--id", "g-1", "--input", "{\"name\": \"Ada\"}", "--wait"]);
    let history = server.told(&["history", "g-1"]);
    for part in ["workflow.started", "output.set", "workflow.completed", "\"hello Ada\""] {
        assert!(history.contains(part), "{part} is not in\n{history}");
    }
    let all = server.json(&["history", "g-1"])["events"].as_array().unwrap().len();
    let few = server.told(&["history", "g-1", "--limit", "1", "--after", "1"]);
    assert_eq!(few.lines().filter(|line| line.starts_with("2 ")).count(), 1, "{few}");
    assert!(all > 2 && few.lines().count() == 3, "{few}");
    assert!(server.told(&["output", "g-1"]).contains("greeting"));
    assert_eq!(server.told(&["output", "g-1", "greeting"]), "\"hello Ada\"\n");
    assert_eq!(server.json(&["output", "g-1", "greeting"])["value"], "hello Ada");
    assert!(server.refused(&["output", "g-1", "other"]).contains("OUTPUT_NOT_FOUND"));
    assert!(server.refused(&["history", "nobody"]).contains("WORKFLOW_NOT_FOUND"));
}

#[test]
fn instances_are_paused_resumed_ended_and_run_again() {
    let (_place, server) = server();
    server.told(&["start", "approve", "--id", "a-1", "--input", "{\"amount\": 5}"]);
    assert!(server.told(&["pause", "a-1"]).contains("paused"));
    assert!(server.refused(&["pause", "a-1"]).contains("INVALID_TRANSITION"));
    assert_eq!(server.json(&["resume", "a-1"])["id"], "a-1");
    assert!(server.refused(&["resume", "a-1"]).contains("INVALID_TRANSITION"));
    server.told(&["wake", "a-1"]);
    server.told(&["wake", "a-1", "--delay", "10ms"]);
    let ended = server.told(&["terminate", "a-1", "--reason", "enough of it"]);
    assert!(ended.contains("terminated") && ended.contains("enough of it"), "{ended}");
    assert!(server.refused(&["restart", "a-1", "--from-step", "x"]).contains("STEP_NOT_FOUND"));
    assert!(server.told(&["restart", "a-1"]).contains("run 2"));
    server.told(&["terminate", "a-1", "--compensate", "--keep-children"]);
    assert!(server.refused(&["result", "a-1", "--wait"]).contains("terminated"));
    for command in ["pause", "resume", "terminate", "restart", "wake"] {
        assert!(server.refused(&[command, "nobody"]).contains("WORKFLOW_NOT_FOUND"), "{command}");
    }
}

#[test]
fn documents_are_registered_and_what_is_wrong_with_them_is_told() {
    let (place, server) = server();
    let (good, bad) = (place.at("new.yaml"), place.at("bad.yaml"));
    write(&good, "name: new\nsteps: [{id: a, set: {x: 1}}]\n");
    write(&bad, "name: bad\nsteps:\n  - {id: a, slep: 1 hour}\n");
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let said = server.refused(&["register", good, bad]);
    assert!(said.contains("bad.yaml:3:") && said.contains("sleep"), "{said}");
    assert!(!server.told(&["workflows"]).contains("new"), "nothing of it was to be registered");
    assert_eq!(server.told(&["register", good]), "new version 1\n");
    assert_eq!(server.told(&["register", good]), "new version 1 (unchanged)\n");
    assert_eq!(server.json(&["register", good])["changed"], false);
    assert!(server.told(&["workflows"]).contains("new       1"));
    assert_eq!(server.json(&["workflows"])["workflows"].as_array().unwrap().len(), 5);
}

#[test]
fn a_server_that_is_not_there_is_told_with_how_to_start_one() {
    // A port that was free a moment ago.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    drop(socket);
    let said = refusal(&["list", "--url", &url]);
    assert!(said.contains(&url) && said.contains("abide dev"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let said = refusal(&["watch", "x", "--url", &url]);
    assert!(said.contains("abide dev"), "{said}");
    assert!(refusal(&["list", "--url", "nowhere"]).contains("http://127.0.0.1:7878"));
}

#[test]
fn completions_are_made_for_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&program().args(["completions", shell]).output().unwrap());
        assert!(script.contains("terminate") && script.contains("abide"), "{shell}");
    }
    assert!(refusal(&["completions", "abacus"]).contains("bash"));
}
