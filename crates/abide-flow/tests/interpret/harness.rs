//! Runs a document plainly, and then dying everywhere.

use std::sync::Arc;

use abide::prelude::*;
use abide::{Failure, Workflow};
use abide_flow::{Actions, Equipment, parse, report, workflow};
use abide_testkit::{TestEngine, TestEngineBuilder, TestHandle};
use serde_json::{Value, json};

/// A function that fails, to be called by documents: `{"times": 2}` fails twice.
fn actions() -> Actions {
    Actions::default()
        .with("double", async |n: i64| Ok::<_, Error>(n * 2))
        .with("echo", async |value: Value| Ok::<_, Error>(value))
        .with("refuse", async |message: String| Err::<(), _>(Error::failed("REFUSED", message)))
        .with("decline", async |message: String| Err::<(), _>(NonRetryable::new(message)))
}

pub(crate) fn equipment() -> Arc<Equipment> {
    Arc::new(Equipment::new().unwrap().actions(actions()))
}

/// The workflow of a document that has nothing wrong with it.
pub(crate) fn read(text: &str) -> Workflow {
    let flow = parse(text).unwrap_or_else(|problems| panic!("{}", report("test", text, &problems)));
    workflow(&Arc::new(flow), 1, &equipment())
}

/// An engine with these documents.
pub(crate) fn engine(documents: &[&str]) -> TestEngineBuilder {
    let with = |engine: TestEngineBuilder, text: &&str| engine.register(read(text));
    documents.iter().fold(TestEngine::builder(), with)
}

fn named(text: &str) -> String {
    parse(text).unwrap().name
}

/// Runs the first document with an input while `script` sends what it needs; answers with what it came
/// to. Then the same again and again with crashes.
pub(crate) async fn run<S>(documents: &[&str], input: Value, script: S) -> Result<Value, Failure>
where
    S: AsyncFn(TestHandle) -> abide::Result<()>,
{
    let name = named(documents[0]);
    let running = engine(documents).start().await;
    let handle = running.start(&name, Start::new(&input)).await.unwrap();
    script(handle.clone()).await.unwrap();
    let came_to = match handle.result::<Value>().await {
        Ok(output) => Ok(output),
        Err(_) => Err(handle.failure().await),
    };
    engine(documents).crash_everywhere(&name, &input, &script).await;
    came_to
}

/// What a document comes to by itself.
pub(crate) async fn comes_to(text: &str, input: Value, expect: Value) {
    let output = run(&[text], input, async |_| Ok(())).await;
    assert_eq!(output.unwrap_or_else(|failure| panic!("{failure:?}")), expect, "{text}");
}

/// The code that a document fails with by itself, and a part of what it says.
pub(crate) async fn fails_with(text: &str, input: Value, code: &str, says: &str) {
    let failure = run(&[text], input, async |_| Ok(())).await.unwrap_err();
    assert_eq!(failure.code, code, "{failure:?}");
    assert!(failure.message.contains(says), "{failure:?}");
}

pub(crate) fn nothing() -> Value {
    json!({})
}
