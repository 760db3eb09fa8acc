//! Reading what streaming steps gave so far.

use abide::{Chunk, ChunkFilter, InstanceKey, StreamPosition};
use rusqlite::{Connection, Row, params};

use crate::failure::Trouble;

/// Chunks of an instance.
pub(crate) fn chunks(
    connection: &Connection,
    key: InstanceKey,
    filter: &ChunkFilter,
    limit: usize,
) -> Result<Vec<Chunk>, Trouble> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    match filter {
        ChunkFilter::Step { step, from } => {
            let mut select = connection.prepare_cached(
                "SELECT key, step, run, attempt, nth, data FROM chunks
                  WHERE instance = ?1 AND step = ?2 AND (run, attempt, nth) >= (?3, ?4, ?5)
                  ORDER BY run, attempt, nth LIMIT ?6",
            )?;
            let StreamPosition { run, attempt, index } = from;
            let place = params![key.0, &**step, run, attempt, index, limit];
            Ok(select.query_map(place, chunk)?.collect::<rusqlite::Result<_>>()?)
        }
        ChunkFilter::All { after } => {
            let mut select = connection.prepare_cached(
                "SELECT key, step, run, attempt, nth, data FROM chunks
                  WHERE instance = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
            )?;
            let place = params![key.0, after, limit];
            Ok(select.query_map(place, chunk)?.collect::<rusqlite::Result<_>>()?)
        }
    }
}

fn chunk(row: &Row<'_>) -> rusqlite::Result<Chunk> {
    let step: String = row.get(1)?;
    let position = StreamPosition { run: row.get(2)?, attempt: row.get(3)?, index: row.get(4)? };
    let bytes: Vec<u8> = row.get(5)?;
    Ok(Chunk { row: row.get(0)?, step: step.into(), position, bytes: bytes.into() })
}
