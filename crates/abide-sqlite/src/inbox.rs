//! What instances accepted, as it is stored.

use std::sync::Arc;

use abide::trace::Trace;
use abide::{Buffered, Error, InstanceKey, Json, Place, Timestamp};
use rusqlite::{Connection, Params, Row};
use serde::{Deserialize, Serialize};

use crate::failure::Trouble;

/// A query of whole entries, followed by what selects them.
macro_rules! select_inbox {
    ($($rest:literal),*) => {
        concat!(
            "SELECT key, id, kind, name, payload, received_at, visible_at, source, buffer, log, place
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
    let payload: Option<String> = row.get(4)?;
    let (log, trace) = said(row).map_err(|trouble| of("place", &trouble.into()))?;
    let (received_at, visible_at) = (Timestamp(row.get(5)?), Timestamp(row.get(6)?));
    Ok(Buffered {
        key,
        id: row.get(1)?,
        kind: kind.parse().map_err(|e| of("kind", &e))?,
        name: row.get(3)?,
        payload: payload.map(Json::from_stored).transpose().map_err(|e| of("payload", &e))?,
        received_at,
        visible_at: Some(visible_at).filter(|at| *at > received_at),
        source: row.get(7)?,
        buffer: buffer.parse().map_err(|e| of("buffer policy", &e))?,
        trace,
        log,
    })
}

/// Its trace, and what only published events say, as it is stored: nothing when there is nothing to say.
#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correlation_id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<Trace>,
}

/// The text that all of this is stored as, beside the number in the log.
pub(crate) fn said_text(sent: &Buffered) -> Option<String> {
    if sent.log.is_none() && sent.trace.is_none() {
        return None;
    }
    let trace = sent.trace;
    let said = match sent.log.clone() {
        Some(Place { time, subject, correlation_id, .. }) => {
            Said { time: time.map(|time| time.0), subject, correlation_id, trace }
        }
        None => Said { trace, ..Said::default() },
    };
    if said == Said::default() { None } else { serde_json::to_string(&said).ok() }
}

fn said(row: &Row<'_>) -> Result<(Option<Place>, Option<Trace>), Trouble> {
    let seq: Option<i64> = row.get(9)?;
    let text: Option<String> = row.get(10)?;
    let corrupt = |refused: serde_json::Error| Error::corrupt(refused.to_string());
    let said = text.map(|text| serde_json::from_str(&text)).transpose().map_err(corrupt)?;
    let Said { time, subject, correlation_id, trace } = said.unwrap_or_default();
    let place = |seq| Place { seq, time: time.map(Timestamp), subject, correlation_id };
    Ok((seq.map(place), trace))
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
