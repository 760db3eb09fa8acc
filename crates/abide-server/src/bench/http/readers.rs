//! Readers of streams: how soon they hear, and what they cost while there is nothing to hear.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abide::Timestamp;
use serde_json::Value;
use tokio::task::JoinSet;

use super::client::Client;
use super::server::Served;
use crate::error::Error;

use super::super::reading::{Reading, Unit};
use super::super::samples::Samples;

/// How long between two events that readers shall hear of.
const PAUSE: Duration = Duration::from_millis(5);

/// From the moment that an entry has, which is before its commit, until a reader has it.
pub(crate) async fn delay(
    file: &Path,
    readers: usize,
    rounds: usize,
) -> Result<Vec<Reading>, Error> {
    let served = Served::spawn(file).await?;
    let mut client = Client::connect(served.address()).await?;
    let mut watching = JoinSet::new();
    let mut ids = Vec::new();
    for nth in 0..readers {
        let id = format!("watched-{nth}");
        let body = format!("{{\"id\":{id:?},\"input\":null}}");
        client.post("/v1/workflows/waiter/instances", &body).await?;
        let mut reader = Client::connect(served.address()).await?;
        reader.subscribe(&format!("/v1/instances/{id}/stream")).await?;
        watching.spawn(heard(reader));
        ids.push(id);
    }
    for round in 0..rounds {
        // Kept for later: the instance stays as it is, its history grows.
        let id = &ids[round % ids.len()];
        client.post(&format!("/v1/instances/{id}/signals/s"), "{}").await?;
        tokio::time::sleep(PAUSE).await;
    }
    for id in &ids {
        client.post(&format!("/v1/instances/{id}/terminate"), "{}").await?;
    }
    let mut all = Vec::new();
    for one in watching.join_all().await {
        all.append(&mut one?);
    }
    served.stop().await?;
    if all.len() < rounds {
        return Err(Error::Unexpected(format!("{} of {rounds} were heard", all.len())));
    }
    let delays = Samples::of_ms(all);
    Ok(vec![
        Reading::new("delayP50", delays.percentile(50), Unit::Ms),
        Reading::new("delayP99", delays.percentile(99), Unit::Ms),
    ])
}

/// How long everything that was received took, until the stream ends.
async fn heard(mut reader: Client) -> Result<Vec<Duration>, Error> {
    let mut delays = Vec::new();
    loop {
        let line = reader.line().await?;
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let entry: Value = serde_json::from_str(data)?;
        match entry["type"].as_str() {
            Some("execution_complete") => return Ok(delays),
            Some("event.received") => {
                let at: Timestamp = entry["time"].as_str().unwrap_or_default().parse()?;
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let now = Timestamp(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
                delays.push(now.since(at));
            }
            _ => {}
        }
    }
}

/// What a server costs that does nothing, and what each reader adds that hears nothing.
pub(crate) async fn idle(file: &Path, readers: usize) -> Result<Vec<Reading>, Error> {
    // The first makes the database.
    Served::spawn(file).await?.stop().await?;
    let served = Served::spawn(file).await?;
    let ready = served.ready_in();
    let mut client = Client::connect(served.address()).await?;
    client.post("/v1/workflows/waiter/instances", "{\"id\":\"w\",\"input\":null}").await?;
    let before = served.memory().await?;
    let mut reading = Vec::with_capacity(readers);
    for _ in 0..readers {
        let mut reader = Client::connect(served.address()).await?;
        reader.subscribe("/v1/instances/w/stream").await?;
        reading.push(reader);
    }
    let after = served.memory().await?;
    // Everybody is still there and hears of the end.
    client.post("/v1/instances/w/events", "{\"type\":\"go\",\"payload\":1}").await?;
    for reader in &mut reading {
        while !reader.line().await?.contains("execution_complete") {}
    }
    served.stop().await?;
    Ok(vec![
        Reading::new("ready", ready.as_secs_f64() * 1e3, Unit::Ms),
        Reading::bytes("idleRss", before.resident),
        Reading::bytes_each("bytesEach", before, after, readers),
    ])
}
