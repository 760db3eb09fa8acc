//! Very many deadlines that pass at the same moment, and what others feel of it.
//!
//! Instances of five steps run before and meanwhile; from one of their steps to the next is one
//! commit.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use abide::{Cx, Engine, Filter, Page, Start, Status, Timestamp};
use abide_sqlite::SqliteStore;
use tokio::sync::Notify;

use crate::error::Error;

use super::fill::{fill, time_to_fill};
use super::load::Clients;
use super::reading::{Reading, Unit};
use super::residents;
use super::samples::Samples;
use super::waiter::leaving_at_once;
use super::wall::{never, now};

/// The workflow whose deadline passes.
const WAITER: &str = "waiter";

/// Instances of five steps at once.
const OTHERS: usize = 16;

/// How long the others run before they count.
const WARM_UP: Duration = Duration::from_secs(1);

/// For leaving memory, once all are started.
const CALM: Duration = Duration::from_secs(1);

/// How long deadlines may take to be noticed, and a step to be stored.
const PATIENCE: Duration = Duration::from_secs(120);

/// Those whose deadline passes.
struct Crowd {
    left: AtomicUsize,
    gone: Notify,
}

impl Crowd {
    fn leave(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.gone.notify_one();
        }
    }
}

async fn waiter(cx: Cx, until: Timestamp, crowd: Arc<Crowd>) -> abide::Result<()> {
    match cx.wait_for_event::<()>("what never comes").timeout_at(until).await {
        Err(abide::Error::EventTimeout { .. }) => crowd.leave(),
        other => drop(other?),
    }
    Ok(())
}

/// How long steps of the others took to be stored.
#[derive(Default)]
struct Steps(Mutex<Vec<Duration>>);

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

async fn five(cx: Cx, steps: Arc<Steps>) -> abide::Result<()> {
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

/// Has the deadlines pass, and looks at the steps of others before and meanwhile.
pub(crate) async fn measure(
    file: &Path,
    count: usize,
    idle: Duration,
) -> Result<Vec<Reading>, Error> {
    let crowd = Arc::new(Crowd { left: AtomicUsize::new(count), gone: Notify::new() });
    let steps = Arc::new(Steps::default());
    let (waiting, trying, stepping) = (Arc::clone(&crowd), Arc::clone(&crowd), Arc::clone(&steps));
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow(WAITER, move |cx: Cx, until| waiter(cx, until, Arc::clone(&waiting)))
        .workflow("trial", move |cx: Cx, until| waiter(cx, until, Arc::clone(&trying)))
        .workflow("five", move |cx: Cx, (): ()| five(cx, Arc::clone(&stepping)))
        .configure(leaving_at_once)
        .start()
        .await?;
    let filling = time_to_fill(&engine, "trial", count, || Start::new(&never())).await?;
    let due = now().after(filling + CALM + WARM_UP + idle);
    fill(&engine, WAITER, count, |_| Start::new(&due)).await?;
    residents::until(&engine, 0).await?;

    let others = engine.clone();
    let others = Clients::spawn(OTHERS, move || run_five(others.clone()));
    tokio::time::sleep(WARM_UP).await;
    drop(steps.take());
    let rest = until(due);
    if rest < idle {
        let message = "starting took longer than a trial promised; try again or with fewer";
        return Err(Error::Unexpected(message.to_owned()));
    }
    tokio::time::sleep(rest).await;
    let calm = steps.take_some().await?;
    let began = Instant::now();
    all_expired(&engine, &crowd).await?;
    let took = began.elapsed();
    let storm = steps.take_some().await?;
    others.stop().await?;
    engine.shutdown().await;
    store.close().await?;
    Ok(report(&calm, &storm, count, took))
}

async fn run_five(engine: Engine) -> Result<Duration, Error> {
    let began = Instant::now();
    engine.start("five", Start::new(&())).await?.result::<()>().await?;
    Ok(began.elapsed())
}

/// Waits until the code of all has gone on, and then until that is stored.
async fn all_expired(engine: &Engine, crowd: &Crowd) -> Result<(), Error> {
    let open = Filter {
        workflow: Some(WAITER.to_owned()),
        status: vec![Status::Waiting, Status::Running],
        ..Filter::default()
    };
    let stored = async {
        crowd.gone.notified().await;
        while !engine
            .list(open.clone(), Page { limit: 1, before: None })
            .await?
            .instances
            .is_empty()
        {
            look_later().await;
        }
        Ok(())
    };
    tokio::time::timeout(PATIENCE, stored).await.unwrap_or_else(|_| {
        let left = crowd.left.load(Ordering::Relaxed);
        Err(Error::Unexpected(format!("{left} deadlines passed without notice")))
    })
}

async fn look_later() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn report(calm: &Samples, storm: &Samples, count: usize, took: Duration) -> Vec<Reading> {
    let seconds = took.as_secs_f64();
    let slowdown = storm.percentile(99) / calm.percentile(99);
    let mut readings = vec![
        Reading::new("stepP50Idle", calm.percentile(50), Unit::Ms),
        Reading::new("stepP99Idle", calm.percentile(99), Unit::Ms),
        Reading::new("stepP50Storm", storm.percentile(50), Unit::Ms),
        Reading::new("stepP99Storm", storm.percentile(99), Unit::Ms),
        Reading::new("slowdown", slowdown, Unit::Number),
        Reading::new("allExpired", seconds * 1e3, Unit::Ms),
        Reading::new(
            "expiredPerSecond",
            Reading::count("expired", count).value / seconds,
            Unit::PerSecond,
        ),
    ];
    readings.extend(Reading::peak_memory());
    readings
}

fn until(due: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(due.0 - now().0).unwrap_or(0))
}
