//! Tools of MCP servers, on a server on loopback.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{Answer, Received, Server, client, settings};
use abide_flow::{HttpClient, HttpError, HttpSettings, Redactor, ToolCall, ToolClient, ToolError};
use serde_json::{Value, json};

/// How a server answers.
#[derive(Clone, Copy)]
enum As {
    Json,
    Events,
}

fn message(how: As, headers: &[(&str, &str)], message: &Value) -> Answer {
    match how {
        As::Json => {
            let mut headers = headers.to_vec();
            headers.push(("content-type", "application/json"));
            Answer::new(200, &headers, message.to_string())
        }
        As::Events => {
            let mut headers = headers.to_vec();
            headers.push(("content-type", "text/event-stream"));
            let progress =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
            let body = format!(": hi\n\nevent: message\ndata: {progress}\n\ndata: {message}\n\n");
            Answer::new(200, &headers, body)
        }
    }
}

/// A server with sessions; the rest is what the tool answers.
async fn mcp(how: As, tool: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Server {
    mcp_with(how, move |asked| {
        let mut answer = json!({"jsonrpc": "2.0", "id": asked.json()["id"]});
        let told = tool(&asked.json()["params"]);
        answer.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
        message(how, &[], &answer)
    })
    .await
}

async fn mcp_with(how: As, call: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Server {
    let sessions = AtomicUsize::new(0);
    Server::start(move |asked| match asked.json()["method"].as_str().unwrap() {
        "initialize" => {
            let session = format!("s-{}", sessions.fetch_add(1, Ordering::Relaxed));
            let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}});
            let answer = json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": result});
            message(how, &[("mcp-session-id", &session)], &answer)
        }
        "notifications/initialized" => Answer::new(202, &[], ""),
        _ => call(asked),
    })
    .await
}

fn call(server: &Server) -> ToolCall {
    ToolCall {
        server: Some(server.url("/mcp")),
        name: Some("quote".into()),
        arguments: Some(json!({"amount": 3})),
        ..ToolCall::default()
    }
}

async fn result(how: As, told: Value) -> Result<Value, ToolError> {
    let server = mcp(how, move |_| told.clone()).await;
    ToolClient::new(client()).call_tool(call(&server)).await
}

#[tokio::test]
async fn a_tool_is_called_after_the_server_was_greeted() {
    for how in [As::Json, As::Events] {
        let server = mcp(how, |params| {
            assert_eq!(*params, json!({"name": "quote", "arguments": {"amount": 3}}));
            json!({"result": {"structuredContent": {"price": 30}, "content": []}})
        })
        .await;
        let mut call = call(&server);
        call.headers = Some(json!({"Authorization": "Bearer x"}));
        call.idempotency_key = Some("wf_1/quote".into());
        let result = ToolClient::new(client()).call_tool(call).await.unwrap();
        assert_eq!(result, json!({"price": 30}));

        let received = server.received();
        let methods: Vec<_> = received.iter().map(|one| one.json()["method"].clone()).collect();
        assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"]);
        assert!(received.iter().all(|one| one.header("authorization") == Some("Bearer x")));
        let accepts = Some("application/json, text/event-stream");
        assert!(received.iter().all(|one| one.header("accept") == accepts));
        let sessions: Vec<_> = received.iter().map(|one| one.header("mcp-session-id")).collect();
        assert_eq!(sessions, [None, Some("s-0"), Some("s-0")]);
        let versions: Vec<_> =
            received.iter().map(|one| one.header("mcp-protocol-version")).collect();
        assert_eq!(versions, [None, Some("2025-06-18"), Some("2025-06-18")]);
        let keys: Vec<_> = received.iter().map(|one| one.header("idempotency-key")).collect();
        assert_eq!(keys, [None, None, Some("wf_1/quote")]);
    }
}

