//! Answers that are shown while they come.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Answer, Server, client, settings};
use abide_flow::{HttpClient, HttpError, HttpRequest, Redactor};
use futures_util::{StreamExt, pin_mut};
use serde_json::json;
use tokio::sync::Notify;

#[tokio::test]
async fn pieces_come_before_the_end_and_the_whole_text_at_the_end() {
    let gate = Arc::new(Notify::new());
    let opened = Arc::clone(&gate);
    let server = Server::start(move |_| {
        Answer::pieces("text/event-stream", &[b"one ", b"tw\xc3", b"\xb6"]).gated(&opened)
    })
    .await;
    let mut stream = client().stream(HttpRequest::new("GET", server.url("/"))).await.unwrap();
    assert_eq!(stream.status(), 200);
    for expect in ["one ", "tw"] {
        // The next piece is sent only now: the last one was not held back for it.
        gate.notify_one();
        assert_eq!(stream.next().await.unwrap().as_deref(), Some(expect));
    }
    gate.notify_one();
    let response = stream.finish().await.unwrap();
    assert_eq!(response.body, json!("one twö"));
    assert_eq!(response.headers["content-type"], "text/event-stream");
}

#[tokio::test]
async fn a_stream_of_pieces_ends_with_its_error() {
    let server = Server::start(|_| Answer::text(200, "all of it").and_breaks_off()).await;
    let mut stream = client().stream(HttpRequest::new("GET", server.url("/"))).await.unwrap();
    let chunks = stream.chunks();
    pin_mut!(chunks);
    let mut text = String::new();
    let error = loop {
        match chunks.next().await.unwrap() {
            Ok(piece) => text.push_str(&piece),
            Err(error) => break error,
        }
    };
    assert!(error.is_retryable(), "{error}");
    assert!("all of i".starts_with(&text), "{text}");
    assert!(chunks.next().await.is_none());
}

#[tokio::test]
async fn a_stream_over_its_limit_is_cut_off() {
    let mut small = settings();
    small.stream_max = 10;
    let client = HttpClient::new(small, Redactor::default()).unwrap();
    let server = Server::start(|asked| match asked.target.as_str() {
        "/fits" => Answer::text(200, "0123456789"),
        _ => Answer::pieces("text/plain", &[b"01234567890"]).and_hangs(),
    })
    .await;
    let fits = client.stream(HttpRequest::new("GET", server.url("/fits"))).await.unwrap();
    assert_eq!(fits.finish().await.unwrap().body, "0123456789");
    let endless = client.stream(HttpRequest::new("GET", server.url("/endless"))).await.unwrap();
    let error = endless.finish().await.unwrap_err();
    assert!(matches!(error, HttpError::TooLarge { limit: 10, .. }), "{error}");
}

#[tokio::test]
async fn a_stream_that_pauses_for_too_long_times_out() {
    let mut impatient = settings();
    impatient.timeout = Duration::from_millis(200);
    let server = Server::start(|_| Answer::pieces("text/plain", &[b"first"]).and_hangs()).await;
    let by_setting = HttpClient::new(impatient, Redactor::default()).unwrap();
    let by_step = Some(Duration::from_millis(200));
    for (client, timeout) in [(by_setting, None), (client(), by_step)] {
        let request = HttpRequest { timeout, ..HttpRequest::new("GET", server.url("/")) };
        // On a slow machine even the beginning may take too long, which is the same error.
        let error = match client.stream(request).await {
            Ok(stream) => stream.finish().await.unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error, HttpError::Timeout { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_refused_stream_is_an_error_before_the_first_piece() {
    let server = Server::start(|_| Answer::text(429, "later")).await;
    let error = client().stream(HttpRequest::new("GET", server.url("/"))).await.unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(error.failure().detail::<String>("body").as_deref(), Some("later"));
}
