//! Documents whose answers are shown while they come.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation ends the test")]

use std::future::ready;
use std::sync::Arc;

use abide::history::StepKind;
use abide::prelude::*;
use abide::store::Store;
use abide::{BoxError, FrameKind, Frames};
use abide_flow::{Equipment, HttpSettings, Secrets, parse, workflow};
use abide_testkit::MemoryStore;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const DOCUMENT: &str = "
name: ask
steps:
  - {id: ask, http: {url: '${input.base}', headers: {x-key: '${secret.KEY}'}, stream: true}, retry: {maxAttempts: 2, delay: 1}}
output: {status: '${steps.ask.output.status}', type: \"${steps.ask.output.headers['content-type']}\", body: '${steps.ask.output.body}'}
";

/// A server whose every answer is a chunk for each text it is told, until the test lets go of it.
async fn server(mut answers: UnboundedReceiver<UnboundedReceiver<String>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let Some(mut texts) = answers.recv().await else { return };
            let _ = socket.read(&mut [0; 16 * 1024]).await;
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
            socket.write_all(head.as_bytes()).await.unwrap();
            while let Some(text) = texts.recv().await {
                if text == "break off" {
                    break;
                }
                let end = if text == "the end" {
                    "0\r\n\r\n".to_owned()
                } else {
                    format!("{:x}\r\n{text}\r\n", text.len())
                };
                socket.write_all(end.as_bytes()).await.unwrap();
            }
        }
    });
    base
}

struct OneSecret;

impl Secrets for OneSecret {
    fn get<'s>(&'s self, name: &'s str) -> BoxFuture<'s, Result<Option<String>, BoxError>> {
        Box::pin(ready(Ok((name == "KEY").then(|| "s3cret-key".to_owned()))))
    }
}

struct World {
    engine: Engine,
    handle: Handle,
    answers: UnboundedSender<UnboundedReceiver<String>>,
}

impl World {
    async fn new() -> Self {
        let (answers, to_give) = unbounded_channel();
        let base = server(to_give).await;
        let equipment = Equipment::with(HttpSettings::default(), OneSecret).unwrap();
        let flow = Arc::new(parse(DOCUMENT).unwrap());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let engine = Engine::on(store).register(workflow(&flow, 1, &Arc::new(equipment)));
        let engine = engine.start().await.unwrap();
        let handle = engine.start("ask", Start::new(&json!({ "base": base }))).await.unwrap();
        Self { engine, handle, answers }
    }

    fn answer(&self) -> UnboundedSender<String> {
        let (give, given) = unbounded_channel();
        self.answers.send(given).unwrap();
        give
    }
}

async fn next(frames: &mut Frames) -> String {
    match frames.next().await.unwrap().unwrap().kind {
        FrameKind::Chunk(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn the_answer_of_a_streaming_step_is_read_while_it_comes_and_its_secrets_are_not() {
    let world = World::new().await;
    let answer = world.answer();
    let mut frames = world.handle.step_stream("ask", None);
    for (piece, shown) in [("hello ", "hello "), ("key s3cr", "key "), ("et-key!", "***!")] {
        answer.send(piece.to_owned()).unwrap();
        assert_eq!(next(&mut frames).await, shown);
    }
    assert_eq!(world.handle.status().await.unwrap(), Status::Running);
    answer.send("the end".to_owned()).unwrap();
    assert_eq!(next(&mut frames).await, "Done");
    let output: Value = world.handle.result().await.unwrap();
    let expected = json!({"status": 200, "type": "text/plain", "body": "hello key ***!"});
    assert_eq!(output, expected);
    assert_eq!(world.handle.steps().await.unwrap()[0].kind, StepKind::Stream);
    world.engine.shutdown().await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again_and_readers_are_told() {
    let world = World::new().await;
    let (first, second) = (world.answer(), world.answer());
    let mut frames = world.handle.step_stream("ask", None);
    first.send("half".to_owned()).unwrap();
    assert_eq!(next(&mut frames).await, "half");
    first.send("break off".to_owned()).unwrap();
    assert_eq!(next(&mut frames).await, "Rollback");
    second.send("whole".to_owned()).unwrap();
    second.send("the end".to_owned()).unwrap();
    assert_eq!(next(&mut frames).await, "whole");
    assert_eq!(next(&mut frames).await, "Done");
    let output: Value = world.handle.result().await.unwrap();
    assert_eq!(output["body"], "whole");
    world.engine.shutdown().await;
}
