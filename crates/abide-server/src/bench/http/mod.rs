//! The same through the API: clients that keep their connections, in another process than the server.

mod client;
mod readers;
mod server;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::Error;

use super::load::{self, Load};
use super::probe::Extent;
use super::reading::{Reading, Unit};
use super::{events, steps};
use client::Pool;

pub(crate) use readers::{delay, idle};
pub(crate) use server::{Served, serve};

/// What clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Work {
    /// Start an instance of five steps and wait for its end.
    Steps,
    /// Start an instance, send it an event, wait for its end.
    Events,
}

/// Measures the engine alone, then the same through the API.
pub(crate) async fn measure(
    file: &Path,
    work: Work,
    in_flight: usize,
    extent: Extent,
) -> Result<Vec<Reading>, Error> {
    let embedded = match work {
        Work::Steps => steps::measure(file, in_flight, extent).await?,
        Work::Events => events::measure(file, in_flight, extent).await?,
    };
    let rate = match work {
        Work::Steps => "instancesPerSecond",
        Work::Events => "eventsPerSecond",
    };
    let found = embedded.iter().find(|reading| reading.name == rate);
    let embedded = found.map_or(f64::NAN, |reading| reading.value);
    let served = Served::spawn(file).await?;
    let pool = Pool::new(served.address());
    let load = load::measure(None, in_flight, extent, move || one(pool.clone(), work)).await?;
    served.stop().await?;
    Ok(report(&load, embedded))
}

/// One instance, from the request to its end.
async fn one(pool: Pool, work: Work) -> Result<Duration, Error> {
    let mut client = pool.take().await?;
    let took = match work {
        Work::Steps => {
            let began = Instant::now();
            let path = "/v1/workflows/five/instances?settle=30s";
            completed(&client.post(path, "{\"input\":null}").await?)?;
            began.elapsed()
        }
        Work::Events => {
            let started = client.post("/v1/workflows/waiter/instances", "{\"input\":null}").await?;
            let id = started["id"].as_str().unwrap_or_default().to_owned();
            let began = Instant::now();
            let path = format!("/v1/instances/{id}/events?settle=30s");
            completed(&client.post(&path, "{\"type\":\"go\",\"payload\":1}").await?)?;
            began.elapsed()
        }
    };
    pool.give(client);
    Ok(took)
}

fn completed(answer: &Value) -> Result<(), Error> {
    match answer["status"].as_str() {
        Some("completed") => Ok(()),
        _ => Err(Error::Unexpected(format!("the instance did not complete: {answer}"))),
    }
}

fn report(load: &Load, embedded: f64) -> Vec<Reading> {
    vec![
        Reading::new("ofEmbedded", load.per_second() / embedded, Unit::Number),
        Reading::new("instancesPerSecond", load.per_second(), Unit::PerSecond),
        Reading::new("embeddedPerSecond", embedded, Unit::PerSecond),
        Reading::new("latencyP50", load.took.percentile(50), Unit::Ms),
        Reading::new("latencyP99", load.took.percentile(99), Unit::Ms),
    ]
}
