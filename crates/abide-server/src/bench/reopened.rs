//! What subscriptions cost a process that opens their database: until it publishes, and once it has
//! them all in memory.

use std::path::Path;
use std::time::{Duration, Instant};

use abide::Engine;
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::memory;
use super::reading::{Reading, Unit};
use super::subscriber::{self, SUBSCRIBER, subscriber};

/// Opens what the probe before has left, publishes what nobody wants, and waits until memory no
/// longer grows.
pub(crate) async fn measure(file: &Path, waiting: usize) -> Result<Vec<Reading>, Error> {
    let before = memory::needed()?;
    let began = Instant::now();
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone()).workflow(SUBSCRIBER, subscriber).start().await?;
    let started = began.elapsed();
    publish(&engine, "nobody's", 0).await?;
    let ready = began.elapsed();
    let after = memory::settled().await?;
    let last = subscriber::order(waiting - 1);
    publish(&engine, &last, 1).await?;
    engine.shutdown().await;
    store.close().await?;
    let ms = |name, at: Duration| Reading::new(name, at.as_secs_f64() * 1e3, Unit::Ms);
    let mut readings = vec![
        ms("engineStarted", started),
        ms("ready", ready),
        Reading::bytes_each("grownEach", before, after, waiting),
    ];
    readings.extend(Reading::peak_memory());
    Ok(readings)
}

/// Publishes an event about an order that so many want.
async fn publish(engine: &Engine, order: &str, wanted: u64) -> Result<(), Error> {
    let verdict = engine.publish(subscriber::read(&subscriber::event(order))?).await?;
    if verdict.matched_count != wanted {
        return Err(Error::Unexpected(format!("{wanted} should have wanted it: {verdict:?}")));
    }
    Ok(())
}
