//! What instances accepted, as it is stored.

use abide::{Buffered, Error, InstanceId, InstanceKey, Json, Timestamp};
use rusqlite::{Connection, Params, Row};

use crate::failure::Trouble;

/// A query of whole entries, followed by what selects them.
macro_rules! select_inbox {
    ($($rest:literal),*) => {
        concat!(
            "SELECT key, id, kind, name, payload, received_at, visible_at, source, buffer
               FROM inbox ",
            $($rest),*
        )
    };
}
pub(crate) use select_inbox;

/// Reads a row of [`select_inbox`].
pub(crate) fn buffered(row: &Row<'_>) -> Result<Buffered, Trouble> {
    let key: i64 = row.get(0)?;
    let of = |what: &str, refused: &Error| {
        Error::corrupt(format!("{what} of inbox entry with key {key}: {refused}"))
    };
    let (kind, buffer): (String, String) = (row.get(2)?, row.get(8)?);
    let (payload, source): (Option<String>, Option<String>) = (row.get(4)?, row.get(7)?);
    let (received_at, visible_at) = (Timestamp(row.get(5)?), Timestamp(row.get(6)?));
    Ok(Buffered {
        key,
        id: row.get(1)?,
        kind: kind.parse().map_err(|e| of("kind", &e))?,
        name: row.get(3)?,
        payload: payload.map(Json::from_stored).transpose().map_err(|e| of("payload", &e))?,
        received_at,
        visible_at: Some(visible_at).filter(|at| *at > received_at),
        source: source.map(InstanceId::new).transpose().map_err(|e| of("source", &e))?,
        buffer: buffer.parse().map_err(|e| of("buffer policy", &e))?,
    })
}

/// The entries that a query of [`select_inbox`] finds.
pub(crate) fn all(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<Vec<Buffered>, Trouble> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(buffered(row)?);
    }
    Ok(found)
}

/// What an instance has not consumed, by visible time, then acceptance.
pub(crate) fn buffer(connection: &Connection, key: InstanceKey) -> Result<Vec<Buffered>, Trouble> {
    all(
        connection,
        select_inbox!(
            "WHERE key IN (
                 SELECT key FROM inbox INDEXED BY inbox_pending
                  WHERE instance = ?1 AND state = 'pending'
                  UNION ALL
                 SELECT key FROM inbox INDEXED BY inbox_delayed
                  WHERE instance = ?1 AND state = 'delayed'
                  UNION ALL
                 SELECT key FROM inbox INDEXED BY inbox_held
                  WHERE instance = ?1 AND state = 'held')
              ORDER BY visible_at, key"
        ),
        [key.0],
    )
}

/// One entry by its key.
pub(crate) fn entry(connection: &Connection, key: i64) -> Result<Option<Buffered>, Trouble> {
    Ok(all(connection, select_inbox!("WHERE key = ?1"), [key])?.pop())
}
