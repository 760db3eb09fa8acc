//! Every document in `examples/flows` does what it says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation ends the test")]

mod loopback;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use abide::prelude::*;
use abide_flow::{Equipment, parse, report, workflow};
use abide_testkit::{TestEngine, TestEngineBuilder, TestHandle};
use serde_json::{Value, json};

use loopback::{Loopback, mcp};

fn engine(names: &[&str]) -> TestEngineBuilder {
    let equipment = Arc::new(Equipment::new().unwrap());
    let with = |engine: TestEngineBuilder, name: &&str| {
        let file = format!("{}/../../examples/flows/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(&file).unwrap();
        let flow = parse(&text).unwrap_or_else(|wrong| panic!("{}", report(&file, &text, &wrong)));
        engine.register(workflow(&Arc::new(flow), 1, &equipment))
    };
    names.iter().fold(TestEngine::builder(), with)
}

#[test]
fn every_example_is_tested_here() {
    let flows = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    let mut names: Vec<String> = fs::read_dir(flows)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let examples = ["agent", "approval", "fanout", "payment", "saga", "streaming", "worker"];
    assert_eq!(names, examples.map(|name| format!("{name}.yaml")));
}

#[test]
fn every_example_shows_how_to_talk_to_it() {
    let flows = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    for entry in fs::read_dir(flows).unwrap() {
        let path = entry.unwrap().path();
        let (text, name) = (fs::read_to_string(&path).unwrap(), path.file_stem().unwrap());
        let name = name.to_str().unwrap();
        let (start, curl) =
            (format!("abide start {name} --id"), format!("/v1/workflows/{name}/instances"));
        let header: Vec<_> = text.lines().take_while(|line| line.starts_with('#')).collect();
        for part in [start, format!("curl http://127.0.0.1:7878{curl}")] {
            assert!(header.iter().any(|line| line.contains(&part)), "{part} is not in {name}.yaml");
        }
    }
}

/// A shop that ships, or does not.
async fn shop(ships: bool) -> Loopback {
    Loopback::start(move |asked| match &*asked.what() {
        _ if asked.headers["idempotency-key"].is_null() => (400, json!({"reason": "no key"})),
        "POST /reservations" => (201, json!({"id": "r-1"})),
        "POST /payments" => (201, json!({"id": "p-1"})),
        "POST /shipments" if ships => (201, json!({"tracking": "t-1"})),
        "POST /shipments" => (409, json!({"reason": "nobody flies there"})),
        _ => (204, Value::Null),
    })
    .await
}

const ORDERED: [&str; 3] = [
    r#"POST /reservations {"items":["pen"],"order":"o-1"}"#,
    r#"POST /payments {"amount":120,"order":"o-1"}"#,
    r#"POST /shipments {"boxes":2,"order":"o-1"}"#,
];
const UNDONE: [&str; 2] = ["DELETE /payments/p-1", "DELETE /reservations/r-1"];

async fn order(engine: &TestEngine, shop: &Loopback) -> TestHandle {
    let input = json!({"orderId": "o-1", "amount": 120, "items": ["pen"], "base": shop.base});
    engine.start("saga", Start::new(&input)).await.unwrap()
}

#[tokio::test]
async fn an_order_that_is_packed_is_shipped() {
    let (engine, shop) = (engine(&["saga"]).start().await, shop(true).await);
    let handle = order(&engine, &shop).await;
    handle.send_event("order.packed", &json!({"boxes": 2})).await.unwrap();
    assert_eq!(handle.result::<Value>().await.unwrap(), json!({"tracking": "t-1"}));
    assert_eq!(shop.asked(), ORDERED);
}

#[tokio::test]
async fn an_order_that_can_not_be_shipped_is_undone_last_first() {
    let (engine, shop) = (engine(&["saga"]).start().await, shop(false).await);
    let handle = order(&engine, &shop).await;
    handle.send_event("order.packed", &json!({"boxes": 2})).await.unwrap();
    let details: Value = handle.failure().await.details.unwrap().decode().unwrap();
    assert_eq!(details["status"], json!(409));
    assert_eq!(shop.asked(), [&ORDERED[..], &UNDONE].concat());
}

#[tokio::test]
async fn an_order_that_is_never_packed_is_undone_after_two_days() {
    let (engine, shop) = (engine(&["saga"]).start().await, shop(true).await);
    let handle = order(&engine, &shop).await;
    assert_eq!(handle.failure().await.code, "EVENT_TIMEOUT");
    assert_eq!(shop.asked(), [&ORDERED[..2], &UNDONE].concat());
}

/// A model that looks the order up, refunds it, and is done once it was told what came of that.
fn think(told: &Value) -> Value {
    match told["last"]["tool"].as_str() {
        None => json!({"tool": {"name": "look", "arguments": {"order": "o-1"}}}),
        Some("look") => {
            let amount = &told["last"]["result"]["amount"];
            json!({"tool": {"name": "refund", "arguments": {"amount": amount}, "acts": true}})
        }
        Some(_) => json!({"answer": told["last"]}),
    }
}

/// Model and tools of the agent, and how often something was refunded.
async fn world(think: fn(&Value) -> Value) -> (Loopback, Arc<AtomicUsize>) {
    let refunds = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refunds);
    let world = Loopback::start(move |asked| match &*asked.path {
        "/think" => (200, think(&asked.body)),
        _ => mcp(asked, |name, arguments| match name {
            "look" => json!({"amount": 30}),
            _ => {
                counted.fetch_add(1, Ordering::SeqCst);
                json!({"refunded": arguments["amount"]})
            }
        }),
    });
    (world.await, refunds)
}

