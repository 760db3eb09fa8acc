//! What happens, as it happens.

use std::sync::Arc;

use abide::prelude::*;
use abide::{BoxError, Builder};
use futures_util::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use crate::instances::{APPROVE, GREET};
use crate::reader::{Reader, Seen};
use crate::world::{World, answer};

/// A piece, or the end of an attempt in an error.
pub(crate) type Piece = Result<String, BoxError>;

/// A workflow with one streaming step whose source is in the hands of the test: each attempt takes the next
/// source.
fn talker(
    builder: Builder,
    name: &'static str,
    step: &'static str,
) -> (Builder, mpsc::UnboundedSender<mpsc::UnboundedReceiver<Piece>>) {
    let (give, sources) = mpsc::unbounded_channel::<mpsc::UnboundedReceiver<Piece>>();
    let sources = Arc::new(Mutex::new(sources));
    let builder = builder.workflow(name, move |cx: Cx, (): ()| {
        let sources = Arc::clone(&sources);
        async move {
            let retry = Retry::times(3).delay(std::time::Duration::ZERO);
            cx.stream_step(step, || {
                let sources = Arc::clone(&sources);
                async move {
                    let source = sources.lock().await.recv().await.ok_or("no source")?;
                    let pieces = futures_util::stream::unfold(source, |mut source| async move {
                        source.recv().await.map(|piece| (piece, source))
                    });
                    Ok::<_, BoxError>(pieces.boxed())
                }
            })
            .retry(retry)
            .await
        }
    });
    (builder, give)
}

/// A world with one talker, and the source of its first attempt.
pub(crate) struct Talk {
    pub(crate) world: World,
    sources: mpsc::UnboundedSender<mpsc::UnboundedReceiver<Piece>>,
}

impl Talk {
    pub(crate) async fn begun(step: &'static str) -> Self {
        let mut sources = None;
        let world = World::coded(|builder| {
            let (builder, give) = talker(builder, "talk", step);
            sources = Some(give);
            builder
        })
        .await;
        let body = json!({"id": "t", "input": null});
        world.post("/workflows/talk/instances", body).await.with(201);
        Self { world, sources: sources.unwrap() }
    }

    /// What the next attempt reads.
    pub(crate) fn source(&self) -> mpsc::UnboundedSender<Piece> {
        let (tell, source) = mpsc::unbounded_channel();
        self.sources.send(source).unwrap();
        tell
    }

    pub(crate) async fn bytes(&self) -> Reader {
        Reader::of(self.world.request(Method::GET, "/instances/t/steps/talk/stream")).await
    }

    pub(crate) async fn events(&self, last: Option<&str>) -> Reader {
        let request = self.world.request(Method::GET, "/instances/t/steps/talk/stream");
        let request = request.header("accept", "text/event-stream");
        Reader::of(match last {
            Some(id) => request.header("last-event-id", id),
            None => request,
        })
        .await
    }

    async fn result(&self) -> Value {
        self.world.get("/instances/t/result?timeout=30s").await.with(200)["output"].clone()
    }
}

pub(crate) fn say(source: &mpsc::UnboundedSender<Piece>, text: &str) {
    source.send(Ok(text.to_owned())).unwrap();
}

fn frame(kind: &str, attempt: u32, data: Option<&str>, id: &str) -> Seen {
    let mut frame = json!({"type": kind, "step": "talk", "attempt": attempt});
    if let Some(data) = data {
        frame["data"] = json!(data);
    }
    Seen { id: Some(id.to_owned()), data: frame }
}

#[tokio::test]
async fn first_bytes_reach_the_reader_before_the_step_ends() {
    let talk = Talk::begun("talk").await;
    let source = talk.source();
    let mut reader = talk.bytes().await;
    say(&source, "one ");
    assert_eq!(reader.up_to("one ").await.unwrap(), "one ");
    let shown = talk.world.get("/instances/t").await.with(200);
    assert_eq!(
        (&shown["status"], &shown["steps"][0]["status"]),
        (&json!("running"), &json!("running"))
    );
    say(&source, "two");
    drop(source);
    assert_eq!(reader.rest().await.unwrap(), "two");
    assert_eq!(talk.result().await, "one two");
    assert_eq!(talk.bytes().await.rest().await.unwrap(), "one two");
}

#[tokio::test]
async fn the_reader_leaves_and_the_checkpoint_is_whole() {
    let talk = Talk::begun("talk").await;
    let source = talk.source();
    let mut reader = talk.bytes().await;
    say(&source, "begin ");
    reader.up_to("begin ").await.unwrap();
    drop(reader);
    say(&source, "end");
    drop(source);
    assert_eq!(talk.result().await, "begin end");
}

