//! Waits as they are stored, and finding them.

use std::sync::Arc;

use abide::expr::Folded;
use abide::{
    Count, Error, Folding, Hears, Held, InstanceId, InstanceKey, Timestamp, Wait, WaitFilter,
    WaitStatus,
};
use rusqlite::types::Value;
use rusqlite::{Connection, Params, Row, params_from_iter};

use crate::failure::Trouble;
use crate::search::Conditions;

/// The kind of a wait for an output; the others are those of what is sent.
pub(crate) const OUTPUT: &str = "output";

/// A query of whole waits, followed by what selects them.
macro_rules! select_waits {
    ($($rest:literal),*) => {
        concat!(
            "SELECT key, id, instance, workflow_instance_id, run, wait_step_id, kind,
                    event_pattern, output_of, status, created_at, timeout_at, fulfilled_at,
                    fulfilled_by_event_id, race, needed, filter_condition, filter_folded,
                    distinct_by, distinct_folded, since, cut_short
               FROM workflow_event_subscriptions ",
            $($rest),*
        )
    };
}
pub(crate) use select_waits;

/// Reads a row of [`select_waits`], and what the wait holds.
fn wait(connection: &Connection, row: &Row<'_>) -> Result<Wait, Trouble> {
    let key: i64 = row.get(0)?;
    let of = |what: &str, refused: &Error| {
        Error::corrupt(format!("{what} of wait with key {key}: {refused}"))
    };
    let instance_id: String = row.get(3)?;
    let status: String = row.get(9)?;
    Ok(Wait {
        key,
        id: row.get(1)?,
        instance: InstanceKey(row.get(2)?),
        instance_id: InstanceId::new(instance_id).map_err(|e| of("instance", &e))?,
        run: row.get(4)?,
        step: row.get(5)?,
        hears: hears(row).map_err(|trouble| of("kind", &trouble.into()))?,
        filter: folding(row, 16).map_err(|trouble| of("filter", &trouble.into()))?,
        race: row.get(14)?,
        count: count(connection, row).map_err(|trouble| of("count", &trouble.into()))?,
        since: row.get(20)?,
        cut_short: row.get(21)?,
        status: status.parse::<WaitStatus>().map_err(|e| of("status", &e))?,
        created_at: Timestamp(row.get(10)?),
        timeout_at: row.get::<_, Option<i64>>(11)?.map(Timestamp),
        fulfilled_at: row.get::<_, Option<i64>>(12)?.map(Timestamp),
        fulfilled_by: row.get(13)?,
    })
}

fn hears(row: &Row<'_>) -> Result<Hears, Trouble> {
    let (kind, pattern): (String, Arc<str>) = (row.get(6)?, row.get(7)?);
    if kind == OUTPUT {
        let of: String = row.get(8)?;
        return Ok(Hears::Output { of: InstanceId::new(of)?, key: pattern });
    }
    Ok(Hears::Sent { kind: kind.parse()?, pattern })
}

/// An expression as it was written, and in the next column what was left of it.
fn folding(row: &Row<'_>, column: usize) -> Result<Option<Folding>, Trouble> {
    let (written, folded): (Option<Arc<str>>, Option<String>) =
        (row.get(column)?, row.get(column + 1)?);
    let Some(written) = written else { return Ok(None) };
    let folded = folded.ok_or_else(|| Error::corrupt("it was not folded"))?;
    let folded = Folded::parse(&folded).map_err(|refused| Error::corrupt(refused.to_string()))?;
    Ok(Some(Folding { written, folded }))
}

fn count(connection: &Connection, row: &Row<'_>) -> Result<Option<Count>, Trouble> {
    let Some(needed) = row.get(15)? else { return Ok(None) };
    let mut select = connection.prepare_cached(
        "SELECT entry, id, distinct_value FROM held WHERE wait = ?1 ORDER BY nth",
    )?;
    let held = select.query_map([row.get::<_, i64>(0)?], |held| {
        Ok(Held { key: held.get(0)?, id: held.get(1)?, distinct: held.get(2)? })
    })?;
    let held = held.collect::<rusqlite::Result<_>>()?;
    Ok(Some(Count { needed, distinct_by: folding(row, 18)?, held }))
}

/// The waits that a query of [`select_waits`] finds.
pub(crate) fn all(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<Vec<Wait>, Trouble> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(values)?;
    let mut waits = Vec::new();
    while let Some(row) = rows.next()? {
        waits.push(wait(connection, row)?);
    }
    Ok(waits)
}

/// The open waits of an instance, oldest first.
pub(crate) fn open(connection: &Connection, key: InstanceKey) -> Result<Vec<Wait>, Trouble> {
    all(
        connection,
        select_waits!("WHERE instance = ?1 AND status = 'active' ORDER BY key"),
        [key.0],
    )
}

/// Waits, oldest first.
pub(crate) fn listed(connection: &Connection, filter: &WaitFilter) -> Result<Vec<Wait>, Trouble> {
    let conditions = conditions(filter);
    let sql = format!(concat!(select_waits!(), "WHERE {} ORDER BY key LIMIT ?"), conditions.sql);
    // A negative limit is none.
    let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    all(connection, &sql, params_from_iter(conditions.values.into_iter().chain([limit.into()])))
}

/// What [`WaitFilter::matches`] says, in SQL.
fn conditions(filter: &WaitFilter) -> Conditions {
    let mut conditions = Conditions::default();
    let text = |value: &str| Value::from(value.to_owned());
    if let Some(id) = &filter.id {
        conditions.add("id = ?", [text(id)]);
    }
    if let Some(instance) = &filter.instance {
        conditions.add("workflow_instance_id = ?", [text(instance.as_str())]);
    }
    if let Some(pattern) = &filter.pattern {
        conditions.add("event_pattern = ?", [text(pattern)]);
    }
    if let Some(status) = filter.status {
        conditions.add("status = ?", [text(status.as_str())]);
    }
    if let Some(step) = &filter.step {
        conditions.add("wait_step_id = ?", [text(step)]);
    }
    if let Some(after) = filter.after {
        conditions.add("key > ?", [after.into()]);
    }
    conditions
}
