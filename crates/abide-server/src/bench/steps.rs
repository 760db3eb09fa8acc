//! Throughput and latency: clients that start an instance of five trivial steps, wait for its
//! result, and start the next.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use abide::{Cx, Engine, Start};
use abide_sqlite::{SqliteStore, Stats};
use tokio::task::JoinSet;

use crate::error::Error;

use super::probe::Extent;
use super::processor;
use super::reading::{Reading, Unit};
use super::samples::Samples;

/// Steps of one instance.
const STEPS: f64 = 5.0;

async fn five(cx: Cx, (): ()) -> abide::Result<u32> {
    let mut sum = 0;
    for name in ["a", "b", "c", "d", "e"] {
        sum += cx.step(name, || async { Ok::<u32, abide::Error>(1) }).await?;
    }
    Ok(sum)
}

/// The instances that clients may still start.
struct Tickets(AtomicUsize);

impl Tickets {
    fn take(&self) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok()
    }

    fn revoke(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// One instance, from start to completed.
struct Sample {
    ended: Instant,
    took: Duration,
}

/// The stretch of time that counts, and what the store did in it.
struct Window {
    from: Instant,
    to: Instant,
    before: Counts,
    after: Counts,
}

/// What was used up so far.
struct Counts {
    store: Stats,
    processor: Option<Duration>,
}

impl Counts {
    fn now(store: &SqliteStore) -> Self {
        Self { store: store.stats(), processor: processor::used() }
    }
}

/// Runs the clients and reports what they saw.
pub(crate) async fn measure(
    file: &Path,
    in_flight: usize,
    extent: Extent,
) -> Result<Vec<Reading>, Error> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone()).workflow("five", five).start().await?;
    let (window, samples) = match extent {
        Extent::Time { warm_up, measured } => {
            for_a_time(&engine, &store, in_flight, warm_up, measured).await?
        }
        Extent::Instances { warm_up, measured } => {
            spawn(&engine, in_flight, &tickets(warm_up)).all().await?;
            let (from, before) = (Instant::now(), Counts::now(&store));
            let samples = spawn(&engine, in_flight, &tickets(measured)).all().await?;
            let window = Window { from, to: Instant::now(), before, after: Counts::now(&store) };
            (window, samples)
        }
    };
    engine.shutdown().await;
    store.close().await?;
    Ok(report(&window, samples))
}

async fn for_a_time(
    engine: &Engine,
    store: &SqliteStore,
    in_flight: usize,
    warm_up: Duration,
    measured: Duration,
) -> Result<(Window, Vec<Sample>), Error> {
    let tickets = tickets(usize::MAX);
    let clients = spawn(engine, in_flight, &tickets);
    tokio::time::sleep(warm_up).await;
    let (from, before) = (Instant::now(), Counts::now(store));
    tokio::time::sleep(measured).await;
    let (to, after) = (Instant::now(), Counts::now(store));
    tickets.revoke();
    let samples = clients.all().await?;
    Ok((Window { from, to, before, after }, samples))
}

fn tickets(count: usize) -> Arc<Tickets> {
    Arc::new(Tickets(AtomicUsize::new(count)))
}

struct Clients(JoinSet<Result<Vec<Sample>, Error>>);

impl Clients {
    async fn all(self) -> Result<Vec<Sample>, Error> {
        let each = self.0.join_all().await;
        each.into_iter().try_fold(Vec::new(), |mut all, one| {
            all.append(&mut one?);
            Ok(all)
        })
    }
}

fn spawn(engine: &Engine, in_flight: usize, tickets: &Arc<Tickets>) -> Clients {
    let client = || client(engine.clone(), Arc::clone(tickets));
    Clients(std::iter::repeat_with(client).take(in_flight).collect())
}

async fn client(engine: Engine, tickets: Arc<Tickets>) -> Result<Vec<Sample>, Error> {
    let mut samples = Vec::new();
    while tickets.take() {
        let began = Instant::now();
        let handle = engine.start("five", Start::new(&())).await?;
        let sum: u32 = handle.result().await?;
        if sum != 5 {
            return Err(Error::Unexpected(format!("five steps of 1 came to {sum}")));
        }
        let ended = Instant::now();
        samples.push(Sample { ended, took: ended - began });
    }
    Ok(samples)
}

fn report(window: &Window, samples: Vec<Sample>) -> Vec<Reading> {
    let seconds = (window.to - window.from).as_secs_f64();
    let counted = samples.into_iter().filter(|s| s.ended >= window.from && s.ended <= window.to);
    let took = Samples::of_ms(counted.map(|sample| sample.took));
    let instances = Reading::count("instances", took.len()).value;
    let commits =
        u32::try_from(window.after.store.commits - window.before.store.commits).unwrap_or(u32::MAX);
    let commits = f64::from(commits);
    let mut readings = vec![
        Reading::new("stepsPerSecond", STEPS * instances / seconds, Unit::PerSecond),
        Reading::new("instancesPerSecond", instances / seconds, Unit::PerSecond),
        Reading::new("latencyP50", took.percentile(50), Unit::Ms),
        Reading::new("latencyP99", took.percentile(99), Unit::Ms),
        Reading::new("commitsPerSecond", commits / seconds, Unit::CommitsPerSecond),
        Reading::new("stepsPerCommit", STEPS * instances / commits.max(1.0), Unit::Number),
    ];
    if let (Some(before), Some(after)) = (window.before.processor, window.after.processor) {
        let micros = (after - before).as_secs_f64() * 1e6;
        readings.push(Reading::new("cpuPerStep", micros / (STEPS * instances), Unit::CpuMicros));
    }
    readings.extend(Reading::peak_memory());
    readings
}
