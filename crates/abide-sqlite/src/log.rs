//! The event log, as it is stored.

use std::sync::Arc;

use abide::publication::{Parsed, Publication, Seen};
use abide::{
    Error, InstanceId, Json, LogFilter, LogSpan, Logged, Published, Taker, Timestamp, Verdict, Wait,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Params, Row, params_from_iter};

use crate::failure::Trouble;
use crate::search::Conditions;
use crate::waits::{self, select_waits};

/// A query of whole events, followed by what selects them.
macro_rules! select_events {
    ($($rest:literal),*) => {
        concat!(
            "SELECT seq, id, source, type, payload, time, subject, correlation_id, attributes,
                    accepted_at, verdict, wanted
               FROM events ",
            $($rest),*
        )
    };
}

pub(crate) use select_events;

/// Reads a row of [`select_events`].
pub(crate) fn published(row: &Row<'_>) -> Result<Published, Trouble> {
    let seq: i64 = row.get(0)?;
    let of = |what: &str, refused: &Error| {
        Error::corrupt(format!("{what} of event {seq} of the log: {refused}"))
    };
    let json = |column: usize, what: &str| -> Result<Option<Json>, Trouble> {
        let text: Option<String> = row.get(column)?;
        Ok(text.map(|text| Json::from_stored(text).map_err(|e| of(what, &e))).transpose()?)
    };
    let event = Publication {
        payload: json(4, "payload")?,
        id: row.get(1)?,
        source: row.get(2)?,
        time: row.get::<_, Option<i64>>(5)?.map(Timestamp),
        subject: row.get(6)?,
        correlation_id: row.get(7)?,
        ..Publication::new(row.get::<_, String>(3)?)
    };
    let attributes = json(8, "attributes")?;
    let event = event.with_attributes(attributes.as_ref()).map_err(|e| of("attributes", &e))?;
    Ok(Published { seq, accepted_at: Timestamp(row.get(9)?), event: Arc::new(event) })
}

fn logged(row: &Row<'_>) -> Result<Logged, Trouble> {
    let published = published(row)?;
    let verdict = verdict(&row.get::<_, String>(10)?, published.seq)?;
    Ok(Logged { published, verdict, wanted: row.get(11)? })
}

/// Reads a stored verdict.
pub(crate) fn verdict(text: &str, seq: i64) -> Result<Verdict, Error> {
    serde_json::from_str(text)
        .map_err(|refused| Error::corrupt(format!("verdict of event {seq} of the log: {refused}")))
}

/// The events that a query of [`select_events`] finds.
pub(crate) fn all(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<Vec<Published>, Trouble> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(published(row)?);
    }
    Ok(found)
}

/// One event by its number.
pub(crate) fn event(connection: &Connection, seq: i64) -> Result<Option<Published>, Trouble> {
    Ok(all(connection, select_events!("WHERE seq = ?1"), [seq])?.pop())
}

/// A part of the log. A pattern is not for SQL: it is asked of what everything else selects.
pub(crate) fn listed(connection: &Connection, filter: &LogFilter) -> Result<Vec<Logged>, Trouble> {
    let conditions = conditions(connection, filter)?;
    let order = if filter.newest_first { "DESC" } else { "ASC" };
    let sql = format!(
        concat!(select_events!(), "WHERE {} ORDER BY seq {order}"),
        conditions.sql,
        order = order
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(conditions.values))?;
    let mut found = Vec::new();
    while found.len() < filter.limit {
        let Some(row) = rows.next()? else { break };
        let covers = |pattern: &String| -> rusqlite::Result<bool> {
            Ok(abide::pattern::matches(pattern, &row.get::<_, String>(3)?))
        };
        if filter.event_type.as_ref().map_or(Ok(true), covers)? {
            found.push(logged(row)?);
        }
    }
    Ok(found)
}

/// What [`LogFilter::matches`] says, in SQL, but for patterns with wildcards.
fn conditions(connection: &Connection, filter: &LogFilter) -> Result<Conditions, Trouble> {
    let mut conditions = Conditions::default();
    let text = |value: &str| Value::from(value.to_owned());
    if let Some(id) = &filter.id {
        conditions.add("id = ?", [text(id)]);
    }
    if let Some(source) = &filter.source {
        conditions.add("source = ?", [text(source)]);
    }
    if let Some(exact) = filter.event_type.as_ref().filter(|pattern| !pattern.contains('*')) {
        conditions.add("type = ?", [text(exact)]);
    }
    if filter.unwanted {
        conditions.add("wanted = 0", []);
    }
    // Numbers grow with time, so the first of them is where to begin.
    if let Some(from) = filter.from {
        conditions.add("accepted_at >= ?", [from.0.into()]);
        conditions.add("seq > ?", [last_before(connection, from)?.unwrap_or(0).into()]);
    }
    if let Some(to) = filter.to {
        conditions.add("accepted_at < ?", [to.0.into()]);
        conditions.add("seq <= ?", [last_before(connection, to)?.unwrap_or(0).into()]);
    }
    match (filter.after, filter.newest_first) {
        (Some(after), false) => conditions.add("seq > ?", [after.into()]),
        (Some(after), true) => conditions.add("seq < ?", [after.into()]),
        (None, _) => {}
    }
    Ok(conditions)
}

