//! Secrets go out with requests and never come back.

use crate::support::{Answer, Received, Server, settings};
use abide::expr::Env;
use abide_flow::{EnvironmentSecrets, Field, HttpClient, HttpError, HttpRequest, Vault};
use serde_json::{Value, json};

const SECRET: &str = "s3cret/t0ken+42";

/// A client that calls with a secret in header, query and body, as a document would.
struct Caller {
    client: HttpClient,
    headers: Value,
    body: Value,
}

async fn caller() -> Caller {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("API_KEY"), format!("{SECRET}\n")).unwrap();
    let vault = Vault::new(EnvironmentSecrets::default().directory(directory.path()));
    let client = HttpClient::new(settings(), vault.redactor().clone()).unwrap();
    let headers = Field::parse(&json!({"Authorization": "Bearer ${secret.API_KEY}"})).unwrap();
    let body = Field::parse(&json!({"key": "${secret.API_KEY}"})).unwrap();
    let revealed = vault.reveal(&[&headers, &body]).await.unwrap();
    let env = Env::new();
    let known = revealed.over(&env);
    let headers = headers.render("headers", &known).unwrap();
    let body = body.render("body", &known).unwrap();
    Caller { client, headers, body }
}

impl Caller {
    fn request(&self, url: String) -> HttpRequest {
        HttpRequest {
            headers: Some(self.headers.clone()),
            query: Some(json!({"key": SECRET})),
            body: Some(self.body.clone()),
            ..HttpRequest::new("POST", url)
        }
    }
}

/// Everything that was sent, sent back.
fn echo(status: u16, asked: &Received) -> Answer {
    let authorization = asked.header("authorization").unwrap();
    let body = json!({"asked": asked.target, "body": asked.body, "authorization": authorization});
    let headers = [("content-type", "application/json"), ("x-echo", authorization)];
    Answer::new(status, &headers, body.to_string())
}

fn assert_clean(text: &str) {
    for form in [SECRET, "s3cret%2Ft0ken", "s3cret", "t0ken"] {
        assert!(!text.contains(form), "{text}");
    }
    assert!(text.contains("***"), "{text}");
}

#[tokio::test]
async fn a_server_that_repeats_a_secret_does_not_bring_it_into_the_history() {
    let caller = caller().await;
    let server = Server::start(|asked| echo(200, asked)).await;
    let response = caller.client.call(caller.request(server.url("/x"))).await.unwrap();
    let received = &server.received()[0];
    assert_eq!(received.header("authorization"), Some("Bearer s3cret/t0ken+42"));
    assert_eq!(received.json(), json!({"key": SECRET}));
    let stored = serde_json::to_string(&response).unwrap();
    assert_clean(&stored);
    assert_eq!(response.headers["x-echo"], "Bearer ***");
}

#[tokio::test]
async fn a_refusal_that_repeats_a_secret_is_recorded_without_it() {
    let caller = caller().await;
    let server = Server::start(|asked| echo(401, asked)).await;
    let error = caller.client.call(caller.request(server.url("/x"))).await.unwrap_err();
    assert_clean(&serde_json::to_string(&error.failure()).unwrap());
    assert_clean(&format!("{error:?}"));
}

#[tokio::test]
async fn a_secret_at_the_cut_of_a_refusal_leaves_no_part_of_itself() {
    let caller = caller().await;
    let server = Server::start(|_| {
        let text = format!("{}{SECRET}", "x".repeat(1024 - 6));
        Answer::text(500, &text)
    })
    .await;
    let error = caller.client.call(caller.request(server.url("/"))).await.unwrap_err();
    let body = error.failure().detail::<String>("body").unwrap();
    assert_eq!(body, format!("{}***", "x".repeat(1024 - 6)));
}

#[tokio::test]
async fn a_secret_in_a_url_is_in_no_message() {
    let caller = caller().await;
    for url in [
        format!("http://127.0.0.1:1/{SECRET}"),
        format!("http://169.254.169.254/{SECRET}"),
        format!("ftp://{SECRET}"),
        format!("{SECRET} is no url"),
    ] {
        let error = caller.client.call(caller.request(url)).await.unwrap_err();
        assert_clean(&format!("{error} {:?}", error.failure()));
    }
    let request = caller.request(format!("http://h.test/{SECRET}"));
    assert!(!format!("{request:?}").contains("s3cret"), "{request:?}");
}

#[tokio::test]
async fn a_stream_hides_a_secret_that_comes_in_two_pieces() {
    let caller = caller().await;
    let server =
        Server::start(|_| Answer::pieces("text/plain", &[b"key s3cre", b"t/t0ken+4", b"2 end"]))
            .await;
    let stream = caller.client.stream(caller.request(server.url("/"))).await.unwrap();
    assert_eq!(stream.finish().await.unwrap().body, "key *** end");
}

#[tokio::test]
async fn a_redirect_takes_no_secret_to_another_origin() {
    let caller = caller().await;
    let other = Server::start(|_| Answer::text(200, "thanks")).await;
    let there = other.url("/");
    let server = Server::start(move |asked| {
        let status = if asked.target.starts_with("/same") { 307 } else { 303 };
        Answer::redirect(status, &there)
    })
    .await;
    let call = |path: &str| {
        let mut request = caller.request(server.url(path));
        request.follow_redirects = 1;
        request.headers = Some(json!({"X-Api-Key": SECRET, "X-Plain": "p"}));
        caller.client.call(request)
    };
    let error = call("/same").await.unwrap_err();
    assert!(matches!(error, HttpError::RedirectRefused { .. }), "{error}");
    assert!(other.received().is_empty());
    call("/get").await.unwrap();
    let received = &other.received()[0];
    assert_eq!((received.header("x-api-key"), received.header("x-plain")), (None, Some("p")));
}
