//! What instances publish, as it is stored.

use abide::{Error, InstanceKey, Json, Output, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::Trouble;

/// The outputs of an instance, by key.
pub(crate) fn all(connection: &Connection, instance: InstanceKey) -> Result<Vec<Output>, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT key, value, updated_at FROM outputs WHERE instance = ?1 ORDER BY key",
    )?;
    let mut rows = select.query([instance.0])?;
    let mut outputs = Vec::new();
    while let Some(row) = rows.next()? {
        let value = json(row.get(1)?, instance)?;
        outputs.push(Output { key: row.get(0)?, value, updated_at: Timestamp(row.get(2)?) });
    }
    Ok(outputs)
}

/// One output of the instance with this id, if both are there.
pub(crate) fn value(connection: &Connection, of: &str, key: &str) -> Result<Option<Json>, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT o.instance, o.value FROM instances i JOIN outputs o ON o.instance = i.key
          WHERE i.id = ?1 AND o.key = ?2",
    )?;
    let found = select.query_row(params![of, key], |row| Ok((row.get(0)?, row.get(1)?)));
    found.optional()?.map(|(instance, text)| json(text, InstanceKey(instance))).transpose()
}

fn json(text: String, instance: InstanceKey) -> Result<Json, Trouble> {
    Ok(Json::from_stored(text).map_err(|refused| {
        Error::corrupt(format!("output of instance with key {}: {refused}", instance.0))
    })?)
}
