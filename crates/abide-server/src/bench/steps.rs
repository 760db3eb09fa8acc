//! Throughput and latency: clients that start an instance of five trivial steps, wait for its
//! result, and start the next.

use std::path::Path;
use std::time::{Duration, Instant};

use abide::{Cx, Engine, Start};
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::load::{self, Load};
use super::probe::Extent;
use super::reading::{Reading, Unit};

/// Steps of one instance.
pub(super) const STEPS: f64 = 5.0;

pub(super) async fn five(cx: Cx, (): ()) -> abide::Result<u32> {
    let mut sum = 0;
    for name in ["a", "b", "c", "d", "e"] {
        sum += cx.step(name, || async { Ok::<u32, abide::Error>(1) }).await?;
    }
    Ok(sum)
}

/// Runs the clients and reports what they saw.
pub(crate) async fn measure(
    file: &Path,
    in_flight: usize,
    extent: Extent,
) -> Result<Vec<Reading>, Error> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone()).workflow("five", five).start().await?;
    let clients = engine.clone();
    let load = load::measure(Some(&store), in_flight, extent, move || one(clients.clone())).await?;
    engine.shutdown().await;
    store.close().await?;
    Ok(report(&load))
}

/// One instance, from start to completed.
pub(super) async fn one(engine: Engine) -> Result<Duration, Error> {
    let began = Instant::now();
    let handle = engine.start("five", Start::new(&())).await?;
    let sum: u32 = handle.result().await?;
    if sum != 5 {
        return Err(Error::Unexpected(format!("five steps of 1 came to {sum}")));
    }
    Ok(began.elapsed())
}

fn report(load: &Load) -> Vec<Reading> {
    let mut readings = vec![
        Reading::new("stepsPerSecond", STEPS * load.per_second(), Unit::PerSecond),
        Reading::new("instancesPerSecond", load.per_second(), Unit::PerSecond),
        Reading::new("latencyP50", load.took.percentile(50), Unit::Ms),
        Reading::new("latencyP99", load.took.percentile(99), Unit::Ms),
        Reading::new("commitsPerSecond", load.commits_per_second(), Unit::CommitsPerSecond),
        Reading::new("stepsPerCommit", STEPS * load.per_commit(), Unit::Number),
    ];
    let cpu = load.cpu_micros_each();
    readings.extend(cpu.map(|each| Reading::new("cpuPerStep", each / STEPS, Unit::CpuMicros)));
    readings.extend(Reading::peak_memory());
    readings
}
