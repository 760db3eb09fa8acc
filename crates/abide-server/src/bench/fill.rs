//! Starting very many instances.

use abide::{Engine, Start};
use tokio::task::JoinSet;

use crate::error::Error;

/// The most that one call may start.
const BATCH: usize = 100;

/// Batches on their way at once: enough that the store is never idle.
const AT_ONCE: usize = 4;

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
