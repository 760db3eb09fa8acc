//! The history of all instances, in the order of commits: one writer numbers its rows.

use std::sync::Arc;

use abide::{Error, InstanceId, InstanceKey, Status, Tail, TailRow};
use rusqlite::{Connection, Row, params};

use crate::failure::Trouble;
use crate::row::{recorded_of, shown, str_of};

/// At most `limit` rows after a row, and where they end. The end is looked up first: a row that
/// commits meanwhile is for the next time.
pub(crate) fn tail(connection: &Connection, after: i64, limit: usize) -> Result<Tail, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT max(coalesce((SELECT max(id) FROM history), 0),
                    coalesce((SELECT value FROM meta WHERE name = 'next_row'), 1) - 1)",
    )?;
    let head = select.query_row([], |row| row.get(0))?;
    let mut rows = Vec::new();
    if limit > 0 {
        let mut select = connection.prepare_cached(
            "SELECT h.entries, h.seq, h.run, h.at, h.id, h.instance, i.id, i.workflow, i.status
               FROM history h JOIN instances i ON i.key = h.instance
              WHERE h.id > ?1 AND h.id <= ?2 AND h.numbered > 0
              ORDER BY h.id LIMIT ?3",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut found = select.query(params![after, head, limit])?;
        while let Some(row) = found.next()? {
            rows.push(tail_row(row)?);
        }
    }
    Ok(Tail { rows, head })
}

fn tail_row(row: &Row<'_>) -> Result<TailRow, Trouble> {
    let key = InstanceKey(row.get(5)?);
    let corrupt =
        |refused: Error| Error::corrupt(format!("instance with key {}: {refused}", key.0));
    let recorded = shown(recorded_of(row, key)?);
    let id = InstanceId::new(str_of(row, 6)?).map_err(corrupt)?;
    let workflow: Arc<str> = str_of(row, 7)?.into();
    let status: Status = str_of(row, 8)?.parse().map_err(corrupt)?;
    Ok(TailRow { row: row.get(4)?, key, id, workflow, status, recorded })
}
