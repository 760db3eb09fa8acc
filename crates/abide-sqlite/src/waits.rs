//! Waits as they are stored, and finding them.

use std::sync::Arc;

use abide::{Error, Hears, InstanceId, InstanceKey, Timestamp, Wait, WaitFilter, WaitStatus};
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
                    fulfilled_by_event_id
               FROM workflow_event_subscriptions ",
            $($rest),*
        )
    };
}
pub(crate) use select_waits;

/// Reads a row of [`select_waits`].
pub(crate) fn wait(row: &Row<'_>) -> Result<Wait, Trouble> {
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
        waits.push(wait(row)?);
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
    let sql = format!(concat!(select_waits!(), "WHERE {} ORDER BY key"), conditions.sql);
    all(connection, &sql, params_from_iter(conditions.values))
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
    conditions
}
