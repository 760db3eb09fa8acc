//! Waiting for instances to enter or leave memory.

use std::time::{Duration, Instant};

use abide::Engine;

use crate::error::Error;

/// How long they may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until so many instances are in memory.
pub(crate) async fn until(engine: &Engine, expected: usize) -> Result<(), Error> {
    let began = Instant::now();
    while engine.resident() != expected {
        if began.elapsed() > PATIENCE {
            let resident = engine.resident();
            let message = format!("{resident} instances are in memory, {expected} should be");
            return Err(Error::Unexpected(message));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}
