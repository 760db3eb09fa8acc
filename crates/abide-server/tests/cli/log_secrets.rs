//! What the log never tells, at its most talkative and whatever is asked of the server.

use ring::hmac;
use serde_json::{Value, json};

use crate::http::ask;
use crate::program::{abide, path, stdout};
use crate::server::{Place, Server, write};
use crate::tracker::sink_for;

const PAYLOAD: &str = "marked-payload-1";
const WEBHOOK_SECRET: &str = "marked-webhook-2";
const TRACKER_TOKEN: &str = "marked-tracker-3";
const TRACKER_KEY: &str = "marked-key-4";
const WRONG_TOKEN: &str = "abd_marked-wrong-5";
/// As base64 has it, in the form of `signingSecret`.
const SIGNING_SECRET: &str = "bWFya2VkLXNpZ25pbmctNg==";

const TALK: &str = "
name: talk
steps:
  - {id: ask, waitForEvent: {eventPattern: approval, filterCondition: 'event.payload.note === input.note'}}
  - {id: sign, waitForSignal: {name: signed}}
  - {id: keep, setOutput: {key: note, value: '${steps.ask.output.payload.note}'}}
output: '${steps.sign.output.payload}'
";

/// A server with a token, a sink that listens and one that does not.
fn served(place: &Place, sink: &str) -> (Server, String) {
    let made = stdout(&abide(&["token", "new", "--store", &place.store()]));
    let config = place.at("abide.toml");
    let text = format!(
        "[[tracker]]\nname = \"audit\"\nurl = \"{sink}?key={TRACKER_KEY}\"\ndurable = true\n\
         accessToken = \"env:TRACKER_TOKEN\"\nsigningSecret = \"whsec_{SIGNING_SECRET}\"\ntypes = \"all\"\n\
         [[tracker]]\nname = \"deaf\"\nurl = \"http://127.0.0.1:1/?key={TRACKER_KEY}\"\n\
         accessToken = \"{TRACKER_TOKEN}\"\nretry.maxAttempts = 0\n"
    );
    write(&config, &text);
    let server = Server::start_with(
        &[
            "--store",
            &place.store(),
            "--listen",
            "127.0.0.1:0",
            "--config",
            path(&config),
            path(&place.at("flows")),
        ],
        &[
            ("ABIDE_LOG", "trace"),
            ("TRACKER_TOKEN", TRACKER_TOKEN),
            ("WEBHOOK_SECRET", WEBHOOK_SECRET),
        ],
    );
    (server, made.trim().to_owned())
}

fn signature(body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, WEBHOOK_SECRET.as_bytes());
    let tag = hmac::sign(&key, body.as_bytes());
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Calls that are signed, not signed, signed wrongly, and for which the secret is missing.
fn call_webhooks(server: &Server, bearer: &str) {
    let authorized = [("authorization", bearer)];
    for (name, variable) in [("good", "WEBHOOK_SECRET"), ("lost", "NO_SUCH_SECRET")] {
        let hook = json!({"type": "called", "payload": "${body.note}",
            "verify": {"scheme": "hmac", "secretEnv": variable}});
        let put = format!("PUT /v1/webhooks/{name}");
        assert_eq!(ask(server, &put, &authorized, &hook.to_string()).0, 200);
    }
    let body = format!("{{\"note\": \"{PAYLOAD}\"}}");
    let signed = signature(&body);
    let empty = format!("{{\"other\": \"{PAYLOAD}\"}}");
    for (name, signed, body, status) in [
        ("good", signed.as_str(), &body, 202),
        ("good", WEBHOOK_SECRET, &body, 401),
        ("good", &signature(&empty), &empty, 400),
        ("lost", &signed, &body, 401),
    ] {
        let headers = [("x-signature", signed)];
        let answer = ask(server, &format!("POST /v1/hooks/{name}"), &headers, body);
        assert_eq!(answer.0, status, "{name}: {}", answer.1);
    }
}

/// Everything that is refused, with what must not be told in every place that there is.
fn be_refused(server: &Server, bearer: &str) {
    let authorized = [("authorization", bearer)];
    let start = "POST /v1/workflows/talk/instances";
    let wrong = format!("Bearer {WRONG_TOKEN}");
    assert_eq!(ask(server, start, &[("authorization", &wrong)], "{}").0, 401);
    let in_address = format!("GET /v1/instances?access_token={WRONG_TOKEN}&tag={PAYLOAD}");
    assert_eq!(ask(server, &in_address, &[], "").0, 401);
    for body in [
        format!("{{\"input\": \"{PAYLOAD}\""),
        format!("{{\"inptu\": \"{PAYLOAD}\"}}"),
        format!("{{\"input\": 1, \"timeout\": \"{PAYLOAD}\"}}"),
    ] {
        assert_eq!(ask(server, start, &authorized, &body).0, 400, "{body}");
    }
    let document = format!("{{\"name\": \"x\", \"steps\": [{{\"id\": \"{PAYLOAD} \"}}]}}");
    assert_eq!(ask(server, "PUT /v1/workflows/x", &authorized, &document).0, 400);
}

/// An access token for streams, with which a stream is read to its end.
fn read_a_stream(server: &Server, bearer: &str) -> String {
    let authorized = [("authorization", bearer)];
    let (status, made) = ask(server, "POST /v1/access-tokens", &authorized, "{}");
    assert_eq!(status, 201, "{made}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let token = made["accessToken"].as_str().unwrap().to_owned();
    let stream = format!("GET /v1/instances/t/stream?access_token={token}");
    let (status, told) = ask(server, &stream, &[("accept", "text/event-stream")], "");
    assert!(status == 200 && told.contains(PAYLOAD), "{told}");
    token
}

#[test]
fn neither_payloads_nor_secrets_are_logged_at_trace_in_a_mixed_run() {
    let place = Place::with(&[TALK]);
    let (url, events) = sink_for(TRACKER_TOKEN);
    let (server, admin) = served(&place, &url);
    let bearer = format!("Bearer {admin}");
    let note = format!("{{\"note\": \"{PAYLOAD}\"}}");
    let told = |arguments: &[&str]| server.told(&[arguments, &["--token", &admin]].concat());
    told(&["start", "talk", "--id", "t", "--input", &note, "--tag", "x"]);
    told(&["publish", "approval", "{\"note\": 1}"]);
    told(&["publish", "approval", &note]);
    told(&["signal", "t", "signed", &note]);
    assert!(told(&["result", "t", "--wait"]).contains(PAYLOAD));
    call_webhooks(&server, &bearer);
    be_refused(&server, &bearer);
    let access = read_a_stream(&server, &bearer);
    told(&["token", "new", "--scopes", "read"]);
    let tracked = std::iter::from_fn(|| events.recv_timeout(crate::lines::PATIENCE).ok());
    let mut tracked = tracked.take_while(|event| event["type"] != "workflow.completed");
    assert!(tracked.any(|event| event.to_string().contains(PAYLOAD)), "the sink was told it");
    let lines = server.stop_and_read();
    for part in ["\"TRACE\"", "a batch was not taken", "answered"] {
        assert!(lines.iter().any(|line| line.contains(part)), "it was to tell of {part}");
    }
    let hidden = [
        PAYLOAD,
        WEBHOOK_SECRET,
        TRACKER_TOKEN,
        TRACKER_KEY,
        WRONG_TOKEN,
        SIGNING_SECRET,
        &admin,
        &access,
    ];
    for line in lines {
        serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        for secret in hidden {
            assert!(!line.contains(secret), "{secret} is in {line}");
        }
    }
}
