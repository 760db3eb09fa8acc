//! How fast commits of one history row each are, by how many instances commit at a time.
//!
//! `cargo run --release -p abide-sqlite --example raw_commit [directory] [seconds]`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use abide::history::{Entries, Entry, EntryKind, StepKind};
use abide::store::{Commit, Committed, Epoch, IfExists, Started, Store};
use abide::{InstanceId, InstanceKey, Json, NewInstance, Result, Transition};
use abide_sqlite::SqliteStore;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let only: Option<usize> = arguments.next().and_then(|text| text.parse().ok());
    for in_flight in [1, 64, 256, 1024] {
        if only.is_none_or(|only| only == in_flight) {
            measure(&directory, in_flight, Duration::from_secs(seconds)).await?;
        }
    }
    Ok(())
}

async fn measure(directory: &std::path::Path, in_flight: usize, time: Duration) -> Result<()> {
    let path = directory.join(format!("raw_commit_{}.db", std::process::id()));
    let store = SqliteStore::open(&path).await?;
    let claims = start(&store, in_flight).await?;
    let (stop, rows) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (before, began) = (store.stats(), Instant::now());
    let tasks: Vec<_> = claims
        .into_iter()
        .map(|(key, epoch)| {
            let (store, stop, rows) = (store.clone(), Arc::clone(&stop), Arc::clone(&rows));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let commit = Commit { key, run: 1, epoch, transition: Arc::new(step()) };
                    match store.commit(commit).await {
                        Ok(Committed::Stored) => rows.fetch_add(1, Ordering::Relaxed),
                        other => return eprintln!("commit: {other:?}"),
                    };
                }
            })
        })
        .collect();
    tokio::time::sleep(time).await;
    let (took, stats) = (began.elapsed().as_secs_f64(), store.stats());
    let done = rows.load(Ordering::Relaxed);
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        drop(task.await);
    }
    println!(
        "{in_flight:5} in flight: {:9.0} rows/s, {:6.0} transactions/s",
        done as f64 / took,
        (stats.commits - before.commits) as f64 / took,
    );
    store.close().await?;
    for suffix in ["", ".lock"] {
        drop(std::fs::remove_file(format!("{}{suffix}", path.display())));
    }
    Ok(())
}

async fn start(store: &SqliteStore, count: usize) -> Result<Vec<(InstanceKey, Epoch)>> {
    let new = |n: usize| {
        Ok(NewInstance {
            id: InstanceId::new(format!("wf_{n}"))?,
            workflow: "bench".into(),
            version: 1,
            input: Json::null(),
            correlation_id: None,
            tags: vec![],
            start_at: None,
            timeout: None,
            first: None,
        })
    };
    let new = (0..count).map(new).collect::<Result<Vec<_>>>()?;
    let started = store.start(new, IfExists::Error).await?;
    Ok(started
        .into_iter()
        .filter_map(|started| match started {
            Started::Running { key, epoch, .. } => Some((key, epoch)),
            Started::Queued(_) | Started::Existing(_) => None,
        })
        .collect())
}

/// What finishing one step and beginning the next puts into the history.
fn step() -> Transition {
    let mut done = Entry::of_step(EntryKind::StepCompleted, &"charge card".into(), StepKind::Step);
    done.attempt = Some(1);
    done.payload = Json::encode(&42).ok();
    Transition { entries: Entries::of(&[done]), ..Transition::default() }
}
