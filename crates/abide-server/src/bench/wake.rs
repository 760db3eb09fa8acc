//! Very many instances that have left memory, all woken at once by events of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use abide::Engine;
use abide_sqlite::SqliteStore;
use tokio::task::JoinSet;

use crate::error::Error;

use super::fill::fill;
use super::listed;
use super::memory::Memory;
use super::processor;
use super::reading::{Reading, Unit};
use super::residents;
use super::waiter::{WAITER, leaving_at_once, named, send, start, waiter};

/// Events on their way at once. Nobody waits for what they bring about before sending the next.
const SENDERS: usize = 256;

/// Sends everybody its event, and waits until all have completed.
pub(crate) async fn measure(file: &Path, count: usize) -> Result<Vec<Reading>, Error> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow(WAITER, waiter)
        .configure(leaving_at_once)
        .start()
        .await?;
    fill(&engine, WAITER, count, start).await?;
    residents::until(&engine, 0).await?;
    Memory::forget_peak();
    let (commits, processor) = (store.stats().commits, processor::used());
    let began = Instant::now();
    send_all(&engine, count).await?;
    let sent = began.elapsed();
    // An event that was accepted has its instance on the way into memory, which it leaves completed.
    residents::until(&engine, 0).await?;
    let woken = began.elapsed();
    let peak = Reading::peak_memory();
    let commits = store.stats().commits - commits;
    let processor = processor::used().zip(processor).map(|(after, before)| after - before);
    // The figure is worth nothing unless all have completed.
    listed::check_completed(&engine, count).await?;
    engine.shutdown().await;
    store.close().await?;
    let count = Reading::count("woken", count).value;
    let commits = f64::from(u32::try_from(commits).unwrap_or(u32::MAX));
    let per_second = |took: Duration| count / took.as_secs_f64();
    let mut readings = vec![
        Reading::new("wakesPerSecond", per_second(woken), Unit::PerSecond),
        Reading::new("sentPerSecond", per_second(sent), Unit::PerSecond),
        Reading::new("wakesPerCommit", count / commits.max(1.0), Unit::Number),
    ];
    readings.extend(
        processor.map(|used| {
            Reading::new("cpuPerWake", used.as_secs_f64() * 1e6 / count, Unit::CpuMicros)
        }),
    );
    readings.extend(peak);
    Ok(readings)
}

async fn send_all(engine: &Engine, count: usize) -> Result<(), Error> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut senders = JoinSet::new();
    for _ in 0..SENDERS.min(count) {
        let (engine, next) = (engine.clone(), Arc::clone(&next));
        senders.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(());
                }
                send(&engine.get(&named(number)?)).await?;
            }
        });
    }
    senders.join_all().await.into_iter().collect()
}
