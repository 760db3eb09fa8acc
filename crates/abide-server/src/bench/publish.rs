//! Events published among very many instances that have left memory, one of which wants each: one
//! event after the other, and from many publishers at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use abide::{Engine, InstanceId, Start};
use abide_sqlite::SqliteStore;

use crate::error::Error;

use super::fill::fill;
use super::index::SPREAD;
use super::listed;
use super::load::{self, Load};
use super::probe::Extent;
use super::reading::{Reading, Unit};
use super::residents;
use super::samples::Samples;
use super::subscriber::{self, Mix, SCANNER, SUBSCRIBER, scanner};
use super::waiter::leaving_at_once;

/// Publishers at once.
const IN_FLIGHT: usize = 64;

/// How many events to publish.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    warm_up: usize,
    alone: usize,
    together: usize,
}

impl Sizes {
    /// For so many events by publishers at once.
    fn of(together: usize) -> Self {
        Self { warm_up: together.div_ceil(10), alone: together.div_ceil(20), together }
    }

    fn all(self) -> usize {
        2 * self.warm_up + self.alone + self.together
    }
}

/// Instances that wait, and which of them are next.
struct Crowd {
    engine: Engine,
    size: usize,
    taken: AtomicUsize,
}

impl Crowd {
    /// Publishes an event for one that nobody has published for, which may go on.
    async fn publish(&self) -> Result<(InstanceId, Duration), Error> {
        let turn = self.taken.fetch_add(1, Ordering::Relaxed);
        let number = turn.wrapping_mul(SPREAD) % self.size;
        let body = subscriber::event(&subscriber::order(number));
        let began = Instant::now();
        let verdict = self.engine.publish(subscriber::read(&body)?).await?;
        let took = began.elapsed();
        if verdict.matched_count != 1 {
            return Err(Error::Unexpected(format!("one should have wanted it: {verdict:?}")));
        }
        Ok((InstanceId::new(subscriber::id(number))?, took))
    }

    /// Publishes an event and waits for what comes of it: how long it took to be accepted, and
    /// until its instance had completed.
    async fn publish_alone(&self) -> Result<(Duration, Duration), Error> {
        let began = Instant::now();
        let (id, accepted) = self.publish().await?;
        self.engine.get(&id).result::<()>().await?;
        Ok((accepted, began.elapsed()))
    }
}

/// Publishes among so many that wait, and more: at the end there are still so many.
pub(crate) async fn measure(
    file: &Path,
    waiting: usize,
    mix: Mix,
    events: usize,
) -> Result<Vec<Reading>, Error> {
    let sizes = Sizes::of(events);
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow(SUBSCRIBER, subscriber::subscriber)
        .workflow(SCANNER, scanner)
        .configure(leaving_at_once)
        .start()
        .await?;
    let scanners = mix.scanners(waiting);
    let size = waiting - scanners + sizes.all();
    fill(&engine, SCANNER, scanners, |number| Start::new(&number)).await?;
    fill(&engine, SUBSCRIBER, size, subscriber::start).await?;
    residents::until(&engine, 0).await?;
    let crowd = Arc::new(Crowd { engine: engine.clone(), size, taken: AtomicUsize::new(0) });
    let (mut accepted, mut completed) = (Vec::new(), Vec::new());
    for turn in 0..sizes.warm_up + sizes.alone {
        let (one, other) = crowd.publish_alone().await?;
        if turn >= sizes.warm_up {
            accepted.push(one);
            completed.push(other);
        }
    }
    let extent = Extent::Instances { warm_up: sizes.warm_up, measured: sizes.together };
    let publishers = Arc::clone(&crowd);
    let load = load::measure(Some(&store), IN_FLIGHT, extent, move || {
        let publisher = Arc::clone(&publishers);
        async move { Ok(publisher.publish().await?.1) }
    })
    .await?;
    residents::until(&engine, 0).await?;
    // Each event had its one instance complete, or the figures are worth nothing.
    listed::check_completed(&engine, sizes.all()).await?;
    engine.shutdown().await;
    store.close().await?;
    Ok(report(&Samples::of_ms(accepted), &Samples::of_ms(completed), &load))
}

fn report(accepted: &Samples, completed: &Samples, load: &Load) -> Vec<Reading> {
    let mut readings = vec![
        Reading::new("publishP50", accepted.percentile(50), Unit::Ms),
        Reading::new("publishP99", accepted.percentile(99), Unit::Ms),
        Reading::new("completedP50", completed.percentile(50), Unit::Ms),
        Reading::new("completedP99", completed.percentile(99), Unit::Ms),
        Reading::new("eventsPerSecond", load.per_second(), Unit::PerSecond),
        Reading::new("latencyP50", load.took.percentile(50), Unit::Ms),
        Reading::new("latencyP99", load.took.percentile(99), Unit::Ms),
        Reading::new("eventsPerCommit", load.per_commit(), Unit::Number),
    ];
    let cpu = load.cpu_micros_each();
    readings.extend(cpu.map(|each| Reading::new("cpuPerEvent", each, Unit::CpuMicros)));
    readings.extend(Reading::peak_memory());
    readings
}
