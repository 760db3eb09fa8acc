//! Every example of `docs/yaml.md` is run and comes to what it says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation ends the test")]

mod loopback;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use abide::prelude::*;
use abide_flow::{Actions, EnvironmentSecrets, Equipment, HttpSettings, parse, workflow};
use abide_testkit::{TestEngine, TestHandle};
use serde_json::{Value, json};

use loopback::{Asked, Loopback, mcp};

const DOCS: &str = include_str!("../../../docs/yaml.md");
/// Where the examples expect services.
const SERVICES: &str = "http://127.0.0.1:8080";

/// An input and what it comes to.
struct Case {
    input: Value,
    expect: Result<Value, String>,
}

/// The documents in the docs, by name, with their cases.
fn examples() -> Vec<(String, String, Vec<Case>)> {
    let blocks = DOCS.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap_or(""));
    blocks.map(|text| (parse(text).unwrap().name, text.to_owned(), cases(text))).collect()
}

fn cases(text: &str) -> Vec<Case> {
    let (mut cases, mut input) = (Vec::new(), None);
    for line in text.lines() {
        if let Some(given) = line.strip_prefix("# input: ") {
            input = Some(value(given));
        } else if let Some(output) = line.strip_prefix("# output: ") {
            cases.push(Case { input: input.take().unwrap(), expect: Ok(value(output)) });
        } else if let Some(code) = line.strip_prefix("# error: ") {
            cases.push(Case { input: input.take().unwrap(), expect: Err(code.to_owned()) });
        }
    }
    assert!(input.is_none() && !cases.is_empty(), "it is not said what this comes to:\n{text}");
    cases
}

/// A value as the docs write it, read as a document reads one.
fn value(written: &str) -> Value {
    let text = format!("name: value\nsteps: [{{id: v, return: {written}}}]\n");
    match &parse(&text).unwrap().steps[0].kind {
        abide_flow::Kind::Return(abide_flow::Field::Constant(value)) => value.clone(),
        _ => panic!("{written} is no value"),
    }
}

/// `…` in what is expected stands for anything.
fn is_like(found: &Value, expect: &Value) -> bool {
    match (found, expect) {
        (_, Value::String(anything)) if anything == "…" => true,
        (Value::Object(found), Value::Object(expect)) => {
            let same = |(name, value): (&String, &Value)| {
                found.get(name).is_some_and(|found| is_like(found, value))
            };
            found.len() == expect.len() && expect.iter().all(same)
        }
        _ => found == expect,
    }
}

/// The services that the examples call. They want to know who calls.
fn service(asked: &Asked) -> (u16, Value) {
    let has_token = asked.headers["authorization"] == "Bearer s3cret";
    match &*asked.what() {
        "POST /quotes?currency=EUR" if !has_token => (401, Value::Null),
        "POST /quotes?currency=EUR" if asked.body["items"] == json!([]) => (422, Value::Null),
        "POST /quotes?currency=EUR" => (200, json!({"price": 30})),
        "POST /mcp" if !has_token => (401, Value::Null),
        "POST /mcp" => mcp(asked, |_, arguments| json!({"found": [arguments["query"]]})),
        "POST /reserve" => (200, json!({"depot": "north"})),
        "POST /hotel" => (201, json!({"id": "h-1"})),
        "POST /flight" => (409, json!({"reason": "full"})),
        "GET /credit" => (200, json!({"rating": "AAA"})),
        "DELETE /hotel/h-1" => (204, Value::Null),
        "POST /ship" | "POST /remind" | "POST /pick" | "GET /stock" => (200, json!({})),
        other => (404, json!({"unknown": other})),
    }
}

/// Answers one ping.
async fn peer(cx: Cx, (): ()) -> abide::Result<()> {
    let ping = cx.receive::<Value>("ping").await?;
    let from = ping.payload["from"].as_str().unwrap_or_default();
    cx.send(&InstanceId::new(from)?, "pong", json!({"to": from})).await.map(drop)
}

/// Waits for what one and all are told.
async fn listener(cx: Cx, (): ()) -> abide::Result<()> {
    cx.wait_for_event::<Value>("approval").await?;
    cx.wait_for_event::<Value>("order.shipped").await.map(drop)
}

