//! Clients that do the same thing again and again, for a time or so many times.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use abide_sqlite::{SqliteStore, Stats};
use tokio::task::JoinSet;

use crate::error::Error;

use super::probe::Extent;
use super::processor;
use super::reading::Reading;
use super::samples::Samples;

/// What clients did in the stretch of time that counts.
pub(crate) struct Load {
    /// How long each thing took.
    pub(crate) took: Samples,
    seconds: f64,
    commits: f64,
    processor: Option<Duration>,
}

impl Load {
    /// How many were done.
    fn count(&self) -> f64 {
        Reading::count("done", self.took.len()).value
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.count() / self.seconds
    }

    pub(crate) fn commits_per_second(&self) -> f64 {
        self.commits / self.seconds
    }

    pub(crate) fn per_commit(&self) -> f64 {
        self.count() / self.commits.max(1.0)
    }

    /// Processor time of the whole process, where it can be read.
    pub(crate) fn cpu_micros_each(&self) -> Option<f64> {
        self.processor.map(|used| used.as_secs_f64() * 1e6 / self.count())
    }
}

/// The turns that clients may still take.
struct Tickets(AtomicUsize);

impl Tickets {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(count)))
    }

    fn take(&self) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok()
    }

    fn revoke(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// One thing done.
struct Sample {
    ended: Instant,
    took: Duration,
}

/// A moment, and what was used up by then.
struct Mark {
    at: Instant,
    store: Option<Stats>,
    processor: Option<Duration>,
}

impl Mark {
    fn now(store: Option<&SqliteStore>) -> Self {
        let store = store.map(SqliteStore::stats);
        Self { at: Instant::now(), store, processor: processor::used() }
    }
}

/// Clients at work.
pub(crate) struct Clients {
    tickets: Arc<Tickets>,
    each: JoinSet<Result<Vec<Sample>, Error>>,
}

impl Clients {
    /// So many clients that `act` until they are stopped. What they do answers how long the part
    /// of it took that counts.
    pub(crate) fn spawn<A, F>(in_flight: usize, act: A) -> Self
    where
        A: Fn() -> F + Clone + Send + 'static,
        F: Future<Output = Result<Duration, Error>> + Send + 'static,
    {
        Self::with(Tickets::new(usize::MAX), in_flight, act)
    }

    fn with<A, F>(tickets: Arc<Tickets>, in_flight: usize, act: A) -> Self
    where
        A: Fn() -> F + Clone + Send + 'static,
        F: Future<Output = Result<Duration, Error>> + Send + 'static,
    {
        let client = || client(Arc::clone(&tickets), act.clone());
        let each = std::iter::repeat_with(client).take(in_flight).collect();
        Self { tickets, each }
    }

    /// Lets everybody finish what they are about.
    pub(crate) async fn stop(self) -> Result<(), Error> {
        self.tickets.revoke();
        self.all().await.map(drop)
    }

    async fn all(self) -> Result<Vec<Sample>, Error> {
        let each = self.each.join_all().await;
        each.into_iter().try_fold(Vec::new(), |mut all, one| {
            all.append(&mut one?);
            Ok(all)
        })
    }
}

async fn client<A, F>(tickets: Arc<Tickets>, act: A) -> Result<Vec<Sample>, Error>
where
    A: Fn() -> F,
    F: Future<Output = Result<Duration, Error>>,
{
    let mut samples = Vec::new();
    while tickets.take() {
        let took = act().await?;
        samples.push(Sample { ended: Instant::now(), took });
    }
    Ok(samples)
}

/// Has so many clients `act`, and tells what came of it once they have warmed up. Commits are counted of
/// a store in this process.
pub(crate) async fn measure<A, F>(
    store: Option<&SqliteStore>,
    in_flight: usize,
    extent: Extent,
    act: A,
) -> Result<Load, Error>
where
    A: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Result<Duration, Error>> + Send + 'static,
{
    let (before, after, samples) = match extent {
        Extent::Time { warm_up, measured } => {
            let clients = Clients::spawn(in_flight, act);
            tokio::time::sleep(warm_up).await;
            let before = Mark::now(store);
            tokio::time::sleep(measured).await;
            let after = Mark::now(store);
            clients.tickets.revoke();
            (before, after, clients.all().await?)
        }
        Extent::Instances { warm_up, measured } => {
            Clients::with(Tickets::new(warm_up), in_flight, act.clone()).all().await?;
            let before = Mark::now(store);
            let samples = Clients::with(Tickets::new(measured), in_flight, act).all().await?;
            (before, Mark::now(store), samples)
        }
    };
    Ok(between(&before, &after, samples))
}

fn between(before: &Mark, after: &Mark, samples: Vec<Sample>) -> Load {
    let counted = samples.into_iter().filter(|s| s.ended >= before.at && s.ended <= after.at);
    let made = after.store.as_ref().zip(before.store.as_ref());
    let made = made.map_or(0, |(after, before)| after.commits - before.commits);
    let commits = u32::try_from(made).unwrap_or(u32::MAX);
    Load {
        took: Samples::of_ms(counted.map(|sample| sample.took)),
        seconds: (after.at - before.at).as_secs_f64(),
        commits: f64::from(commits),
        processor: after.processor.zip(before.processor).map(|(after, before)| after - before),
    }
}
