//! Very many deadlines that pass at the same moment, and what others feel of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use abide::{Cx, Engine, Start, Timestamp};
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::fill::{fill, time_to_fill};
use super::reading::Reading;
use super::residents;
use super::storm::{self, Crowd, FIVE, Steps, WARM_UP, five};
use super::waiter::leaving_at_once;
use super::wall::{never, now};

/// The workflow whose deadline passes.
const WAITER: &str = "waiter";

/// For leaving memory, once all are started.
const CALM: Duration = Duration::from_secs(1);

async fn waiter(cx: Cx, until: Timestamp, crowd: Arc<Crowd>) -> abide::Result<()> {
    match cx.wait_for_event::<()>("what never comes").timeout_at(until).await {
        Err(abide::Error::EventTimeout { .. }) => crowd.leave(),
        other => drop(other?),
    }
    Ok(())
}

/// Has the deadlines pass, and looks at the steps of others before and meanwhile.
pub(crate) async fn measure(
    file: &Path,
    count: usize,
    idle: Duration,
) -> Result<Vec<Reading>, Error> {
    let (crowd, steps) = (Crowd::new(count), Arc::new(Steps::default()));
    let (waiting, trying, stepping) = (Arc::clone(&crowd), Arc::clone(&crowd), Arc::clone(&steps));
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow(WAITER, move |cx: Cx, until| waiter(cx, until, Arc::clone(&waiting)))
        .workflow("trial", move |cx: Cx, until| waiter(cx, until, Arc::clone(&trying)))
        .workflow(FIVE, move |cx: Cx, (): ()| five(cx, Arc::clone(&stepping)))
        .configure(leaving_at_once)
        .start()
        .await?;
    let filling = time_to_fill(&engine, "trial", count, || Start::new(&never())).await?;
    let due = now().after(filling + CALM + WARM_UP + idle);
    fill(&engine, WAITER, count, |_| Start::new(&due)).await?;
    residents::until(&engine, 0).await?;
    let storm = crowd.gone(&engine, WAITER);
    let felt = storm::watch(&engine, &steps, until(due, idle), storm).await?;
    engine.shutdown().await;
    store.close().await?;
    Ok(felt.report(count, "allExpired", "expiredPerSecond"))
}

/// Waits for the deadline, which has to be at least so far away.
async fn until(due: Timestamp, at_least: Duration) -> Result<(), Error> {
    let rest = Duration::from_millis(u64::try_from(due.0 - now().0).unwrap_or(0));
    if rest < at_least {
        let message = "starting took longer than a trial promised; try again or with fewer";
        return Err(Error::Unexpected(message.to_owned()));
    }
    tokio::time::sleep(rest).await;
    Ok(())
}
