//! Finding instances: the SQL of a filter, and the lists that wake instances.

use abide::store::Due;
use abide::{Filter, InstanceKey, Listed, Page, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use crate::failure::Trouble;
use crate::row::{instance, select_instances};

/// A page of instances, newest first. One more than asked for is read, to know whether there is a
/// next page.
pub(crate) fn instances(
    connection: &Connection,
    filter: &Filter,
    page: Page,
) -> Result<Listed, Trouble> {
    let mut conditions = conditions(filter);
    if let Some(before) = page.before {
        conditions.add("i.key < ?", [before.0.into()]);
    }
    let sql = format!(
        concat!(select_instances!(), "WHERE {} ORDER BY i.key DESC LIMIT ?"),
        conditions.sql
    );
    let more = i64::try_from(page.limit).unwrap_or(i64::MAX).saturating_add(1);
    conditions.values.push(more.into());
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(conditions.values))?;
    let mut instances = Vec::new();
    while let Some(row) = rows.next()? {
        if instances.len() == page.limit {
            let next = instances.last().map(|last: &abide::Instance| last.key);
            return Ok(Listed { instances, next });
        }
        instances.push(instance(row)?);
    }
    Ok(Listed { instances, next: None })
}

/// Conditions that must all hold, with their values in order.
pub(crate) struct Conditions {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { sql: "TRUE".to_owned(), values: Vec::new() }
    }
}

impl Conditions {
    pub(crate) fn add(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }
}

/// What [`Filter::matches`] says, in SQL.
fn conditions(filter: &Filter) -> Conditions {
    let mut conditions = Conditions::default();
    let text = |value: &str| Value::from(value.to_owned());
    if let Some(workflow) = &filter.workflow {
        conditions.add("i.workflow = ?", [text(workflow)]);
    }
    if !filter.status.is_empty() {
        let marks = vec!["?"; filter.status.len()].join(", ");
        let words = filter.status.iter().map(|status| text(status.as_str()));
        conditions.add(&format!("i.status IN ({marks})"), words);
    }
    if let Some(prefix) = &filter.id_prefix {
        conditions.add("i.id >= ?", [text(prefix)]);
        if let Some(end) = end_of_prefix(prefix) {
            conditions.add("i.id < ?", [end.into()]);
        }
    }
    if let Some(correlation_id) = &filter.correlation_id {
        conditions.add("i.correlation_id = ?", [text(correlation_id)]);
    }
    if let Some(tag) = &filter.tag {
        conditions.add("EXISTS (SELECT 1 FROM json_each(i.tags) WHERE value = ?)", [text(tag)]);
    }
    if let Some(parent) = &filter.parent {
        conditions.add("i.parent_id = ?", [text(parent.as_str())]);
    }
    if let Some(after) = filter.created_after {
        conditions.add("i.created_at > ?", [after.0.into()]);
    }
    if let Some(before) = filter.created_before {
        conditions.add("i.created_at < ?", [before.0.into()]);
    }
    if let Some(part) = &filter.text {
        conditions.add("instr(i.input, ?) > 0", [text(part)]);
    }
    conditions
}

/// The first text after all that begin with `prefix`, if there is one: a range can use the index,
/// and unlike `LIKE` it knows neither wildcards nor case.
fn end_of_prefix(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        let next =
            if last == '\u{D7FF}' { Some('\u{E000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// The keys of instances that should be running, after a key. Who runs them is not known here.
pub(crate) fn runnable(
    connection: &Connection,
    after: InstanceKey,
    limit: usize,
) -> Result<Vec<InstanceKey>, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT key FROM instances INDEXED BY instances_runnable
          WHERE paused = 0 AND (phase = 'running' OR (phase = 'queued' AND wake_at IS NULL))
            AND key > ?1 ORDER BY key LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let keys = select.query_map([after.0, limit], |row| row.get(0).map(InstanceKey))?;
    Ok(keys.collect::<rusqlite::Result<_>>()?)
}

/// Instances that want to be woken before a moment, earliest first, after one of them. Clocks go on
/// under a pause; only a start waits for the resume.
pub(crate) fn due(
    connection: &Connection,
    after: Due,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<Due>, Trouble> {
    // The first condition is implied by the second, but it is the one the index can seek to.
    let mut select = connection.prepare_cached(
        "SELECT wake_at, key FROM instances
          WHERE wake_at >= ?1 AND (wake_at > ?1 OR key > ?2) AND wake_at < ?3
            AND NOT (paused = 1 AND phase = 'queued')
          ORDER BY wake_at, key LIMIT ?4",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = select.query_map(params![after.at.0, after.key.0, until.0, limit], |row| {
        Ok(Due { at: Timestamp(row.get(0)?), key: InstanceKey(row.get(1)?) })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_character() {
        assert_eq!(end_of_prefix("ab").as_deref(), Some("ac"));
        assert_eq!(end_of_prefix("a\u{10FFFF}").as_deref(), Some("b"));
        assert_eq!(end_of_prefix("\u{D7FF}").as_deref(), Some("\u{E000}"));
        assert_eq!(end_of_prefix(""), None);
    }
}
