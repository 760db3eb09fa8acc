//! Something that happens to very many instances at once, and what others feel of it.
//!
//! Instances of five steps run before and meanwhile; from one of their steps to the next is one
//! commit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use abide::{Cx, Engine, Filter, Page, Start, Status};
use tokio::sync::Notify;

use crate::error::Error;

use super::load::Clients;
use super::memory::Memory;
use super::reading::{Reading, Unit};
use super::samples::Samples;

/// The workflow of the others.
pub(crate) const FIVE: &str = "five";

/// Instances of five steps at once.
const OTHERS: usize = 16;

/// How long the others run before they count.
pub(crate) const WARM_UP: Duration = Duration::from_secs(1);

/// How long a storm may last, and a step may take to be stored.
const PATIENCE: Duration = Duration::from_secs(120);

/// Those to whom it happens.
pub(crate) struct Crowd {
    left: AtomicUsize,
    gone: Notify,
}

impl Crowd {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(count), gone: Notify::new() })
    }

    /// It happened to one of them.
    pub(crate) fn leave(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.gone.notify_one();
        }
    }

    /// Waits until the code of all has gone on, and then until that is stored.
    pub(crate) async fn gone(&self, engine: &Engine, workflow: &str) -> Result<(), Error> {
        let open = Filter {
            workflow: Some(workflow.to_owned()),
            status: vec![Status::Waiting, Status::Running],
            ..Filter::default()
        };
        let first = Page { limit: 1, before: None };
        let stored = async {
            self.gone.notified().await;
            while !engine.list(open.clone(), first).await?.instances.is_empty() {
                look_later().await;
            }
            Ok(())
        };
        tokio::time::timeout(PATIENCE, stored).await.unwrap_or_else(|_| {
            let left = self.left.load(Ordering::Relaxed);
            Err(Error::Unexpected(format!("nothing happened to {left} instances")))
        })
    }
}

/// How long steps of the others took to be stored.
#[derive(Default)]
pub(crate) struct Steps(Mutex<Vec<Duration>>);

impl Steps {
    /// A step runs: the one before it is stored by now.
    fn mark(&self, last: &Mutex<Option<Instant>>) {
        let now = Instant::now();
        let last = last.lock().unwrap_or_else(PoisonError::into_inner).replace(now);
        if let Some(last) = last {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(now - last);
        }
    }

    fn take(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was seen since the last look, and at least one: a step on its way counts.
    async fn take_some(&self) -> Result<Samples, Error> {
        let began = Instant::now();
        loop {
            let taken = self.take();
            if !taken.is_empty() {
                return Ok(Samples::of_ms(taken));
            }
            if began.elapsed() > PATIENCE {
                return Err(Error::Unexpected("no step of the others was stored".to_owned()));
            }
            look_later().await;
        }
    }
}

pub(crate) async fn five(cx: Cx, steps: Arc<Steps>) -> abide::Result<()> {
    let last = Mutex::new(None);
    for name in ["a", "b", "c", "d", "e"] {
        cx.step(name, || async {
            steps.mark(&last);
            Ok::<_, abide::Error>(())
        })
        .await?;
    }
    Ok(())
}

/// What others felt, and how long the storm lasted.
pub(crate) struct Felt {
    calm: Samples,
    storm: Samples,
    took: Duration,
    peak: Option<Reading>,
}

/// Looks at the steps of others until it is no longer calm, and until the storm is over.
pub(crate) async fn watch(
    engine: &Engine,
    steps: &Steps,
    calm: impl Future<Output = Result<(), Error>>,
    storm: impl Future<Output = Result<(), Error>>,
) -> Result<Felt, Error> {
    let others = engine.clone();
    let others = Clients::spawn(OTHERS, move || run_five(others.clone()));
    tokio::time::sleep(WARM_UP).await;
    drop(steps.take());
    calm.await?;
    let calm = steps.take_some().await?;
    Memory::forget_peak();
    let began = Instant::now();
    storm.await?;
    let took = began.elapsed();
    let peak = Reading::peak_memory();
    let storm = steps.take_some().await?;
    others.stop().await?;
    Ok(Felt { calm, storm, took, peak })
}

async fn run_five(engine: Engine) -> Result<Duration, Error> {
    let began = Instant::now();
    engine.start(FIVE, Start::new(&())).await?.result::<()>().await?;
    Ok(began.elapsed())
}

async fn look_later() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

impl Felt {
    /// With the names of how long it took for all, and of how many that is a second.
    pub(crate) fn report(self, count: usize, all: &str, per_second: &str) -> Vec<Reading> {
        let Self { calm, storm, took, peak } = self;
        let seconds = took.as_secs_f64();
        let rate = Reading::count("all", count).value / seconds;
        let mut readings = vec![
            Reading::new("stepP50Idle", calm.percentile(50), Unit::Ms),
            Reading::new("stepP99Idle", calm.percentile(99), Unit::Ms),
            Reading::new("stepP50Storm", storm.percentile(50), Unit::Ms),
            Reading::new("stepP99Storm", storm.percentile(99), Unit::Ms),
            Reading::new("slowdown", storm.percentile(99) / calm.percentile(99), Unit::Number),
            Reading::new(all, seconds * 1e3, Unit::Ms),
            Reading::new(per_second, rate, Unit::PerSecond),
        ];
        readings.extend(peak);
        readings
    }
}
