//! What a document costs: five `set` steps of one, against the same workflow in Rust.
//!
//! Both have the same input, record the same outputs under the same names and leave the same
//! `workflow.context`, in one engine on one store. Only the document tells its `progress`: that is
//! part of what documents do. They take turns, so that a machine that slows down slows both.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use abide::{Cx, Engine, Start};
use abide_flow::Equipment;
use abide_sqlite::SqliteStore;
use serde_json::{Value, json};

use crate::error::Error;

use super::load::{self, Load};
use super::probe::Extent;
use super::reading::{Reading, Unit};
use super::samples::Samples;

/// The workflow as a document.
const DOCUMENT: &str = include_str!("flow.yaml");

/// Steps of one instance.
const STEPS: f64 = 5.0;

/// How often each of the two has its turn.
const TURNS: u32 = 5;

/// The workflow in Rust.
async fn in_rust(cx: Cx, input: Value) -> abide::Result<Value> {
    let mut last = input["from"].as_i64().unwrap_or_default();
    for name in ["a", "b", "c", "d", "e"] {
        last += 1;
        let made = json!({ name: last });
        let made: Value = cx
            .step(name, move || {
                let made = made.clone();
                async move { Ok::<_, abide::Error>(made) }
            })
            .await?;
        cx.context().set(name, &made[name])?;
    }
    Ok(json!({ "last": last }))
}

/// Has both take turns and reports what they came to.
pub(crate) async fn measure(
    file: &Path,
    in_flight: usize,
    extent: Extent,
) -> Result<Vec<Reading>, Error> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow("rust", in_rust)
        .register(document()?)
        .start()
        .await?;
    let (mut documents, mut rust) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        for (workflow, turns) in [("document", &mut documents), ("rust", &mut rust)] {
            let clients = engine.clone();
            let act = move || one(clients.clone(), workflow);
            turns.push(load::measure(Some(&store), in_flight, extent.part(TURNS), act).await?);
        }
    }
    engine.shutdown().await;
    store.close().await?;
    Ok(report(&documents, &rust))
}

fn document() -> Result<abide::Workflow, Error> {
    let unexpected = |what: String| Error::Unexpected(format!("the document of the bench: {what}"));
    let flow = abide_flow::parse(DOCUMENT)
        .map_err(|problems| unexpected(abide_flow::report("flow.yaml", DOCUMENT, &problems)))?;
    let equipment = Equipment::new().map_err(|refused| unexpected(refused.to_string()))?;
    Ok(abide_flow::workflow(&Arc::new(flow), 1, &Arc::new(equipment)))
}

/// One instance, from start to completed.
async fn one(engine: Engine, workflow: &str) -> Result<Duration, Error> {
    let began = Instant::now();
    let handle = engine.start(workflow, Start::new(&json!({ "from": 0 }))).await?;
    let output: Value = handle.result().await?;
    if output != json!({ "last": 5 }) {
        return Err(Error::Unexpected(format!("five steps from 0 came to {output}")));
    }
    Ok(began.elapsed())
}

fn report(documents: &[Load], rust: &[Load]) -> Vec<Reading> {
    let median = |turns: &[Load], of: fn(&Load) -> f64| Samples::new(turns.iter().map(of)).median();
    let steps = |turns| STEPS * median(turns, Load::per_second);
    let quotients =
        documents.iter().zip(rust).map(|(ours, theirs)| ours.per_second() / theirs.per_second());
    let mut readings = vec![
        Reading::new("stepsPerSecond", steps(documents), Unit::PerSecond),
        Reading::new("rustStepsPerSecond", steps(rust), Unit::PerSecond),
        Reading::new("ofRust", Samples::new(quotients).median(), Unit::Number),
        Reading::new("latencyP50", median(documents, |load| load.took.percentile(50)), Unit::Ms),
        Reading::new("rustLatencyP50", median(rust, |load| load.took.percentile(50)), Unit::Ms),
    ];
    for (name, turns) in [("cpuPerStep", documents), ("rustCpuPerStep", rust)] {
        let each = turns.iter().filter_map(Load::cpu_micros_each).map(|micros| micros / STEPS);
        let each = Samples::new(each);
        if each.len() > 0 {
            readings.push(Reading::new(name, each.median(), Unit::CpuMicros));
        }
    }
    readings.extend(Reading::peak_memory());
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps with their outputs, the context and the output of an instance of either.
    async fn trace(workflow: &str) -> (Vec<(String, String)>, Option<Value>, Value) {
        let store = SqliteStore::open_temporary().await.unwrap();
        let engine = Engine::builder(store)
            .workflow("rust", in_rust)
            .register(document().unwrap())
            .start()
            .await
            .unwrap();
        let handle = engine.start(workflow, Start::new(&json!({ "from": 0 }))).await.unwrap();
        let output = handle.result().await.unwrap();
        let steps = handle.steps().await.unwrap().into_iter();
        let steps = steps.map(|step| (step.name.to_string(), step.output.unwrap().as_str().into()));
        let context = handle.instance().await.unwrap().context;
        (steps.collect(), context.map(|context| context.decode().unwrap()), output)
    }

    #[tokio::test]
    async fn both_record_the_same() {
        let (document, rust) = (trace("document").await, trace("rust").await);
        assert_eq!(document.0.len(), 5);
        assert_eq!(document, rust);
    }
}
