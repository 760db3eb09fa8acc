//! One published event that very many instances wait for, and what others feel of it.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use abide::{Cx, Engine, Start};
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::fill::fill;
use super::reading::{Reading, Unit};
use super::residents;
use super::storm::{self, Crowd, FIVE, Steps, five};
use super::subscriber::{self, SUBSCRIBER, subscriber};
use super::waiter::leaving_at_once;

/// The order that all of them wait for.
const ORDER: &str = "everybody's";

/// Publishes the event, and looks at the steps of others before and meanwhile.
pub(crate) async fn measure(
    file: &Path,
    count: usize,
    idle: Duration,
) -> Result<Vec<Reading>, Error> {
    let (crowd, steps) = (Crowd::new(count), Arc::new(Steps::default()));
    let (waiting, stepping) = (Arc::clone(&crowd), Arc::clone(&steps));
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow(SUBSCRIBER, move |cx: Cx, order| woken(cx, order, Arc::clone(&waiting)))
        .workflow(FIVE, move |cx: Cx, (): ()| five(cx, Arc::clone(&stepping)))
        .configure(leaving_at_once)
        .start()
        .await?;
    fill(&engine, SUBSCRIBER, count, |_| Start::new(ORDER)).await?;
    residents::until(&engine, 0).await?;
    let calm = async {
        tokio::time::sleep(idle).await;
        Ok(())
    };
    let accepted = OnceLock::new();
    let storm = async {
        let took = publish(&engine, count).await?;
        accepted.get_or_init(|| took);
        crowd.gone(&engine, SUBSCRIBER).await
    };
    let felt = storm::watch(&engine, &steps, calm, storm).await?;
    engine.shutdown().await;
    store.close().await?;
    let mut readings = felt.report(count, "allWoken", "wokenPerSecond");
    let accepted = accepted.get().map(|took| took.as_secs_f64() * 1e3);
    readings.extend(accepted.map(|ms| Reading::new("accepted", ms, Unit::Ms)));
    Ok(readings)
}

async fn woken(cx: Cx, order: String, crowd: Arc<Crowd>) -> abide::Result<()> {
    subscriber(cx, order).await?;
    crowd.leave();
    Ok(())
}

/// Publishes the event that all of them want; answers how long that took.
async fn publish(engine: &Engine, count: usize) -> Result<Duration, Error> {
    let event = subscriber::read(&subscriber::event(ORDER))?;
    let began = Instant::now();
    let verdict = engine.publish(event).await?;
    let took = began.elapsed();
    if usize::try_from(verdict.matched_count) != Ok(count) {
        let matched = verdict.matched_count;
        return Err(Error::Unexpected(format!("{matched} waited for the event, not {count}")));
    }
    Ok(took)
}