/// The number of the last event that was accepted before a moment. Numbers are given out in the
/// order of acceptance, so that no index of moments is needed: this halves the way.
pub(crate) fn last_before(
    connection: &Connection,
    moment: Timestamp,
) -> Result<Option<i64>, Trouble> {
    let mut next = connection.prepare_cached(
        "SELECT seq, accepted_at < ?2 FROM events WHERE seq >= ?1 ORDER BY seq LIMIT 1",
    )?;
    let LogSpan { oldest: Some(oldest), newest } = span(connection)? else { return Ok(None) };
    let (mut low, mut high) = (oldest, newest.saturating_add(1));
    let mut found = None;
    // All below `low` came before the moment, none from `high` on.
    while low < high {
        let middle = low + (high - low) / 2;
        let at = next.query_row([middle, moment.0], |row| Ok((row.get(0)?, row.get(1)?)));
        match at.optional()? {
            Some((seq, true)) => {
                found = Some(seq);
                low = seq + 1;
            }
            Some((_, false)) | None => high = middle,
        }
    }
    Ok(found)
}

/// From where to where the log reaches.
pub(crate) fn span(connection: &Connection) -> Result<LogSpan, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT (SELECT min(seq) FROM events),
                max(coalesce((SELECT max(seq) FROM events), 0),
                    coalesce((SELECT value - 1 FROM meta WHERE name = 'next_event'), 0))",
    )?;
    Ok(select.query_row([], |row| Ok(LogSpan { oldest: row.get(0)?, newest: row.get(1)? }))?)
}

/// Who took an event that the log has, in key order.
pub(crate) fn takers(connection: &Connection, seq: i64) -> Result<Vec<Taker>, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT i.id, b.taken_at FROM inbox b JOIN instances i ON i.key = b.instance
          WHERE b.log = ?1 AND EXISTS (SELECT 1 FROM events WHERE seq = ?1) ORDER BY b.instance",
    )?;
    let mut rows = select.query([seq])?;
    let mut takers = Vec::new();
    while let Some(row) = rows.next()? {
        let instance_id = InstanceId::new(row.get::<_, String>(0)?)?;
        takers.push(Taker { instance_id, taken_at: Timestamp(row.get(1)?) });
    }
    Ok(takers)
}

/// The types in the log that a pattern covers.
pub(crate) fn types(connection: &Connection, pattern: &str) -> Result<Vec<String>, Trouble> {
    if !pattern.contains('*') {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut select = connection.prepare_cached("SELECT type FROM event_types ORDER BY type")?;
    let all = select.query_map([], |row| row.get(0))?;
    let mut types = all.collect::<rusqlite::Result<Vec<String>>>()?;
    types.retain(|known| abide::pattern::matches(pattern, known));
    Ok(types)
}

/// What a wait may have been compared with, the newest first.
pub(crate) fn overheard(
    connection: &Connection,
    id: &str,
    limit: usize,
) -> Result<Vec<Published>, Trouble> {
    let found = waits::all(connection, select_waits!("WHERE id = ?1"), [id])?.pop();
    let Some(wait) = found else {
        return Err(Error::SubscriptionNotFound { id: id.to_owned() }.into());
    };
    let mut select =
        connection.prepare_cached(select_events!("WHERE seq > ?1 ORDER BY seq DESC"))?;
    let mut rows = select.query([wait.since])?;
    let mut heard = Vec::new();
    while heard.len() < limit {
        let Some(row) = rows.next()? else { break };
        if !wait.hears.covers(abide::Kind::Event, &row.get::<_, String>(3)?) {
            continue;
        }
        let event = published(row)?;
        if has_a_key_of(&wait, &event) {
            heard.push(event);
        }
    }
    Ok(heard)
}

fn has_a_key_of(wait: &Wait, event: &Published) -> bool {
    let (publication, parsed) = (timed(event), Parsed::default());
    let seen = Seen::of(&publication, &parsed).numbered(event.seq);
    wait.entries().iter().any(|entry| entry.shape.probe(&seen).as_ref() == Some(&entry.key))
}

/// An event with the time that waits see.
pub(crate) fn timed(event: &Published) -> Arc<Publication> {
    if event.event.time.is_some() {
        return Arc::clone(&event.event);
    }
    let time = Some(event.accepted_at);
    Arc::new(Publication { time, ..Publication::clone(&event.event) })
}
