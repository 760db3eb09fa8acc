//! Telling somebody else what workflows do: a sink of the program's own, and one line for one on the web.
//!
//! `cargo run -p abide-examples --bin tracker`

use std::sync::Arc;

use abide::prelude::*;
use abide_sqlite::SqliteStore;
use abide_tracker::{Batch, Sink, SinkError, Tracker, TrackerConfig, What};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Prints what it is told. `Tracker::new(TrackerConfig::new(url, token))` posts it instead.
struct Print;

impl Sink for Print {
    fn send(&self, batch: Arc<Batch>) -> BoxFuture<'_, Result<(), SinkError>> {
        for event in &batch.events {
            match &event.what {
                What::StepCompleted { step_name, attempt, .. } => {
                    println!("{step_name} is done, attempt {attempt}");
                }
                What::WorkflowCompleted { completed_steps, .. } => {
                    println!(
                        "{} has ended with {} steps",
                        event.workflow_id,
                        completed_steps.len()
                    );
                }
                _ => {}
            }
        }
        async { Ok(()) }.boxed()
    }
}

async fn brew(cx: Cx, cups: u32) -> Result<u32> {
    cx.step("boil", || async { Ok::<_, Error>(()) }).await?;
    cx.step("pour", || async { Ok::<_, Error>(cups) }).await
}

#[tokio::main]
async fn main() -> Result<()> {
    let tracker = Tracker::with_sink(TrackerConfig::new("", ""), Print);
    let engine = Engine::builder(SqliteStore::open("tracker.db").await?)
        .workflow("brew", brew)
        .observe(tracker.clone())
        .start()
        .await?;
    engine.start("brew", Start::new(&2).id("tea")).await?.result::<u32>().await?;
    // What is left is sent before it returns.
    engine.shutdown().await;
    println!("{} sent, {} dropped", tracker.sent(), tracker.dropped());
    Ok(())
}