#[tokio::test]
async fn the_result_is_the_structured_content_or_else_the_content() {
    let content = json!([{"type": "text", "text": "thirty"}]);
    for how in [As::Json, As::Events] {
        let both = json!({"result": {"content": content, "structuredContent": {"n": 30}}});
        assert_eq!(result(how, both).await.unwrap(), json!({"n": 30}));
        let plain = json!({"result": {"content": content, "isError": false}});
        assert_eq!(result(how, plain).await.unwrap(), content);
    }
}

#[tokio::test]
async fn a_tool_that_failed_fails_the_step_with_its_text() {
    let content = json!([{"type": "text", "text": "no stock"}, {"type": "image"}, {"type": "text", "text": "sorry"}]);
    let error = result(As::Events, json!({"result": {"content": content, "isError": true}}))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "tool \"quote\" failed: no stock\nsorry");
    assert_eq!(error.failure().code, "STEP_FAILED");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_refused_message_tells_why() {
    for (code, again) in [(-32602, false), (-32601, false), (-32603, true)] {
        let told = json!({"error": {"code": code, "message": "Unknown tool: quote"}});
        let error = result(As::Json, told).await.unwrap_err();
        assert!(error.to_string().contains("refused tools/call: Unknown tool: quote"), "{error}");
        assert_eq!(error.is_retryable(), again);
        assert_eq!(error.failure().detail::<i64>("rpcCode"), Some(code));
    }
}

#[tokio::test]
async fn a_step_without_server_or_name_is_not_configured() {
    let tools = ToolClient::new(client());
    let server = Some("http://127.0.0.1:1/".to_owned());
    for call in [
        ToolCall::default(),
        ToolCall { server: server.clone(), ..ToolCall::default() },
        ToolCall { server, name: Some(" ".into()), ..ToolCall::default() },
        ToolCall { name: Some("quote".into()), ..ToolCall::default() },
    ] {
        let error = tools.call_tool(call).await.unwrap_err();
        assert_eq!(error.to_string(), "Tool step missing tool configuration");
        assert!(!error.is_retryable());
    }
}

fn greetings(server: &Server) -> usize {
    server.received().iter().filter(|one| one.json()["method"] == "initialize").count()
}

#[tokio::test]
async fn a_session_and_its_connection_serve_many_calls_of_one_user() {
    let server = mcp(As::Json, |_| json!({"result": {"content": []}})).await;
    let tools = ToolClient::new(client());
    tools.call_tool(call(&server)).await.unwrap();
    tools.call_tool(call(&server)).await.unwrap();
    assert_eq!(greetings(&server), 1);
    assert!(server.received().iter().all(|one| one.connection == 0));
    let other = ToolCall { headers: Some(json!({"Authorization": "Bearer b"})), ..call(&server) };
    tools.call_tool(other).await.unwrap();
    assert_eq!(greetings(&server), 2);
}

