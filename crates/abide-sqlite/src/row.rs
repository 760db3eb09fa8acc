//! Rows as the library's own types. What does not read back is corrupt, and says where.

use std::sync::Arc;
use std::time::Duration;

use abide::history::{EntryKind, Recorded, decode_row};
use abide::store::Overview;
use abide::{
    Error, Failure, Instance, InstanceId, InstanceKey, Json, Parent, Phase, Result, Timestamp,
    WaitFilter,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::failure::Trouble;
use crate::waits;

/// A query of whole instances, followed by what selects them.
///
/// The last history row is joined because a step does not touch the row of its instance: it tells
/// the next number and when something last happened.
macro_rules! select_instances {
    ($($rest:literal),*) => {
        concat!(
            "SELECT i.key, i.id, i.workflow, i.version, i.run, i.phase, i.paused, i.queued_reason,
                    i.input, i.context, i.output, i.error, i.correlation_id,
                    i.parent_key, i.parent_id, i.parent_run, i.parent_step, i.parent_awaited,
                    i.tags, i.created_at, max(i.updated_at, coalesce(h.at, i.updated_at)),
                    i.completed_at, i.wake_at, i.timeout_ms, i.timeout_at, i.run_seq,
                    coalesce(h.seq + h.numbered, i.run_seq), i.log_from
               FROM instances i
               LEFT JOIN history h ON h.id = (SELECT id FROM history WHERE instance = i.key
                                               ORDER BY seq DESC, id DESC LIMIT 1) ",
            $($rest),*
        )
    };
}
pub(crate) use select_instances;

/// Reads a row of [`select_instances`].
pub(crate) fn instance(row: &Row<'_>) -> Result<Instance, Trouble> {
    let key = InstanceKey(row.get(0)?);
    let of = |what: &str, refused: &dyn std::fmt::Display| {
        Error::corrupt(format!("{what} of instance with key {}: {refused}", key.0))
    };
    let json = |column: usize, what: &str| -> Result<Option<Json>, Trouble> {
        let text: Option<String> = row.get(column)?;
        Ok(text.map(|text| Json::from_stored(text).map_err(|e| of(what, &e))).transpose()?)
    };
    let phase: Phase = str_of(row, 5)?.parse().map_err(|e: Error| of("phase", &e))?;
    let error: Option<Failure> = decoded(row, 11).map_err(|e| of("error", &e))?;
    let tags: Option<Vec<String>> = decoded(row, 18).map_err(|e| of("tags", &e))?;
    let timeout_ms: Option<i64> = row.get(23)?;
    Ok(Instance {
        key,
        id: InstanceId::new(str_of(row, 1)?).map_err(|e| of("id", &e))?,
        workflow: str_of(row, 2)?.into(),
        version: row.get(3)?,
        run: row.get(4)?,
        phase,
        paused: row.get(6)?,
        queued_reason: row.get(7)?,
        input: json(8, "input")?.ok_or_else(|| of("input", &"it is missing"))?,
        context: json(9, "context")?,
        output: json(10, "output")?,
        error,
        correlation_id: row.get(12)?,
        parent: parent(row)?,
        tags: tags.unwrap_or_default(),
        created_at: Timestamp(row.get(19)?),
        updated_at: Timestamp(row.get(20)?),
        completed_at: row.get::<_, Option<i64>>(21)?.map(Timestamp),
        wake_at: row.get::<_, Option<i64>>(22)?.map(Timestamp),
        timeout: timeout_ms
            .map(|ms| u64::try_from(ms).map(Duration::from_millis))
            .transpose()
            .map_err(|e| of("timeout_ms", &e))?,
        timeout_at: row.get::<_, Option<i64>>(24)?.map(Timestamp),
        run_seq: row.get(25)?,
        next_seq: row.get(26)?,
        log_from: row.get(27)?,
    })
}

fn parent(row: &Row<'_>) -> Result<Option<Parent>, Trouble> {
    let Some(key) = row.get::<_, Option<i64>>(13)? else { return Ok(None) };
    let id = InstanceId::new(str_of(row, 14)?)
        .map_err(|refused| Error::corrupt(format!("parent with key {key}: {refused}")))?;
    let step: Arc<str> = str_of(row, 16)?.into();
    let (run, awaited) = (row.get(15)?, row.get(17)?);
    Ok(Some(Parent { key: InstanceKey(key), id, run, step, awaited }))
}

pub(crate) fn str_of<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r str> {
    row.get_ref(column)?.as_str().map_err(|refused| {
        let found = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, found, Box::new(refused))
    })
}

