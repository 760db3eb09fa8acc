//! How soon an engine is ready on a database full of parked instances, and what those cost a
//! process that never ran them.

use std::path::Path;
use std::time::Instant;

use abide::{Cx, Engine, Filter, Start};
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::listed;
use super::reading::{Reading, Unit};

async fn trivial(cx: Cx, (): ()) -> abide::Result<u32> {
    cx.step("one", || async { Ok::<u32, abide::Error>(1) }).await
}

/// Never runs here: its instances sleep or wait.
async fn parked(_: Cx, (): ()) -> abide::Result<()> {
    Err(abide::Error::failed("AWAKE", "a parked instance was woken"))
}

/// Opens what the probe before has left and runs one new instance.
pub(crate) async fn measure(file: &Path, expected: usize) -> Result<Vec<Reading>, Error> {
    let began = Instant::now();
    let store = SqliteStore::open(file).await?;
    let opened = began.elapsed();
    let engine = Engine::builder(store.clone())
        .workflow("trivial", trivial)
        .workflow("sleeper", parked)
        .workflow("waiter", parked)
        .start()
        .await?;
    let started = began.elapsed();
    engine.start("trivial", Start::new(&())).await?.result::<u32>().await?;
    let ready = began.elapsed();
    check(&engine, expected).await?;
    engine.shutdown().await;
    store.close().await?;
    let ms = |name, at: std::time::Duration| Reading::new(name, at.as_secs_f64() * 1e3, Unit::Ms);
    let mut readings =
        vec![ms("storeOpen", opened), ms("engineStarted", started), ms("ready", ready)];
    readings.extend(Reading::peak_memory());
    Ok(readings)
}

/// The figure is worth nothing unless the database is as full as it says.
async fn check(engine: &Engine, expected: usize) -> Result<(), Error> {
    let filter = Filter { workflow: Some("waiter".to_owned()), ..Filter::default() };
    let found = listed::count(engine, filter).await?;
    if found < expected {
        return Err(Error::Unexpected(format!("{found} waits are stored, not {expected}")));
    }
    Ok(())
}
