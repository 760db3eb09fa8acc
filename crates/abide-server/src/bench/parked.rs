//! What instances cost that wait for something.
//!
//! A third more is started first and not counted: it fills SQLite's page cache, which costs the
//! same however many instances there are. Before memory is read a few trivial instances run, as in
//! any engine that is in use: an allocator gives back what one thread freed for another only when
//! that other thread allocates again.

use std::path::Path;
use std::time::{Duration, Instant};

use abide::{Cx, Engine, Start};
use abide_sqlite::SqliteStore;
use tokio::task::JoinSet;

use crate::error::Error;

use super::fill::fill;
use super::memory::{self, Memory};
use super::probe::Kind;
use super::reading::{Reading, Unit};
use super::residents;
use super::subscriber::{self, SUBSCRIBER, subscriber};

/// Longer than any measurement, and far beyond the horizon of the timers.
const LONG: &str = "1 year";

/// Trivial instances run before memory is read: what an engine in use does in a fraction of a second.
const STIRRED: usize = 4000;

/// So many of them at once, so that every thread takes part.
const STIRRERS: usize = 16;

async fn trivial(cx: Cx, (): ()) -> abide::Result<()> {
    cx.step("one", || async { Ok::<_, abide::Error>(()) }).await
}

async fn sleeper(cx: Cx, (): ()) -> abide::Result<()> {
    cx.sleep("long", LONG).await
}

async fn waiter(cx: Cx, (): ()) -> abide::Result<()> {
    cx.child::<()>("sleeper", ()).await
}

/// Starts the instances and answers what each one costs once they have come to rest.
pub(crate) async fn measure(file: &Path, kind: Kind, count: usize) -> Result<Vec<Reading>, Error> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow("sleeper", sleeper)
        .workflow("waiter", waiter)
        .workflow("trivial", trivial)
        .workflow(SUBSCRIBER, subscriber)
        .configure(|config| {
            if kind == Kind::Residents {
                // Longer than they sleep, or they would not stay.
                config.residency_idle = Duration::from_secs(10 * 365 * 24 * 60 * 60);
                config.residency_budget = usize::MAX;
            }
        })
        .start()
        .await?;
    let (workflow, start): (_, fn(usize) -> Start) = match kind {
        Kind::Waits => ("waiter", |_| Start::new(&())),
        Kind::Sleepers | Kind::Residents => ("sleeper", |_| Start::new(&())),
        Kind::Subscribers => (SUBSCRIBER, subscriber::start),
    };
    let extra = count.div_ceil(3);
    fill(&engine, workflow, extra, start).await?;
    let before = settled(&engine, kind, extra).await?;
    let began = Instant::now();
    fill(&engine, workflow, count, |number| start(extra + number)).await?;
    let filling = began.elapsed().as_secs_f64();
    let after = settled(&engine, kind, extra + count).await?;
    engine.shutdown().await;
    store.close().await?;
    let instances = Reading::count("instances", count).value;
    let mut readings = vec![
        Reading::bytes_each("bytesEach", before, after, count),
        Reading::new("startedPerSecond", instances / filling, Unit::PerSecond),
    ];
    readings.extend(Reading::peak_memory());
    Ok(readings)
}

/// Waits until the instances are where they should be and memory no longer changes.
async fn settled(engine: &Engine, kind: Kind, count: usize) -> Result<Memory, Error> {
    let expected = if kind == Kind::Residents { count } else { 0 };
    residents::until(engine, expected).await?;
    stir(engine).await?;
    memory::settled().await
}

async fn stir(engine: &Engine) -> Result<(), Error> {
    let stirrer = async |engine: Engine| -> abide::Result<()> {
        for _ in 0..STIRRED / STIRRERS {
            engine.start("trivial", Start::new(&())).await?.result::<()>().await?;
        }
        Ok(())
    };
    let mut stirrers = JoinSet::new();
    for _ in 0..STIRRERS {
        stirrers.spawn(stirrer(engine.clone()));
    }
    while let Some(stirred) = stirrers.join_next().await {
        stirred.map_err(|died| Error::Unexpected(format!("stirring: {died}")))??;
    }
    Ok(())
}
