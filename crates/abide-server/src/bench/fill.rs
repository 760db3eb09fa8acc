//! Starting very many instances.

use std::time::{Duration, Instant};

use abide::{Engine, Start};
use tokio::task::JoinSet;

use crate::error::Error;

use super::reading::Reading;

/// The most that one call may start.
const BATCH: usize = 100;

/// Batches on their way at once: enough that the store is never idle.
const AT_ONCE: usize = 4;

/// Instances started to learn how fast that is.
const TRIAL: usize = 2_000;

/// How long `fill` will take at most, by a trial: its instances stay, and must never do anything.
pub(crate) async fn time_to_fill(
    engine: &Engine,
    workflow: &'static str,
    count: usize,
    start: impl Fn() -> Start,
) -> Result<Duration, Error> {
    let began = Instant::now();
    let trial = TRIAL.min(count);
    fill(engine, workflow, trial, |_| start()).await?;
    let each = began.elapsed().as_secs_f64() / Reading::count("trial", trial).value;
    Ok(Duration::from_secs_f64(1.5 * each * Reading::count("all", count).value))
}

/// Starts `count` instances of a workflow; answers when all are stored.
pub(crate) async fn fill(
    engine: &Engine,
    workflow: &'static str,
    count: usize,
    start: impl Fn(usize) -> Start,
) -> Result<(), Error> {
    let mut batches = JoinSet::new();
    for first in (0..count).step_by(BATCH) {
        if batches.len() == AT_ONCE {
            settle(batches.join_next().await)?;
        }
        let starts: Vec<_> = (first..count.min(first + BATCH)).map(&start).collect();
        let engine = engine.clone();
        batches.spawn(async move { engine.start_all(workflow, starts).await.map(|_| ()) });
    }
    while let Some(batch) = batches.join_next().await {
        settle(Some(batch))?;
    }
    Ok(())
}

fn settle(batch: Option<Result<abide::Result<()>, tokio::task::JoinError>>) -> Result<(), Error> {
    match batch {
        None => Ok(()),
        Some(Ok(started)) => Ok(started?),
        Some(Err(died)) => Err(Error::Unexpected(format!("starting instances: {died}"))),
    }
}