#[tokio::test]
async fn calls_at_the_same_time_open_one_session() {
    let server = mcp(As::Json, |_| json!({"result": {"content": []}})).await;
    let tools = ToolClient::new(client());
    let (one, two) = tokio::join!(tools.call_tool(call(&server)), tools.call_tool(call(&server)));
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(greetings(&server), 1);
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_opened_again_once() {
    let server = mcp_with(As::Json, |asked| match asked.header("mcp-session-id") {
        Some("s-0") => Answer::text(404, "no such session"),
        _ => Answer::json(&json!({"jsonrpc": "2.0", "id": 1, "result": {"content": ["ok"]}})),
    })
    .await;
    let tools = ToolClient::new(client());
    assert_eq!(tools.call_tool(call(&server)).await.unwrap(), json!(["ok"]));
    assert_eq!(greetings(&server), 2);

    let never = mcp_with(As::Json, |_| Answer::text(404, "nothing here")).await;
    let error = tools.call_tool(call(&never)).await.unwrap_err();
    assert!(matches!(error, ToolError::Http(HttpError::Status { status: 404, .. })), "{error}");
    assert_eq!(greetings(&never), 2);
}

#[tokio::test]
async fn what_is_not_the_protocol_is_said_to_be_none() {
    let html = Server::start(|_| Answer::new(200, &[("content-type", "text/html")], "<p>")).await;
    let error = ToolClient::new(client()).call_tool(call(&html)).await.unwrap_err();
    assert!(matches!(error, ToolError::Protocol { .. }) && !error.is_retryable(), "{error}");

    let old = Server::start(|_| {
        Answer::json(&json!({"id": 1, "result": {"protocolVersion": "2024-11-05"}}))
    })
    .await;
    let error = ToolClient::new(client()).call_tool(call(&old)).await.unwrap_err();
    assert!(error.to_string().contains("2024-11-05"), "{error}");

    let refusing = Server::start(|_| Answer::text(503, "later")).await;
    let error = ToolClient::new(client()).call_tool(call(&refusing)).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
}

#[tokio::test]
async fn a_stream_that_ends_or_stalls_without_an_answer_may_be_asked_again() {
    let news = json!({"method": "notifications/progress"});
    let ends = mcp_with(As::Json, move |_| message(As::Events, &[], &news)).await;
    let error = ToolClient::new(client()).call_tool(call(&ends)).await.unwrap_err();
    assert!(error.to_string().contains("ended without an answer"), "{error}");
    assert!(error.is_retryable());

    let stalls =
        mcp_with(As::Json, |_| Answer::pieces("text/event-stream", &[b": hi\n\n"]).and_hangs())
            .await;
    let timeout = Some(Duration::from_millis(300));
    let call = ToolCall { timeout, ..call(&stalls) };
    let error = ToolClient::new(client()).call_tool(call).await.unwrap_err();
    assert!(matches!(error, ToolError::Http(HttpError::Timeout { .. })), "{error}");
}

#[tokio::test]
async fn an_event_over_the_limit_is_refused() {
    let mut small: HttpSettings = settings();
    small.body_max = 2000;
    let long = "x".repeat(3000);
    let server = mcp_with(As::Json, move |_| {
        Answer::pieces("text/event-stream", &[b"data: ", long.as_bytes()]).and_hangs()
    })
    .await;
    let tools = ToolClient::new(HttpClient::new(small, Redactor::default()).unwrap());
    let error = tools.call_tool(call(&server)).await.unwrap_err();
    assert!(matches!(error, ToolError::Http(HttpError::TooLarge { limit: 2000, .. })), "{error}");
}

#[tokio::test]
async fn tools_keep_to_the_address_rules() {
    let call = ToolCall {
        server: Some("http://169.254.169.254/mcp".into()),
        name: Some("quote".into()),
        ..ToolCall::default()
    };
    let error = ToolClient::new(client()).call_tool(call).await.unwrap_err();
    assert!(matches!(error, ToolError::Http(HttpError::AddressDenied { .. })), "{error}");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn a_secret_that_a_tool_repeats_is_hidden() {
    let redactor = Redactor::default();
    redactor.learn("s3cret-t0ken");
    let tools = ToolClient::new(HttpClient::new(settings(), redactor).unwrap());
    for (told, text) in [
        (json!({"result": {"structuredContent": {"k": "s3cret-t0ken"}}}), None),
        (
            json!({"result": {"isError": true, "content": [{"text": "bad s3cret-t0ken"}]}}),
            Some("bad ***"),
        ),
        (json!({"error": {"code": 1, "message": "bad s3cret-t0ken"}}), Some("bad ***")),
    ] {
        let server = mcp(As::Events, move |_| told.clone()).await;
        let headers = Some(json!({"Authorization": "Bearer s3cret-t0ken"}));
        match (tools.call_tool(ToolCall { headers, ..call(&server) }).await, text) {
            (Ok(result), None) => assert_eq!(result, json!({"k": "***"})),
            (Err(error), Some(text)) => assert!(error.to_string().contains(text), "{error}"),
            other => panic!("{other:?}"),
        }
    }
}
