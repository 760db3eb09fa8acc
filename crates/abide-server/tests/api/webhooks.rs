//! Webhooks: defining them, and calls that are signed, or not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use ring::hmac;
use serde_json::{Value, json};

use crate::instances::APPROVE;
use crate::world::{Answer, World, answer};

const KEY: &str = "c2VjcmV0IG9mIHRlc3Rz";

async fn world() -> World {
    World::set_up(&[APPROVE], |settings| {
        settings.environment = |name| match name {
            "SECRET" => Some("secret".to_owned()),
            "STANDARD_SECRET" => Some(format!("whsec_{KEY}")),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
    })
    .await
}

fn sign(key: &[u8], what: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), what.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn seconds(world: &World) -> i64 {
    world.app.engine().now().0 / 1000
}

async fn put(world: &World, name: &str, body: Value) -> Answer {
    world.send(Method::PUT, format!("/webhooks/{name}"), body).await
}

async fn call(world: &World, name: &str, headers: &[(&str, String)], body: &str) -> Answer {
    let mut request = world.request(Method::POST, &format!("/hooks/{name}"));
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    // As a provider calls: from elsewhere, under another name.
    answer(request.header("host", "abide.example.com").body(body.to_owned())).await
}

fn stripe(at: i64, body: &str) -> Vec<(&'static str, String)> {
    let signature = hex(&sign(b"secret", &format!("{at}.{body}")));
    vec![("stripe-signature", format!("t={at},v1={signature}"))]
}

fn verify(scheme: &str) -> Value {
    json!({"scheme": scheme, "secretEnv": "SECRET"})
}

#[tokio::test]
async fn a_signed_call_is_published_once() {
    let world = world().await;
    let webhook = json!({"type": "stripe.${body.type}", "payload": "${body.data.object}", "id": "${body.id}",
        "verify": verify("stripe")});
    put(&world, "stripe", webhook).await.with(200);
    let body = r#"{"id": "evt_9", "type": "charge.paid", "data": {"object": {"amount": 7}}}"#;
    let headers = stripe(seconds(&world), body);
    let first = call(&world, "stripe", &headers, body).await.with(202);
    assert_eq!((&first["eventId"], &first["duplicate"]), (&json!("evt_9"), &json!(false)));
    let again = call(&world, "stripe", &headers, body).await.with(202);
    assert_eq!((&again["duplicate"], &again["seq"]), (&json!(true), &first["seq"]));
    let event = world.get("/events/evt_9").await.with(200);
    assert_eq!(
        (&event["type"], &event["source"]),
        (&json!("stripe.charge.paid"), &json!("webhooks/stripe"))
    );
    assert_eq!(event["payload"], json!({"amount": 7}));
}

#[tokio::test]
async fn a_call_that_is_not_signed_as_it_should_be_is_refused() {
    let world = world().await;
    put(&world, "stripe", json!({"type": "s", "verify": verify("stripe")})).await.with(200);
    let (body, now) = (r#"{"id": "evt_1"}"#, seconds(&world));
    let refused = async |headers: &[(&str, String)], body: &str| {
        call(&world, "stripe", headers, body).await.refused(401, "UNAUTHORIZED");
    };
    refused(&[], body).await;
    refused(&stripe(now, body), r#"{"id": "evt_2"}"#).await;
    refused(&stripe(now - 301, body), body).await;
    refused(&stripe(now + 400, body), body).await;
    refused(&[("stripe-signature", format!("t={now},v1="))], body).await;
    let twice = [stripe(now, body), stripe(now, body)].concat();
    refused(&twice, body).await;
    assert_eq!(world.get("/events").await.with(200), json!({"events": []}));
    call(&world, "nobody", &[], body).await.refused(404, "DEFINITION_NOT_FOUND");
}

#[tokio::test]
async fn each_scheme_gives_an_event_its_id() {
    let world = world().await;
    let now = seconds(&world);
    let body = r#"{"kind": "push"}"#;
    for (name, verify) in [
        ("github", verify("github")),
        ("standard", json!({"scheme": "standard", "secretEnv": "STANDARD_SECRET"})),
        ("plain", verify("hmac")),
        (
            "timed",
            json!({"scheme": "hmac", "secretEnv": "SECRET", "header": "X-Sig", "timestampHeader": "X-Time"}),
        ),
    ] {
        let webhook =
            json!({"type": "${body.kind}", "source": "s/${headers.host}", "verify": verify});
        put(&world, name, webhook).await.with(200);
    }
    let github = [
        ("x-hub-signature-256", format!("sha256={}", hex(&sign(b"secret", body)))),
        ("x-github-delivery", "d-1".to_owned()),
    ];
    assert_eq!(call(&world, "github", &github, body).await.with(202)["eventId"], "d-1");
    let key = STANDARD.decode(KEY).unwrap();
    let signature = STANDARD.encode(sign(&key, &format!("msg_1.{now}.{body}")));
    let standard = [
        ("webhook-id", "msg_1".to_owned()),
        ("webhook-timestamp", now.to_string()),
        ("webhook-signature", format!("v1,{signature}")),
    ];
    assert_eq!(call(&world, "standard", &standard, body).await.with(202)["eventId"], "msg_1");
    let event = world.get("/events/msg_1").await.with(200);
    assert_eq!(
        (&event["payload"], &event["source"]),
        (&json!({"kind": "push"}), &json!("s/abide.example.com"))
    );
    let plain = [("x-signature", hex(&sign(b"secret", body)))];
    let first = call(&world, "plain", &plain, body).await.with(202);
    let again = call(&world, "plain", &plain, body).await.with(202);
    assert_eq!((&again["duplicate"], &again["eventId"]), (&json!(true), &first["eventId"]));
    let timed = |at: i64| {
        [("x-sig", hex(&sign(b"secret", &format!("{at}.{body}")))), ("x-time", at.to_string())]
    };
    let first = call(&world, "timed", &timed(now), body).await.with(202);
    let later = call(&world, "timed", &timed(now + 1), body).await.with(202);
    assert_ne!(first["eventId"], later["eventId"], "signed anew, it is another call");
    call(&world, "timed", &timed(now - 1000), body).await.refused(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn a_call_with_an_address_is_sent_to_that_instance() {
    let world = world().await;
    let start = json!({"id": "a-1", "input": {"amount": 1}});
    world.post("/workflows/approve/instances?settle=10s", start).await.with(201);
    let webhook = json!({"type": "approval", "payload": {"by": "${body.user}"}, "id": "${body.n}",
        "to": "${body.instance ?? null}", "verify": verify("hmac")});
    put(&world, "approve", webhook).await.with(200);
    let send = async |body: Value| {
        let body = body.to_string();
        let headers = [("x-signature", format!("sha256={}", hex(&sign(b"secret", &body))))];
        call(&world, "approve", &headers, &body).await
    };
    let sent = send(json!({"n": 2, "user": "u", "instance": "a-1"})).await.with(202);
    assert_eq!(sent, json!({"eventId": "2", "delivered": 1, "buffered": false}));
    let result = world.get("/instances/a-1/result?timeout=30s").await.with(200);
    assert_eq!(result["output"], json!({"by": "u"}));
    let published = send(json!({"n": 1, "user": "u"})).await.with(202);
    assert_eq!((&published["matchedCount"], published["seq"].is_i64()), (&json!(0), true));
    send(json!({"n": 3, "user": "u", "instance": "a-1"}))
        .await
        .refused(409, "WORKFLOW_NOT_RUNNING");
    send(json!({"n": 4, "user": "u", "instance": "nobody"}))
        .await
        .refused(404, "WORKFLOW_NOT_FOUND");
}

#[tokio::test]
async fn a_trusted_call_that_makes_no_event_says_why() {
    let world = world().await;
    put(
        &world,
        "h",
        json!({"type": "a.${body.kind}", "payload": "${body.x.y}", "verify": verify("hmac")}),
    )
    .await
    .with(200);
    for (body, expect) in [
        ("", "not JSON"),
        ("{", "not JSON"),
        (r#"{"n": 1e999}"#, "out of range"),
        (r#"{"kind": "b"}"#, "`body.x.y` at `payload`"),
        (r#"{"kind": "", "x": {"y": 1}}"#, "empty segment"),
    ] {
        let headers = [("x-signature", hex(&sign(b"secret", body)))];
        let message = call(&world, "h", &headers, body).await.refused(400, "EVENT_INVALID");
        assert!(message.contains(expect), "{body}: {message}");
    }
}

#[tokio::test]
async fn without_a_usable_secret_no_call_is_taken_and_none_is_told() {
    let world = world().await;
    for (name, verify) in [
        ("unset", json!({"scheme": "hmac", "secretEnv": "UNSET"})),
        ("empty", json!({"scheme": "hmac", "secretEnv": "EMPTY"})),
        ("odd", json!({"scheme": "standard", "secretEnv": "EMPTY"})),
    ] {
        put(&world, name, json!({"type": "a", "verify": verify})).await.with(200);
        let headers = [("x-signature", hex(&sign(b"", "{}")))];
        let refused = call(&world, name, &headers, "{}").await;
        let message = refused.refused(401, "UNAUTHORIZED");
        assert!(!message.contains("UNSET") && !message.contains("EMPTY"), "{message}");
    }
}

#[tokio::test]
async fn webhooks_are_put_listed_changed_and_removed() {
    let world = world().await;
    let first = put(&world, "h", json!({"type": "a", "verify": verify("github")})).await.with(200);
    assert_eq!((&first["name"], &first["version"]), (&json!("h"), &json!(1)));
    assert_eq!((&first["payload"], &first["verify"]), (&json!("${body}"), &verify("github")));
    let second = put(&world, "h", json!({"type": "b", "verify": verify("hmac")})).await.with(200);
    assert_eq!(second["version"], 2);
    assert_eq!(world.get("/webhooks/h").await.with(200), second);
    assert_eq!(world.get("/webhooks").await.with(200), json!({"webhooks": [second]}));
    let removed = world.send(Method::DELETE, "/webhooks/h", json!({})).await;
    assert_eq!(removed.status.as_u16(), 204);
    world.get("/webhooks/h").await.refused(404, "DEFINITION_NOT_FOUND");
    world.send(Method::DELETE, "/webhooks/h", json!({})).await.refused(404, "DEFINITION_NOT_FOUND");
    for wrong in [
        json!({"type": "a"}),
        json!({"type": "a", "verify": {"scheme": "none", "secretEnv": "SECRET"}}),
        json!({"type": "a", "verify": {"scheme": "hmac", "secretEnv": "A B"}}),
        json!({"type": "a", "verify": {"scheme": "github", "secretEnv": "SECRET", "header": "x"}}),
        json!({"type": "a", "verify": {"scheme": "hmac", "secretEnv": "SECRET", "header": "a b"}}),
        json!({"type": "${body.", "verify": verify("hmac")}),
        json!({"type": "${bdy.x}", "verify": verify("hmac")}),
        json!({"type": "a", "payload": {"x": ["${event.payload}"]}, "verify": verify("hmac")}),
        json!({"type": "a", "verify": verify("hmac"), "secret": "x"}),
    ] {
        put(&world, "h", wrong).await.refused(400, "DEFINITION_INVALID");
    }
    put(&world, "a%20b", json!({"type": "a", "verify": verify("hmac")}))
        .await
        .refused(400, "VALIDATION_ERROR");
}
