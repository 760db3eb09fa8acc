//! Every document in `examples/flows` does what it says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation ends the test")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use abide::prelude::*;
use abide_flow::{Equipment, parse, report, workflow};
use abide_testkit::{TestEngine, TestEngineBuilder};
use serde_json::{Value, json};

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
    assert_eq!(names, ["approval.yaml", "fanout.yaml", "payment.yaml", "worker.yaml"]);
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