async fn agent(engine: &TestEngine, world: &Loopback) -> TestHandle {
    let (model, tools) = (format!("{}/think", world.base), format!("{}/mcp", world.base));
    let input = json!({"goal": "refund order o-1", "model": model, "tools": tools});
    engine.start("agent", Start::new(&input)).await.unwrap()
}

#[tokio::test]
async fn an_agent_acts_once_a_person_said_yes() {
    let (engine, (world, refunds)) = (engine(&["agent"]).start().await, world(think).await);
    let handle = agent(&engine, &world).await;
    handle.until_wait("approval").await;
    let asks = handle.until_output::<Value>("asks").await.unwrap();
    assert_eq!(asks, json!({"name": "refund", "arguments": {"amount": 30}, "acts": true}));
    assert_eq!(refunds.load(Ordering::SeqCst), 0);
    handle.send_event("approval", &json!({"approved": true, "by": "ann"})).await.unwrap();
    let answer = json!({"tool": "refund", "result": {"refunded": 30}});
    let expect = json!({"answer": answer, "turns": 3});
    assert_eq!(handle.result::<Value>().await.unwrap(), expect);
    assert_eq!(refunds.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_agent_that_is_refused_or_not_heard_does_nothing() {
    let (engine, (world, refunds)) = (engine(&["agent"]).start().await, world(think).await);
    let refused = agent(&engine, &world).await;
    refused.until_wait("approval").await;
    refused.send_event("approval", &json!({"approved": false})).await.unwrap();
    let answer = json!({"tool": "refund", "refused": true});
    assert_eq!(refused.result::<Value>().await.unwrap()["answer"], answer);
    let unheard = agent(&engine, &world).await;
    assert_eq!(unheard.failure().await.code, "NOBODY_DECIDED");
    assert_eq!(refunds.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_agent_that_is_never_done_ends_all_the_same() {
    let busy = |_: &Value| json!({"tool": {"name": "look", "arguments": {}}});
    let (engine, (world, _)) = (engine(&["agent"]).start().await, world(busy).await);
    let failure = agent(&engine, &world).await.failure().await;
    assert_eq!(failure.code, "TOO_MANY_TURNS");
    assert_eq!(failure.message, "not done after 10 turns");
}

#[tokio::test]
async fn a_text_that_streams_is_archived_and_written_anew_when_asked_for() {
    let desk = Loopback::start(|asked| match &*asked.path {
        "/write" => (200, json!(format!("All about {}.", asked.body["topic"].as_str().unwrap()))),
        _ => (201, json!({"id": asked.body["text"]})),
    });
    let (engine, desk) = (engine(&["streaming"]).start().await, desk.await);
    let (writer, archive) = (format!("{}/write", desk.base), format!("{}/articles", desk.base));
    let input = json!({"topic": "owls", "writer": writer, "archive": archive});
    let handle = engine.start("streaming", Start::new(&input)).await.unwrap();
    handle.until_wait("rewrite").await;
    handle.send_event("rewrite", &json!({"topic": "owls at night"})).await.unwrap();
    let expect = json!({"article": "All about owls at night.", "length": 24});
    assert_eq!(handle.result::<Value>().await.unwrap(), expect);
    let asked = [
        r#"POST /write {"topic":"owls"}"#,
        r#"POST /articles {"length":15,"text":"All about owls.","topic":"owls"}"#,
        r#"POST /write {"topic":"owls at night"}"#,
        r#"POST /articles {"length":24,"text":"All about owls at night.","topic":"owls at night"}"#,
    ];
    assert_eq!(desk.asked(), asked);
}

#[tokio::test]
async fn an_approval_reminds_escalates_and_gives_up() {
    let input = json!({"document": "contract"});
    let report = engine(&["approval"]).crash_everywhere("approval", &input, async |handle| {
        handle.until_wait("decision#3").await;
        handle.send_event("approval", &json!({"approved": true})).await.map(drop)
    });
    report.await;
    let engine = engine(&["approval"]).start().await;
    let patient = engine.start("approval", Start::new(&input)).await.unwrap();
    patient.until_wait("decision#3").await;
    patient.send_event("approval", &json!({"approved": true})).await.unwrap();
    let expect = json!({"approved": true, "reminders": 2, "escalated": true});
    assert_eq!(patient.result::<Value>().await.unwrap(), expect);
    let forgotten = engine.start("approval", Start::new(&input)).await.unwrap();
    assert_eq!(forgotten.failure().await.code, "NO_DECISION");
    let rejected = engine.start("approval", Start::new(&input)).await.unwrap();
    rejected.send_event("approval", &json!({"approved": false})).await.unwrap();
    assert_eq!(rejected.failure().await.code, "REJECTED");
}

#[tokio::test]
async fn a_payment_finds_its_order() {
    let engine = engine(&["payment"]).start().await;
    let start = |order: &str| Start::new(&json!({"orderId": order, "amount": 100}));
    let paid = engine.start("payment", start("o-1")).await.unwrap();
    let unpaid = engine.start("payment", start("o-2")).await.unwrap();
    paid.until_wait("wait_for_payment").await;
    unpaid.until_wait("wait_for_payment").await;
    let payment = json!({"orderId": "o-1", "amount": 120, "id": "p-1", "method": {"type": "visa"}});
    let verdict = engine.engine().publish(Event::new("payment.received", payment)).await.unwrap();
    assert_eq!(verdict.matched_count, 1);
    let expect = json!({"paid": 120, "method": "visa"});
    assert_eq!(paid.result::<Value>().await.unwrap(), expect);
    assert_eq!(unpaid.failure().await.code, "NOT_PAID");
    let told = LogFilter { event_type: Some("order.paid".into()), ..LogFilter::default() };
    assert_eq!(engine.engine().events(told).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_fan_out_gathers_what_its_workers_send() {
    let engine = engine(&["fanout", "worker"]).start().await;
    let start = Start::new(&json!({"items": [1, 2, 3]}));
    let handle = engine.start("fanout", start).await.unwrap();
    let gathered: Value = handle.result().await.unwrap();
    let mut squares: Vec<u64> = gathered
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["payload"].as_u64().unwrap())
        .collect();
    squares.sort_unstable();
    assert_eq!(squares, [1, 4, 9]);
}