#[tokio::test]
async fn a_retry_is_announced_before_its_first_chunk_and_ends_a_reader_of_bytes() {
    let talk = Talk::begun("talk").await;
    let (first, second) = (talk.source(), talk.source());
    let (mut events, mut bytes) = (talk.events(None).await, talk.bytes().await);
    say(&first, "bad");
    assert_eq!(events.event().await.unwrap(), frame("chunk", 1, Some("bad"), "1.0"));
    bytes.up_to("bad").await.unwrap();
    first.send(Err("broken".into())).unwrap();
    say(&second, "good");
    drop(second);
    let rollback = events.event().await.unwrap();
    assert_eq!(rollback.data, json!({"type": "rollback", "step": "talk", "attempt": 2}));
    let rest = events.events().await;
    assert_eq!(rest, [frame("chunk", 2, Some("good"), "2.0"), frame("done", 2, None, "2.0.end")]);
    assert!(bytes.rest().await.is_err());
    assert_eq!(talk.result().await, "good");
    let late = talk.events(None).await.events().await;
    assert_eq!(late.len(), 2, "{late:?}");
}

#[tokio::test]
async fn a_reader_of_a_step_comes_back_to_exactly_the_rest() {
    let talk = Talk::begun("talk").await;
    let source = talk.source();
    let mut reader = talk.events(None).await;
    say(&source, "one");
    let first = reader.event().await.unwrap();
    drop(reader);
    let mut again = talk.events(first.id.as_deref()).await;
    say(&source, "two");
    assert_eq!(again.event().await.unwrap(), frame("chunk", 1, Some("two"), "1.1"));
    drop(source);
    assert_eq!(again.events().await, [frame("done", 1, None, "1.1.end")]);
    let path = "/instances/t/steps/talk/stream";
    let request = talk.world.request(Method::GET, path).header("accept", "text/event-stream");
    let ended = answer(request.header("last-event-id", "1.1.end")).await;
    assert_eq!((ended.status.as_u16(), ended.text.as_str()), (204, ""));
    assert_eq!(talk.events(Some("1.1")).await.events().await, [frame("done", 1, None, "1.1.end")]);
}

#[tokio::test]
async fn a_step_that_fails_says_so() {
    let talk = Talk::begun("talk").await;
    for _ in 0..3 {
        talk.source().send(Err("broken".into())).unwrap();
    }
    let frames = talk.events(None).await.events().await;
    let failed = &frames.last().unwrap().data;
    assert_eq!(
        (&failed["type"], &failed["data"]["code"]),
        (&json!("failed"), &json!("STEP_RETRY_EXHAUSTED"))
    );
    let bytes = talk.world.get("/instances/t/steps/talk/stream").await;
    assert!(bytes.refused(409, "STEP_FAILED").contains("broken"));
}

#[tokio::test]
async fn all_streams_of_an_instance_come_as_lines_and_end_with_it() {
    let talk = Talk::begun("a:b%").await;
    let source = talk.source();
    let mut lines = Reader::of(talk.world.request(Method::GET, "/instances/t/streams")).await;
    say(&source, "hello");
    assert_eq!(lines.up_to("\n").await.unwrap(), "a%3Ab%25:aGVsbG8=\n");
    drop(source);
    assert_eq!(lines.rest().await.unwrap(), "a%3Ab%25:__DONE__\n");
    let request = || {
        let request = talk.world.request(Method::GET, "/instances/t/streams");
        request.header("accept", "text/event-stream")
    };
    let events = Reader::of(request()).await.events().await;
    assert_eq!(
        events[0].data,
        json!({"type": "chunk", "step": "a:b%", "attempt": 1, "data": "hello"})
    );
    assert_eq!(events[1].data["type"], "done");
    assert_eq!(events.len(), 2);
    let back = request().header("last-event-id", events[0].id.as_deref().unwrap());
    assert_eq!(Reader::of(back).await.events().await, events[1..]);
    let over = request().header("last-event-id", events[1].id.as_deref().unwrap());
    assert_eq!(answer(over).await.status.as_u16(), 204);
}

async fn watch(world: &World, id: &str, last: Option<&str>) -> Reader {
    let request = world.request(Method::GET, &format!("/instances/{id}/stream"));
    Reader::of(match last {
        Some(last) => request.header("last-event-id", last),
        None => request,
    })
    .await
}

