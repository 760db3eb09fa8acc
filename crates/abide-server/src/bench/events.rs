//! How soon an event takes effect, and how many do: clients that start an instance, send it the
//! event it waits for, wait for its result, and start the next.

use std::path::Path;
use std::time::{Duration, Instant};

use abide::{Engine, Start};
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::load::{self, Load};
use super::probe::Extent;
use super::reading::{Reading, Unit};
use super::waiter::{WAITER, send, waiter};

/// Runs the clients and reports what they saw.
pub(crate) async fn measure(
    file: &Path,
    in_flight: usize,
    extent: Extent,
) -> Result<Vec<Reading>, Error> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone()).workflow(WAITER, waiter).start().await?;
    let clients = engine.clone();
    let load = load::measure(Some(&store), in_flight, extent, move || one(clients.clone())).await?;
    engine.shutdown().await;
    store.close().await?;
    Ok(report(&load))
}

/// One event, from sent to completed. The instance is parked by then, in memory: its wait is part
/// of the commit that starts it.
async fn one(engine: Engine) -> Result<Duration, Error> {
    let handle = engine.start(WAITER, Start::new(&())).await?;
    let began = Instant::now();
    send(&handle).await?;
    handle.result::<u32>().await?;
    Ok(began.elapsed())
}

fn report(load: &Load) -> Vec<Reading> {
    let mut readings = vec![
        Reading::new("eventsPerSecond", load.per_second(), Unit::PerSecond),
        Reading::new("latencyP50", load.took.percentile(50), Unit::Ms),
        Reading::new("latencyP99", load.took.percentile(99), Unit::Ms),
        Reading::new("commitsPerSecond", load.commits_per_second(), Unit::CommitsPerSecond),
        Reading::new("eventsPerCommit", load.per_commit(), Unit::Number),
    ];
    let cpu = load.cpu_micros_each();
    readings.extend(cpu.map(|each| Reading::new("cpuPerEvent", each, Unit::CpuMicros)));
    readings.extend(Reading::peak_memory());
    readings
}
