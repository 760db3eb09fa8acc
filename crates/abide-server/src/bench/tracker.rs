//! What a tracker costs whose sink hangs: the same steps without one and with it, by turns.

use std::path::Path;

use abide::Engine;
use abide_sqlite::SqliteStore;
use abide_tracker::{Tracker, TrackerConfig};
use tokio::net::TcpListener;

use crate::error::Error;

use super::load::{self, Load};
use super::probe::Extent;
use super::reading::{Reading, Unit};
use super::samples::Samples;
use super::steps;

/// How often each of the two has its turn.
const TURNS: u32 = 5;

/// Has both take turns and reports what they came to.
pub(crate) async fn measure(
    file: &Path,
    in_flight: usize,
    extent: Extent,
) -> Result<Vec<Reading>, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::io("loopback"))?;
    let address = listener.local_addr().map_err(Error::io("loopback"))?;
    let hanging = tokio::spawn(hang(listener));
    let store = SqliteStore::open(file).await?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        for (is_tracked, turns) in [(false, &mut without), (true, &mut with)] {
            let mut builder = Engine::builder(store.clone()).workflow("five", steps::five);
            if is_tracked {
                let config = TrackerConfig::new(format!("http://{address}/"), "token");
                let shutdown_timeout = std::time::Duration::from_millis(1);
                builder =
                    builder.observe(Tracker::new(TrackerConfig { shutdown_timeout, ..config })?);
            }
            let engine = builder.start().await?;
            let clients = engine.clone();
            let act = move || steps::one(clients.clone());
            turns.push(load::measure(Some(&store), in_flight, extent.part(TURNS), act).await?);
            engine.shutdown().await;
        }
    }
    hanging.abort();
    store.close().await?;
    Ok(report(&with, &without))
}

/// Accepts everybody and answers nobody.
async fn hang(listener: TcpListener) {
    let mut held = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        held.push(stream);
    }
}

fn report(with: &[Load], without: &[Load]) -> Vec<Reading> {
    let rate = |name, turns: &[Load]| {
        let each = turns.iter().map(|load| steps::STEPS * load.per_second());
        Reading::new(name, Samples::new(each).median(), Unit::PerSecond)
    };
    let turns = with.iter().zip(without);
    let shares = turns.map(|(with, without)| with.per_second() / without.per_second());
    let mut readings = vec![
        rate("stepsPerSecond", with),
        rate("untrackedPerSecond", without),
        Reading::new("ofUntracked", Samples::new(shares).median(), Unit::Number),
    ];
    readings.extend(Reading::peak_memory());
    readings
}