async fn approval(world: &World, id: &str) {
    let body = json!({"id": id, "input": {"amount": 1}});
    world.post("/workflows/approve/instances?settle=10s", body).await.with(201);
}

#[tokio::test]
async fn the_history_is_told_from_the_beginning_then_live_and_the_end_closes_it() {
    let world = World::with(&[APPROVE]).await;
    approval(&world, "a").await;
    let mut reader = watch(&world, "a", None).await;
    assert_eq!(reader.header("content-type"), "text/event-stream");
    assert_eq!(reader.header("cache-control"), "no-cache");
    assert_eq!(reader.header("x-accel-buffering"), "no");
    assert_eq!(reader.header("connection"), "keep-alive");
    let first = reader.event().await.unwrap();
    assert_eq!((first.id.as_deref(), &first.data["type"]), (Some("1"), &json!("workflow.started")));
    loop {
        if reader.event().await.unwrap().data["type"] == "wait.started" {
            break;
        }
    }
    let sent = json!({"type": "approval", "payload": "yes"});
    world.post("/instances/a/events", sent).await.with(202);
    let live = reader.events().await;
    let kinds: Vec<&str> = live.iter().map(|seen| seen.data["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.last(), Some(&"execution_complete"));
    assert!(
        kinds.contains(&"wait.fulfilled") && kinds.contains(&"workflow.completed"),
        "{kinds:?}"
    );
    let closing = live.last().unwrap();
    assert_eq!(closing.data, json!({"type": "execution_complete", "status": "completed"}));
    assert_eq!(closing.id, live[live.len() - 2].id);
    let history = world.get("/instances/a/history?limit=1000").await.with(200);
    let told = watch(&world, "a", None).await.events().await;
    let told: Vec<&Value> = told[..told.len() - 1].iter().map(|seen| &seen.data).collect();
    assert_eq!(told, history["events"].as_array().unwrap().iter().collect::<Vec<_>>());
    let last = closing.id.clone().unwrap();
    let again = world.request(Method::GET, "/instances/a/stream").header("last-event-id", &last);
    assert_eq!(answer(again).await.status.as_u16(), 204);
    let rest = watch(&world, "a", Some("3")).await.events().await;
    assert_eq!(rest[0].id.as_deref(), Some("4"));
}

#[tokio::test]
async fn five_hundred_events_at_once_all_arrive_once_also_over_a_reconnect() {
    let world = World::with(&[APPROVE]).await;
    approval(&world, "a").await;
    let mut reader = watch(&world, "a", None).await;
    let sends =
        (0..500).map(|n| world.post("/instances/a/signals/s", json!({"id": n.to_string()})));
    let (sent, mut seen) = tokio::join!(futures_util::future::join_all(sends), async {
        let mut seen = Vec::new();
        for _ in 0..300 {
            seen.push(reader.event().await.unwrap());
        }
        seen
    });
    assert!(sent.iter().all(|answer| answer.status == 202));
    drop(reader);
    world.post("/instances/a/terminate", json!({})).await.with(200);
    let last = seen.last().unwrap().id.clone();
    seen.extend(watch(&world, "a", last.as_deref()).await.events().await);
    let closing = seen.pop().unwrap();
    assert_eq!(closing.data["type"], "execution_complete");
    for (nth, one) in seen.iter().enumerate() {
        assert_eq!(one.id, Some((nth + 1).to_string()));
    }
    let received = seen.iter().filter(|one| one.data["type"] == "event.received").count();
    assert_eq!(received, 500);
}

#[tokio::test]
async fn all_instances_are_told_of_as_asked() {
    let world = World::with(&[APPROVE]).await;
    let all = Reader::of(world.request(Method::GET, "/stream"));
    let started = "/stream?type=workflow.*&workflow=approve";
    let started = Reader::of(world.request(Method::GET, started));
    let (mut all, mut started) = tokio::join!(all, started);
    approval(&world, "a").await;
    approval(&world, "b").await;
    let first = all.event().await.unwrap();
    assert_eq!(
        (&first.data["type"], &first.data["instanceId"]),
        (&json!("workflow.started"), &json!("a"))
    );
    for id in ["a", "b"] {
        let event = started.event().await.unwrap();
        assert_eq!(
            (&event.data["type"], &event.data["instanceId"]),
            (&json!("workflow.started"), &json!(id))
        );
    }
    let back = world.request(Method::GET, "/stream").header("last-event-id", first.id.unwrap());
    let mut back = Reader::of(back).await;
    assert_eq!(back.event().await.unwrap(), all.event().await.unwrap());
    world.get("/stream?status=done").await.refused(400, "VALIDATION_ERROR");
    world.get("/stream?kind=x").await.refused(400, "VALIDATION_ERROR");
}

#[tokio::test]
async fn an_entry_is_the_same_in_the_feed_of_all_and_in_the_history() {
    let world = World::with(&[GREET, APPROVE]).await;
    let mut all = Reader::of(world.request(Method::GET, "/stream?type=workflow.*")).await;
    let body = json!({"id": "g", "input": {"name": "Ada"}});
    world.post("/workflows/greet/instances?settle=10s", body).await.with(201);
    let (started, ended) = (all.event().await.unwrap(), all.event().await.unwrap());
    assert_eq!(ended.data["completedSteps"], json!(["compose"]));
    let history = world.get("/instances/g/history").await.with(200);
    let history = history["events"].as_array().unwrap();
    assert_eq!((history.first(), history.last()), (Some(&started.data), Some(&ended.data)));
}

#[tokio::test]
async fn what_is_said_to_those_who_watch_is_heard_and_not_kept() {
    let world = World::coded(|builder| {
        builder.workflow("say", |cx: Cx, (): ()| async move {
            let _: Event<Value> = cx.wait_for_event("go").await?;
            cx.broadcast("mood", "good")?;
            let _: Event<Value> = cx.wait_for_event("end").await?;
            Ok::<_, Error>(())
        })
    })
    .await;
    world
        .post("/workflows/say/instances?settle=10s", json!({"id": "s", "input": null}))
        .await
        .with(201);
    let mut reader = watch(&world, "s", None).await;
    while reader.event().await.unwrap().data["type"] != "wait.started" {}
    world.post("/instances/s/events", json!({"type": "go"})).await.with(202);
    let said = loop {
        let seen = reader.event().await.unwrap();
        if seen.data["type"] == "broadcast" {
            break seen;
        }
    };
    assert_eq!(said.id, None);
    assert_eq!((&said.data["name"], &said.data["payload"]), (&json!("mood"), &json!("good")));
    world.post("/instances/s/events", json!({"type": "end"})).await.with(202);
    let told = watch(&world, "s", None).await.events().await;
    assert!(told.iter().all(|seen| seen.data["type"] != "broadcast"), "{told:?}");
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_is_alive_and_ends_with_the_server() {
    let talk = Talk::begun("talk").await;
    let _source = talk.source();
    let mut reader = talk.events(None).await;
    assert_eq!(reader.up_to("\n\n").await.unwrap(), ": alive\n\n");
    talk.world.app.engine().kill();
    talk.world.listening.shutdown().await;
    assert!(reader.events().await.is_empty());
}

#[tokio::test]
async fn a_stream_of_nothing_is_refused() {
    let world = World::with(&[APPROVE]).await;
    approval(&world, "a").await;
    for path in ["stream", "streams", "steps/x/stream"] {
        world.get(format!("/instances/nobody/{path}")).await.refused(404, "WORKFLOW_NOT_FOUND");
    }
    let message = world.get("/instances/a/steps/decision/stream").await;
    let message = message.refused(400, "VALIDATION_ERROR");
    assert!(message.contains("event"), "{message}");
    world.post("/instances/a/terminate", json!({})).await.with(200);
    world.get("/instances/a/steps/x/stream").await.refused(404, "STEP_NOT_FOUND");
    for path in
        ["/instances/a/stream", "/instances/a/steps/x/stream", "/instances/a/streams", "/stream"]
    {
        let request = world.request(Method::GET, path).header("accept", "text/event-stream");
        answer(request.header("last-event-id", "x")).await.refused(400, "VALIDATION_ERROR");
    }
}

#[tokio::test]
async fn all_streams_tell_that_an_attempt_which_gives_nothing_voids_the_one_before() {
    let talk = Talk::begun("talk").await;
    let (first, second) = (talk.source(), talk.source());
    let request = talk.world.request(Method::GET, "/instances/t/streams");
    let mut events = Reader::of(request.header("accept", "text/event-stream")).await;
    say(&first, "wrong");
    let chunk = frame("chunk", 1, Some("wrong"), "talk:1.0");
    assert_eq!(events.event().await.unwrap(), chunk);
    first.send(Err("the line broke".into())).unwrap();
    drop(second);
    assert_eq!(talk.result().await, "");
    assert_eq!(events.event().await.unwrap(), frame("rollback", 2, None, "talk:1.0"));
    assert_eq!(events.event().await.unwrap(), frame("done", 2, None, "talk:1.0.end"));
}
