//! What this machine can do, measured on plain SQLite with the durability that Abide promises.
//!
//! Both run on one thread against a WAL that has grown already: the first pages of a new WAL cost
//! more, because the file system has to record its new size with every sync.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use serde::Serialize;

use crate::error::Error;

use super::reading::{Reading, Unit};
use super::samples::Samples;

/// About what one step of a workflow leaves behind.
const ROW_BYTES: usize = 150;

/// Rows in one transaction of the second yardstick.
const BATCH: usize = 100;

/// More than the 1 000 pages after which SQLite begins the WAL again from its start.
const ROWS_TO_GROW: usize = 40_000;

const INSERT: &str = "INSERT INTO yardstick (body) VALUES (?1)";

/// See the module.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Yardsticks {
    /// How long one commit of one row takes.
    pub(crate) commit_p50_ms: f64,
    /// How many rows go in at 100 a transaction.
    pub(crate) rows_per_second: f64,
}

impl Yardsticks {
    /// From what the measuring process told.
    pub(crate) fn from_readings(readings: &[Reading]) -> Result<Self, Error> {
        let find = |name: &str| {
            let found = readings.iter().find(|reading| reading.name == name);
            found.map(|reading| reading.value).ok_or_else(|| {
                Error::Unexpected(format!("the yardsticks were measured without {name}"))
            })
        };
        Ok(Self { commit_p50_ms: find("commitP50Ms")?, rows_per_second: find("rowsPerSecond")? })
    }
}

/// Measures each yardstick for so long, in a new database.
pub(crate) fn measure(file: &Path, lasting: Duration) -> Result<Vec<Reading>, Error> {
    let mut database = Connection::open(file)?;
    database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.execute_batch(
        "CREATE TABLE yardstick (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT",
    )?;
    let body = "x".repeat(ROW_BYTES);
    insert(&mut database, &body, ROWS_TO_GROW)?;
    let commits = repeat(lasting, || insert(&mut database, &body, 1))?;
    let began = Instant::now();
    let batches = repeat(lasting, || insert(&mut database, &body, BATCH))?;
    let rows = Reading::count("rows", batches.len() * BATCH).value;
    Ok(vec![
        Reading::new("commitP50Ms", commits.percentile(50), Unit::Ms),
        Reading::new("rowsPerSecond", rows / began.elapsed().as_secs_f64(), Unit::PerSecond),
    ])
}

fn repeat(
    lasting: Duration,
    mut act: impl FnMut() -> rusqlite::Result<()>,
) -> rusqlite::Result<Samples> {
    let began = Instant::now();
    let mut took = Vec::new();
    while began.elapsed() < lasting {
        let one = Instant::now();
        act()?;
        took.push(one.elapsed());
    }
    Ok(Samples::of_ms(took))
}

fn insert(database: &mut Connection, body: &str, rows: usize) -> rusqlite::Result<()> {
    let transaction = database.transaction()?;
    {
        let mut statement = transaction.prepare_cached(INSERT)?;
        for _ in 0..rows {
            statement.execute(params![body])?;
        }
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batching_rows_beats_one_commit_each() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("yardstick.db");
        let readings = measure(&file, Duration::from_millis(100)).unwrap();
        let yardsticks = Yardsticks::from_readings(&readings).unwrap();
        assert!(yardsticks.commit_p50_ms > 0.0);
        assert!(yardsticks.rows_per_second > 1000.0 / yardsticks.commit_p50_ms);
    }

    #[test]
    fn a_missing_yardstick_is_named() {
        let error = Yardsticks::from_readings(&[]).unwrap_err().to_string();
        assert!(error.contains("commitP50Ms"), "{error}");
    }
}
