//! How fast commits of one history row each are, by how many instances commit at a time.
//!
//! Each task starts an instance, commits its steps one after the other, each awaited, ends it with
//! the last, and goes on with the next instance.
//!
//! `cargo run --release -p abide-sqlite --example raw_commit [steps] [seconds] [in flight]`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use abide::history::{Entries, Entry, EntryKind, StepKind};
use abide::store::{Commit, Committed, IfExists, Started, Store};
use abide::{End, Error, InstanceId, Json, NewInstance, Result, Transition};
use abide_sqlite::SqliteStore;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().ok());
    let steps = arguments.next().flatten().unwrap_or(100);
    let seconds = arguments.next().flatten().unwrap_or(3);
    let only = arguments.next().flatten();
    for in_flight in [1, 64, 256, 1024] {
        if only.is_none_or(|only| only == in_flight) {
            measure(steps, in_flight, Duration::from_secs(seconds as u64)).await?;
        }
    }
    Ok(())
}

/// What the tasks of one measurement share.
struct Load {
    store: SqliteStore,
    steps: usize,
    started: AtomicU64,
    committed: AtomicU64,
    stop: AtomicBool,
}

async fn measure(steps: usize, in_flight: usize, time: Duration) -> Result<()> {
    let load = Arc::new(Load {
        store: SqliteStore::open_temporary().await?,
        steps,
        started: AtomicU64::new(0),
        committed: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    });
    let began = Instant::now();
    let tasks: Vec<_> = (0..in_flight)
        .map(|_| {
            let load = Arc::clone(&load);
            tokio::spawn(async move { load.run().await })
        })
        .collect();
    tokio::time::sleep(time).await;
    let (took, stats) = (began.elapsed().as_secs_f64(), load.store.stats());
    let committed = load.committed.load(Ordering::Relaxed);
    load.stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap_or(Err(Error::ShutDown))?;
    }
    println!(
        "{in_flight:5} in flight, {steps} steps: {:8.0} commits/s in {:5.0} transactions/s",
        committed as f64 / took,
        stats.commits as f64 / took,
    );
    Ok(())
}

impl Load {
    async fn run(&self) -> Result<()> {
        loop {
            let n = self.started.fetch_add(1, Ordering::Relaxed);
            let started = self.store.start(vec![new(n)?], IfExists::Error).await?;
            let [Started::Running { key, epoch, .. }] = started[..] else {
                return Err(Error::ShutDown);
            };
            for nth in 1..=self.steps {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let transition = Arc::new(step(nth == self.steps));
                let commit = Commit { key, run: 1, epoch, heard: i64::MAX, transition };
                if self.store.commit(commit).await? == Committed::Fenced {
                    return Err(Error::ShutDown);
                }
                self.committed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn new(n: u64) -> Result<NewInstance> {
    Ok(NewInstance {
        id: InstanceId::new(format!("wf_{n:012}"))?,
        workflow: "bench".into(),
        version: 1,
        input: Json::null(),
        correlation_id: None,
        tags: vec![],
        start_at: None,
        timeout: None,
        consumes: None,
        trace: None,
        first: None,
    })
}

/// What finishing one step puts into the history.
fn step(last: bool) -> Transition {
    let mut done = Entry::of_step(EntryKind::StepCompleted, &"charge card".into(), StepKind::Step);
    done.attempt = Some(1);
    done.payload = Json::encode(&42).ok();
    let end = last.then(|| End::Completed(Json::null()));
    Transition { entries: Entries::of(&[done]), end, ..Transition::default() }
}