fn decoded<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<T>, Box<dyn std::error::Error>> {
    match row.get_ref(column)?.as_str_or_null()? {
        Some(text) => Ok(Some(serde_json::from_str(text)?)),
        None => Ok(None),
    }
}

/// One instance by its id.
pub(crate) fn instance_by_id(
    connection: &Connection,
    id: &InstanceId,
) -> Result<Option<Instance>, Trouble> {
    let mut select = connection.prepare_cached(select_instances!("WHERE i.id = ?1"))?;
    let mut rows = select.query([id.as_str()])?;
    rows.next()?.map(instance).transpose()
}

/// One instance with what belongs to it, of one moment.
pub(crate) fn overview(
    connection: &Connection,
    id: InstanceId,
) -> Result<Option<Overview>, Trouble> {
    let moment = connection.unchecked_transaction()?;
    let Some(instance) = instance_by_id(&moment, &id)? else { return Ok(None) };
    let history = history_after(&moment, instance.key, instance.run_seq - 1, usize::MAX)?;
    let filter = WaitFilter { instance: Some(id), ..WaitFilter::default() };
    let waits = waits::listed(&moment, &filter)?;
    Ok(Some(Overview { instance, history, waits }))
}

/// One instance by its key.
pub(crate) fn instance_by_key(
    connection: &Connection,
    key: InstanceKey,
) -> Result<Option<Instance>, Trouble> {
    let mut select = connection.prepare_cached(select_instances!("WHERE i.key = ?1"))?;
    let mut rows = select.query([key.0])?;
    rows.next()?.map(instance).transpose()
}

/// The key that an id has, if it has one.
pub(crate) fn key_of(connection: &Connection, id: &str) -> Result<Option<InstanceKey>, Trouble> {
    let mut select = connection.prepare_cached("SELECT key FROM instances WHERE id = ?1")?;
    Ok(select.query_row([id], |row| row.get(0).map(InstanceKey)).optional()?)
}

/// The history of the current run as it was when `instance` was read, marks included.
///
/// Rows are only ever added, so the numbers bound what was there then, however late this reads.
pub(crate) fn history_of_run(
    connection: &Connection,
    instance: &Instance,
) -> Result<Vec<Recorded>, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT entries, seq, run, at FROM history
          WHERE instance = ?1 AND seq BETWEEN ?2 AND ?3 AND seq + numbered <= ?3 AND run = ?4
          ORDER BY seq, id",
    )?;
    let (first, next) = (instance.run_seq, instance.next_seq);
    let mut rows = select.query(params![instance.key.0, first, next, instance.run])?;
    let mut history = Vec::new();
    while let Some(row) = rows.next()? {
        history.append(&mut recorded_of(row, instance.key)?);
    }
    Ok(history)
}

/// Numbered entries after a number, in order.
pub(crate) fn history_after(
    connection: &Connection,
    key: InstanceKey,
    after: i64,
    limit: usize,
) -> Result<Vec<Recorded>, Trouble> {
    // The row that holds the first wanted number may begin before it.
    let mut select = connection.prepare_cached(
        "SELECT entries, seq, run, at FROM history
          WHERE instance = ?1 AND numbered > 0
            AND seq >= coalesce((SELECT max(seq) FROM history WHERE instance = ?1 AND seq <= ?2), 0)
          ORDER BY seq, id",
    )?;
    let mut rows = select.query(params![key.0, after.saturating_add(1)])?;
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next()? else { break };
        let entries = shown(recorded_of(row, key)?).into_iter();
        found.extend(entries.filter(|entry| entry.seq > after));
    }
    found.truncate(limit);
    Ok(found)
}

/// What is shown of a row: marks are not.
pub(crate) fn shown(mut recorded: Vec<Recorded>) -> Vec<Recorded> {
    recorded.retain(|recorded| recorded.entry.entry != EntryKind::Seen);
    recorded
}

/// The entries of a row whose first columns are `entries, seq, run, at`.
pub(crate) fn recorded_of(row: &Row<'_>, key: InstanceKey) -> Result<Vec<Recorded>, Trouble> {
    let at = Timestamp(row.get(3)?);
    decode_row(str_of(row, 0)?, row.get(1)?, row.get(2)?, at).map_err(|refused| match refused {
        Error::Corrupt { what } => {
            Error::corrupt(format!("instance with key {}: {what}", key.0)).into()
        }
        other => other.into(),
    })
}
