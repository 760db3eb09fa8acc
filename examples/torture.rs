//! Something to kill: many instances of five steps each. Run it, `kill -9` it whenever you like,
//! run it again in the same directory until it says `done`; then compare `effects.log`, where every
//! step leaves a line, with the history.
//!
//! `cargo run -p abide-examples --bin torture -- DIRECTORY [INSTANCES]`

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use abide::prelude::*;
use abide_sqlite::SqliteStore;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// How many calls to `start` are under way at once.
const STARTERS: usize = 64;

/// Appends a line that survives the death of this process.
fn leave_a_trace(mut log: &File, instance: &InstanceId, step: &str) -> std::io::Result<String> {
    log.write_all(format!("{instance} {step}\n").as_bytes())?;
    Ok(step.to_owned())
}

fn effects_log(directory: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(directory.join("effects.log"))
}

async fn start(engine: &Engine, number: u32) -> Result<Handle> {
    let id = format!("t-{number}");
    let start = Start::new(&number).id(&id).if_exists(IfExists::Return);
    let handle = engine.start("five", start).await?;
    println!("accepted {id}");
    Ok(handle)
}

#[tokio::main]
async fn main() -> Result<(), abide::BoxError> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("usage: torture DIRECTORY [INSTANCES]")?);
    let instances: u32 = arguments.next().map_or(Ok(2000), |count| count.parse())?;

    let log = Arc::new(effects_log(&directory)?);
    let five = move |cx: Cx, number: u32| {
        let log = Arc::clone(&log);
        async move {
            let mut trail = String::new();
            for step in ["a", "b", "c", "d", "e"] {
                let id = cx.instance_id();
                trail += &cx.step(step, || async { leave_a_trace(&log, id, step) }).await?;
            }
            Ok::<_, Error>(format!("{number} {trail}"))
        }
    };
    let store = SqliteStore::open(directory.join("torture.db")).await?;
    let engine = Engine::builder(store)
        .workflow("five", five)
        // Killed on purpose, far more often than a step that brings its process down deserves.
        .configure(|config| config.step_max_interruptions = 1000)
        .start()
        .await?;

    let mut handles = Vec::new();
    let mut starting = FuturesUnordered::new();
    for number in 0..instances {
        if starting.len() == STARTERS
            && let Some(handle) = starting.next().await
        {
            handles.push(handle?);
        }
        starting.push(start(&engine, number));
    }
    while let Some(handle) = starting.next().await {
        handles.push(handle?);
    }
    for handle in handles {
        handle.result::<String>().await?;
    }
    println!("done");
    engine.shutdown().await;
    Ok(())
}
