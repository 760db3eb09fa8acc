//! Calls, on a server on loopback.

use std::time::Duration;

use crate::support::{Answer, Server, client, settings};
use abide_flow::{HttpClient, HttpError, HttpRequest, Redactor};
use serde_json::{Value, json};

#[tokio::test]
async fn a_call_sends_everything_and_answers_with_status_headers_and_body() {
    let server = Server::start(|_| Answer::json(&json!({"depot": "north"}))).await;
    let response = client()
        .call(HttpRequest {
            query: Some(json!({"dry": true})),
            headers: Some(json!({"X-Trace": "t-1"})),
            body: Some(json!({"order": 17})),
            idempotency_key: Some("wf_1/1/reserve".into()),
            ..HttpRequest::new("POST", server.url("/reserve"))
        })
        .await
        .unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.body, json!({"depot": "north"}));
    assert_eq!(response.headers["content-type"], "application/json");

    let received = &server.received()[0];
    assert_eq!((received.method.as_str(), received.target.as_str()), ("POST", "/reserve?dry=true"));
    assert_eq!(received.json(), json!({"order": 17}));
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("idempotency-key"), Some("wf_1/1/reserve"));
    assert_eq!(received.header("x-trace"), Some("t-1"));
}

#[tokio::test]
async fn an_answer_is_stored_as_json_with_the_names_of_the_contract() {
    let server = Server::start(|_| Answer::new(200, &[], b"\xff\x00")).await;
    let response = client().call(HttpRequest::new("GET", server.url("/"))).await.unwrap();
    let stored = serde_json::to_value(response).unwrap();
    assert_eq!(stored["body"], "/wA=");
    assert_eq!(stored["bodyEncoding"], "base64");
    assert_eq!(stored["status"], 200);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::start(|_| Answer::text(200, "ok")).await;
    let client = client();
    for _ in 0..3 {
        client.call(HttpRequest::new("GET", server.url("/"))).await.unwrap();
    }
    let connections: Vec<_> = server.received().iter().map(|one| one.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

async fn refused(answer: impl Fn() -> Answer + Send + Sync + 'static) -> HttpError {
    let server = Server::start(move |_| answer()).await;
    client().call(HttpRequest::new("GET", server.url("/x?token=private"))).await.unwrap_err()
}

#[tokio::test]
async fn a_status_decides_whether_to_ask_again() {
    for (status, again) in [
        (400, false),
        (401, false),
        (404, false),
        (408, true),
        (409, false),
        (425, true),
        (429, true),
        (500, true),
        (503, true),
        (302, false),
    ] {
        let error = refused(move || Answer::text(status, "no")).await;
        assert_eq!(error.is_retryable(), again, "{status}: {error}");
        assert_eq!(error.failure().detail::<u16>("status"), Some(status));
    }
}

#[tokio::test]
async fn a_refusal_tells_status_and_the_beginning_of_its_body() {
    let error = refused(|| Answer::text(503, &"ä".repeat(2000))).await;
    let failure = error.failure();
    assert_eq!(failure.code, "STEP_FAILED");
    assert!(failure.message.ends_with("/x answered 503"), "{}", failure.message);
    assert!(!failure.message.contains("private"), "{}", failure.message);
    assert_eq!(failure.detail::<String>("body"), Some("ä".repeat(512)));
}

#[tokio::test]
async fn a_server_may_say_when_to_come_back() {
    let error = refused(|| Answer::new(429, &[("retry-after", "7")], "")).await;
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(error.failure().detail::<u64>("retryAfterMs"), Some(7000));
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_announced_or_not() {
    let mut small = settings();
    small.body_max = 1000;
    let client = HttpClient::new(small, Redactor::default()).unwrap();
    let server = Server::start(|asked| match asked.target.as_str() {
        "/fits" => Answer::text(200, &"x".repeat(1000)),
        "/announced" => Answer::text(200, &"x".repeat(1001)),
        _ => Answer::pieces("text/plain", &[&[b'x'; 600], &[b'x'; 600]]).and_hangs(),
    })
    .await;
    let call = |path| client.call(HttpRequest::new("GET", server.url(path)));
    assert_eq!(call("/fits").await.unwrap().body, json!("x".repeat(1000)));
    for path in ["/announced", "/endless"] {
        let error = call(path).await.unwrap_err();
        assert!(matches!(error, HttpError::TooLarge { limit: 1000, .. }), "{path}: {error}");
        assert_eq!(error.code(), "RESULT_TOO_LARGE");
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_or_does_not_end_times_out() {
    let server = Server::start(|asked| match asked.target.as_str() {
        "/silent" => Answer::silence(),
        _ => Answer::pieces("text/plain", &[b"half"]).and_hangs(),
    })
    .await;
    for path in ["/silent", "/half"] {
        let request = HttpRequest {
            timeout: Some(Duration::from_millis(100)),
            ..HttpRequest::new("GET", server.url(path))
        };
        let error = client().call(request).await.unwrap_err();
        assert!(matches!(error, HttpError::Timeout { .. }), "{path}: {error}");
        assert!(error.is_retryable());
        assert_eq!(error.failure().detail::<u64>("timeoutMs"), Some(100));
    }
}

#[tokio::test]
async fn a_connection_that_breaks_may_be_tried_again() {
    let error = refused(|| Answer::text(200, "all of it").and_breaks_off()).await;
    assert!(matches!(error, HttpError::Network { .. }) && error.is_retryable(), "{error}");

    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = client()
        .call(HttpRequest::new("GET", format!("http://{closed}/?k=private")))
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::Network { .. }) && error.is_retryable(), "{error}");
    assert!(!error.to_string().contains("private"), "{error}");
}

async fn redirected(
    follow_redirects: u32,
    answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
) -> (Result<Value, HttpError>, Vec<String>) {
    let server = Server::start(move |asked| answer(&asked.target)).await;
    let request = HttpRequest {
        follow_redirects,
        body: Some(json!("b")),
        ..HttpRequest::new("POST", server.url("/0"))
    };
    let result = client().call(request).await.map(|response| response.body);
    let seen =
        server.received().iter().map(|one| format!("{} {}", one.method, one.target)).collect();
    (result, seen)
}

#[tokio::test]
async fn redirects_are_followed_as_often_as_the_step_says() {
    fn chain(target: &str) -> Answer {
        match target {
            "/0" => Answer::redirect(307, "/1"),
            "/1" => Answer::redirect(303, "/2"),
            _ => Answer::text(200, "there"),
        }
    }
    let (result, seen) = redirected(2, chain).await;
    assert_eq!(result.unwrap(), json!("there"));
    assert_eq!(seen, ["POST /0", "POST /1", "GET /2"]);

    let (result, seen) = redirected(1, chain).await;
    let error = result.unwrap_err();
    assert!(error.to_string().ends_with("was redirected: more than 1 times"), "{error}");
    assert!(!error.is_retryable());
    assert_eq!(seen.len(), 2);

    let (result, seen) = redirected(0, chain).await;
    let failure = result.unwrap_err().failure();
    assert_eq!(failure.detail::<u16>("status"), Some(307));
    assert_eq!(failure.detail::<String>("location").as_deref(), Some("/1"));
    assert_eq!(seen, ["POST /0"]);
}

#[tokio::test]
async fn a_loop_of_redirects_ends() {
    let (result, seen) = redirected(20, |_| Answer::redirect(302, "/0")).await;
    assert!(matches!(result, Err(HttpError::RedirectRefused { .. })), "{result:?}");
    assert_eq!(seen.len(), 21);
    let (result, seen) = redirected(21, |_| Answer::redirect(302, "/0")).await;
    assert!(matches!(result, Err(HttpError::Invalid { .. })), "{result:?}");
    assert!(seen.is_empty());
}

#[tokio::test]
async fn another_origin_gets_no_credentials() {
    let other = Server::start(|_| Answer::text(200, "other")).await;
    let there = other.url("/");
    let server = Server::start(move |asked| match asked.target.as_str() {
        "/away" => Answer::redirect(302, &there),
        "/here" => Answer::redirect(302, "/end"),
        _ => Answer::text(200, "same"),
    })
    .await;
    let call = |path: &str| HttpRequest {
        headers: Some(json!({"Authorization": "Bearer x", "Cookie": "a=b", "X-Plain": "p"})),
        follow_redirects: 1,
        ..HttpRequest::new("GET", server.url(path))
    };
    client().call(call("/away")).await.unwrap();
    let received = &other.received()[0];
    assert_eq!(received.header("authorization"), None);
    assert_eq!(received.header("cookie"), None);
    assert_eq!(received.header("x-plain"), Some("p"));
    client().call(call("/here")).await.unwrap();
    assert_eq!(server.received()[2].header("authorization"), Some("Bearer x"));
}
