//! Clients that mean no good: whatever they send is refused, and the server goes on.

use std::fmt::Write as _;
use std::time::Duration;

use abide_server::Settings;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::events::ORDER;
use crate::guard::operations;
use crate::instances::APPROVE;
use crate::world::{World, answer};

/// Far more than any answer takes; so that a test that hangs fails.
const LONGEST: Duration = Duration::from_secs(30);

async fn connect(world: &World) -> TcpStream {
    TcpStream::connect(world.base.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Everything that the server says until it hangs up.
async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // A connection that is reset has said what it had to say.
    let _ = tokio::time::timeout(LONGEST, stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The answer to these bytes.
async fn say(world: &World, bytes: &[u8]) -> String {
    let mut stream = connect(world).await;
    // The server may hang up before it has heard everything.
    let _ = stream.write_all(bytes).await;
    rest(&mut stream).await
}

fn status(answer: &str) -> Option<u16> {
    answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

async fn lives(world: &World) {
    world.get("/events?limit=1").await.with(200);
}

/// The same sequence for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }
}

#[tokio::test]
async fn strange_paths_are_refused() {
    let world = World::with(&[APPROVE]).await;
    let long = format!("/v1/instances/{}", "x".repeat(20_000));
    let longer = format!("/v1/{}", "a/".repeat(100_000));
    for path in [
        "/v1/instances/%",
        "/v1/instances/%ff",
        "/v1/instances/%00",
        "/v1/instances/%0d%0aX-Evil:%201",
        "/v1/instances/..%2f..%2fetc%2fpasswd",
        "/v1/../../etc/passwd",
        "/v1//instances",
        "/v1/instances/",
        "/v1/events/%F0%9F%98%80/explain",
        "/v1/instances?limit=99999999999999999999",
        "/v1/instances?limit=1&limit=2",
        "/v1/instances?%ff=%fe",
        "/v1/events?after=-9223372036854775809",
        "/v1/events?type=a%00b&nothing",
        "/v1/subscriptions?status=%27%20OR%201=1",
        "/docs/../v1/tokens",
        "/DOCS",
        long.as_str(),
        longer.as_str(),
    ] {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = say(&world, request.as_bytes()).await;
        let status = status(&answer);
        let shown = &path[..path.len().min(60)];
        assert!(status.is_some_and(|status| (400..500).contains(&status)), "{shown}: {answer}");
        assert!(!answer.contains("\r\nX-Evil"), "{answer}");
    }
    lives(&world).await;
}

#[tokio::test]
async fn strange_requests_are_refused_or_hung_up_on() {
    let world = World::set_up(&[], |settings| {
        settings.header_timeout = Duration::from_millis(500);
        settings.body_timeout = Duration::from_millis(500);
    })
    .await;
    let many: String = (0..500).fold(String::new(), |mut all, n| {
        let _ = write!(all, "x-{n}: 1\r\n");
        all
    });
    let huge = format!("x: {}\r\n", "y".repeat(200_000));
    for (what, request) in [
        ("nonsense", b"\x00\xff\x16\x03\x01 nothing\r\n\r\n".to_vec()),
        ("no host", b"GET /v1/events HTTP/1.1\r\nConnection: close\r\n\r\n".to_vec()),
        ("two hosts", b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n".to_vec()),
        ("another address", b"GET http://evil.com/v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_vec()),
        ("many headers", format!("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n{many}\r\n").into_bytes()),
        ("a huge header", format!("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n{huge}\r\n").into_bytes()),
        ("a bad header", b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nx y: 1\r\n\r\n".to_vec()),
        ("two lengths", b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}".to_vec()),
        ("no length", b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}".to_vec()),
        ("bad chunks", b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n".to_vec()),
        ("another method", b"BREW /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_vec()),
        ("a tunnel", b"CONNECT evil.com:443 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_vec()),
    ] {
        let answer = say(&world, &request).await;
        let status = status(&answer);
        let refused = answer.is_empty() || status.is_some_and(|status| (400..500).contains(&status));
        assert!(refused, "{what}: {answer}");
    }
    lives(&world).await;
}

#[tokio::test]
async fn json_that_is_too_deep_or_too_big_is_refused_everywhere() {
    let world = World::with(&[APPROVE]).await;
    let deep = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let bodies = [
        deep(1_000),
        deep(100_000),
        "[".repeat(1_000_000),
        r#"{"type": "a", "payload": 1e400}"#.to_owned(),
        format!(r#"{{"payload": {}}}"#, "9".repeat(5_000)),
        "\"\\ud800\"".to_owned(),
    ];
    // To say what is wrong with a document is no refusal.
    let takes_bodies = |(method, path): &(Method, String)| {
        method != Method::GET && path != "/v1/workflows/validate"
    };
    for (method, path) in operations().into_iter().filter(takes_bodies) {
        for body in &bodies {
            let request = world.client.request(method.clone(), format!("{}{path}", world.base));
            let request = request.header("content-type", "application/json").body(body.clone());
            let refused = answer(request).await.status.as_u16();
            assert!((400..500).contains(&refused), "{method} {path}: {refused}");
        }
    }
    lives(&world).await;
}

/// Sends many small changes of something right. Nothing may come of it but an answer.
#[tokio::test]
async fn mangled_bodies_never_break_the_server() {
    let world = World::with(&[ORDER]).await;
    let event = r#"{"type": "payment.card", "id": "e", "source": "s", "time": "2024-01-01T00:00:00Z", "payload": {"orderId": "o-1", "amount": 12.5}}"#;
    let cloud = r#"{"specversion": "1.0", "id": "1", "source": "/s", "type": "a.b", "time": "2024-01-01T00:00:00Z", "datacontenttype": "application/json", "data": {"n": [1, 2]}, "data_base64": null}"#;
    let batch = format!("[{cloud}, {cloud}]");
    let trigger = r#"{"workflow": "order", "eventPattern": "a.*", "filterCondition": "event.payload.n > 1 && event.id in ['x']", "inputMapping": {"orderId": "${event.payload.id ?? 'o'}"}}"#;
    let webhook = r#"{"type": "${body.type}", "payload": {"a": ["${headers.host}"]}, "verify": {"scheme": "hmac", "secretEnv": "X"}}"#;
    let definition = r##"{"schema": {"type": "object", "properties": {"n": {"$ref": "#/definitions/n"}}, "definitions": {"n": {"minimum": 1}}}, "examples": [{"n": 2}]}"##;
    let start = r#"{"id": "o-1", "input": {"orderId": "o-1"}, "tags": ["a"], "startAt": "2024-01-01T00:00:00Z", "timeout": "1 hour"}"#;
    let mut random = Random(0x5eed_1234_abcd_0001);
    for (method, path, media, body) in [
        (Method::POST, "/events", "application/json", event),
        (Method::POST, "/events", "application/cloudevents+json", cloud),
        (Method::POST, "/events", "application/cloudevents-batch+json", batch.as_str()),
        (Method::PUT, "/triggers/t", "application/json", trigger),
        (Method::PUT, "/webhooks/w", "application/json", webhook),
        (Method::PUT, "/event-definitions/z.z", "application/json", definition),
        (Method::POST, "/workflows/order/instances", "application/json", start),
    ] {
        for round in 0..60 {
            let mut bytes = body.as_bytes().to_vec();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len().max(1));
                match random.below(4) {
                    _ if bytes.is_empty() => bytes.push(b'{'),
                    0 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, b"{}[]\",:\\0e-.\x00\xff"[random.below(14)]),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let request = world.request(method.clone(), path).header("content-type", media);
            let answered = answer(request.body(bytes.clone())).await;
            let shown = String::from_utf8_lossy(&bytes);
            assert!(
                answered.status.as_u16() < 500,
                "{method} {path} {round}: {shown}\n{}",
                answered.text
            );
        }
    }
    lives(&world).await;
}

#[tokio::test]
async fn strange_headers_of_cloud_events_are_refused() {
    let world = World::with(&[]).await;
    for (name, value) in [
        ("ce-id", &b"\xff\xfe"[..]),
        ("ce-id", b""),
        ("ce-type", b"a..b"),
        ("ce-type", b"%ff"),
        ("ce-time", b"yesterday"),
        ("ce-specversion", b"2.0"),
        ("ce-Bad_Name", b"1"),
    ] {
        let mut request = world.request(Method::POST, "/events").body("{}");
        for (known, right) in
            [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/s"), ("ce-type", "a")]
        {
            if known != name {
                request = request.header(known, right);
            }
        }
        request = request.header("content-type", "application/json").header(name, value);
        let refused = answer(request).await;
        assert_eq!(refused.status.as_u16(), 400, "{name}: {value:?}");
        refused.refused(400, "EVENT_INVALID");
    }
    assert_eq!(world.get("/events").await.with(200), json!({"events": []}));
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let world =
        World::set_up(&[], |settings| settings.body_timeout = Duration::from_millis(100)).await;
    for head in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let mut stream = connect(&world).await;
        let request = format!(
            "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert_eq!(status(&answer), Some(408), "{answer}");
    }
    lives(&world).await;
}

#[tokio::test]
async fn headers_that_do_not_come_are_not_waited_for() {
    let world =
        World::set_up(&[], |settings| settings.header_timeout = Duration::from_millis(100)).await;
    for begun in ["", "GET", "GET / HTTP/1.1\r\nHost: localh", "PRI * HTTP/2.0\r\n"] {
        let mut stream = connect(&world).await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.is_empty() || status(&answer) == Some(408), "{begun}: {answer}");
    }
    lives(&world).await;
}

#[tokio::test]
async fn thousands_of_idle_connections_leave_room_for_work() {
    let world = World::with(&[]).await;
    let mut idle = Vec::new();
    for _ in 0..2_000 {
        let address = world.base.strip_prefix("http://").unwrap();
        // As many as the machine allows.
        let Ok(stream) = TcpStream::connect(address).await else { break };
        idle.push(stream);
    }
    assert!(idle.len() >= 100, "only {} connections", idle.len());
    for n in 0..20 {
        world.post("/events", json!({"type": "a", "id": format!("e-{n}")})).await.with(202);
    }
    drop(idle);
    lives(&world).await;
}

#[tokio::test]
async fn a_full_server_serves_who_waits_once_somebody_leaves() {
    let world = World::set_up(&[], |settings| settings.max_connections = 2).await;
    let (first, second) = (connect(&world).await, connect(&world).await);
    let mut third = connect(&world).await;
    third
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut byte = [0];
    let early = tokio::time::timeout(Duration::from_millis(100), third.peek(&mut byte)).await;
    assert!(early.is_err(), "it was served beside two others");
    drop((first, second));
    assert_eq!(status(&rest(&mut third).await), Some(200));
}

#[tokio::test]
async fn a_full_server_stops_all_the_same() {
    let change = |settings: &mut Settings| {
        (settings.max_connections, settings.drain) = (1, Duration::from_millis(100));
    };
    let world = World::set_up(&[], change).await;
    let mut only = connect(&world).await;
    only.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    // It was accepted, and there is no room for another.
    let mut byte = [0];
    only.peek(&mut byte).await.unwrap();
    let World { listening, app: _app, .. } = world;
    let stopped = tokio::time::timeout(LONGEST, listening.shutdown()).await;
    assert!(stopped.is_ok(), "it does not hear that it should stop");
}