/// Shows its price until it is told to stop.
async fn quote(cx: Cx, (): ()) -> abide::Result<()> {
    cx.set_output("price", 30)?;
    cx.wait_for_signal::<Value>("stop").await.map(drop)
}

/// An engine with all examples; its secrets are in a directory.
async fn engine(documents: &[String], directory: &Path) -> TestEngine {
    for name in ["QUOTES_TOKEN", "PRICES", "TOOL_TOKEN"] {
        std::fs::write(directory.join(name), "s3cret").unwrap();
    }
    let secrets = EnvironmentSecrets::default().directory(directory);
    let price = async |input: Value| Ok::<_, Error>(if input["key"] == "s3cret" { 2 } else { 0 });
    let equipment = Equipment::with(HttpSettings::default(), secrets).unwrap();
    let equipment = Arc::new(equipment.actions(Actions::default().with("price", price)));
    let builder = TestEngine::builder().workflow("peer", peer).workflow("listener", listener);
    let builder = documents.iter().fold(builder.workflow("quote", quote), |builder, text| {
        builder.register(workflow(&Arc::new(parse(text).unwrap()), 1, &equipment))
    });
    let engine = builder.start().await;
    for name in ["peer", "listener", "quote"] {
        engine.start(name, Start::new(&()).id(name)).await.unwrap();
    }
    engine
}

/// What somebody has to do for an example to come to its end.
async fn take_part(engine: &TestEngine, name: &str, handle: &TestHandle) {
    let publish = async |event_type: &str, payload: Value| {
        engine.engine().publish(Event::new(event_type, payload)).await.unwrap();
    };
    match name {
        "order" => {
            handle.until_wait("wait_for_payment#2").await;
            let payment = json!({"orderId": "o-1", "amount": 120, "id": "p-1"});
            publish("payment.received", payment).await;
        }
        "votes" => {
            handle.until_wait("votes").await;
            for (ballot, voter) in
                [("b-1", "ann"), ("b-1", "ann"), ("b-2", "bob"), ("b-1", "cid"), ("b-1", "dan")]
            {
                publish("vote.cast", json!({"ballot": ballot, "voter": voter})).await;
            }
        }
        "approval" | "choose" => {
            let sent = handle.signal("approve", &json!({"by": "ann"})).await;
            // One of the cases needs nobody and is over.
            assert!(sent.is_ok() || name == "choose", "{sent:?}");
        }
        _ => {}
    }
}

/// A value of the docs with the place where the services really are.
fn at(services: &Loopback, value: &Value) -> Value {
    serde_json::from_str(&value.to_string().replace(SERVICES, &services.base)).unwrap()
}

#[tokio::test]
async fn every_example_comes_to_what_it_says() {
    let services = Loopback::start(service).await;
    let examples = examples();
    let documents: Vec<_> = examples.iter().map(|(_, text, _)| text.clone()).collect();
    let directory = tempfile::tempdir().unwrap();
    let engine = engine(&documents, directory.path()).await;
    let mut names = BTreeSet::new();
    for (name, _, cases) in &examples {
        assert!(names.insert(name), "two examples are called {name}");
        for (nth, case) in (1..).zip(cases) {
            let start = Start::new(&at(&services, &case.input)).id(format!("{name}-{nth}"));
            let handle = engine.start(name, start).await.unwrap();
            take_part(&engine, name, &handle).await;
            match &case.expect {
                Ok(expect) => {
                    let expect = at(&services, expect);
                    let output = handle.result::<Value>().await;
                    let output = output.unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert!(is_like(&output, &expect), "{name}: {output} is not {expect}");
                }
                Err(code) => assert_eq!(handle.failure().await.code, *code, "{name}"),
            }
        }
    }
    let asked = services.asked();
    for call in ["DELETE /hotel/h-1", "POST /remind", r#"POST /ship {"order":"o-1","via":"north"}"#]
    {
        assert!(asked.iter().any(|asked| asked == call), "{call} is not in {asked:#?}");
    }
}
