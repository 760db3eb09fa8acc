//! Creating instances: from outside, all or none, and as children of others.

use std::time::Duration;

use abide::history::Entries;
use abide::lifecycle;
use abide::store::{IfExists, Started};
use abide::{
    Error, Hears, InstanceKey, NewInstance, NewWait, Parent, Park, Phase, Published, Since,
    Timestamp, Transition,
};
use rusqlite::params;

use super::batch::{Batch, Head};
use super::commit::{Speaker, refuse_parked_end};
use super::inbox::State;
use crate::failure::Trouble;
use crate::row;

/// The number of the first history entry.
const FIRST_SEQ: i64 = 1;

impl Batch<'_> {
    pub(super) fn start(
        &mut self,
        new: &[NewInstance],
        if_exists: IfExists,
    ) -> Result<Vec<Started>, Trouble> {
        match new {
            [one] if only_registers(one) => Ok(vec![self.start_plain(one, if_exists)?]),
            many => self.guarded(|batch| batch.start_all(many, if_exists)),
        }
    }

    /// Starts an instance that reads nothing. The one thing that may still be refused, a wait with
    /// an id that is taken, is undone by hand: a savepoint would cost every start more than that.
    fn start_plain(&mut self, new: &NewInstance, if_exists: IfExists) -> Result<Started, Trouble> {
        let (mark, hints, keys, rows) =
            (self.claims.mark(), self.hints.len(), *self.keys, self.rows);
        let started = self.start_one(new, if_exists);
        if matches!(started, Err(Trouble::Refused(_)))
            && self.keys.next_instance != keys.next_instance
        {
            for delete in [
                "DELETE FROM workflow_event_subscriptions WHERE instance = ?1",
                "DELETE FROM history WHERE instance = ?1",
                "DELETE FROM instances WHERE key = ?1",
            ] {
                self.connection.prepare_cached(delete)?.execute([keys.next_instance])?;
            }
            self.claims.undo_to(mark);
            self.hints.truncate(hints);
            (*self.keys, self.rows) = (keys, rows);
        }
        started
    }

    fn start_all(
        &mut self,
        new: &[NewInstance],
        if_exists: IfExists,
    ) -> Result<Vec<Started>, Trouble> {
        new.iter().map(|one| self.start_one(one, if_exists)).collect()
    }

    fn start_one(&mut self, new: &NewInstance, if_exists: IfExists) -> Result<Started, Trouble> {
        new.first.as_ref().map_or(Ok(()), refuse_parked_end)?;
        let later = new.start_at.filter(|start_at| *start_at > self.now);
        let by = self.started_by(new.consumes)?;
        let Some(key) = self.insert(new, later, None, by.as_ref())? else {
            return match (if_exists, row::key_of(self.connection, new.id.as_str())?) {
                (IfExists::Return, Some(key)) => Ok(Started::Existing(key)),
                _ => Err(Error::AlreadyExists { id: new.id.clone() }.into()),
            };
        };
        if later.is_some() {
            return Ok(Started::Queued(key));
        }
        let log_from = by.map_or(self.last_event(), |by| by.seq);
        let next_seq = self.open_history(key, new)?;
        let epoch = self.claims.insert(key, new.id.clone(), 1, next_seq, false, log_from);
        self.apply_first(key, new, false, log_from)?;
        Ok(Started::Running { key, epoch, created_at: self.now })
    }

    /// Creates a child, which begins at once and belongs to nobody yet. `None` when its id is
    /// taken.
    pub(super) fn start_child(
        &mut self,
        new: &NewInstance,
        parent: &Parent,
    ) -> Result<Option<InstanceKey>, Trouble> {
        new.first.as_ref().map_or(Ok(()), refuse_parked_end)?;
        let by = self.started_by(new.consumes)?;
        let Some(key) = self.insert(new, None, Some(parent), by.as_ref())? else {
            return Ok(None);
        };
        self.open_history(key, new)?;
        let log_from = by.map_or(self.last_event(), |by| by.seq);
        self.apply_first(key, new, true, log_from)?;
        Ok(Some(key))
    }

    /// Writes the first history row; answers with the number after it.
    pub(super) fn open_history(
        &mut self,
        key: InstanceKey,
        new: &NewInstance,
    ) -> Result<i64, Trouble> {
        let nothing = Entries::default();
        let entries = new.first.as_ref().map_or(&nothing, |first| &first.entries);
        let row = entries.after(&lifecycle::begun(new));
        self.append(key, Head { run: 1, next_seq: FIRST_SEQ }, &row, &row.text())?;
        Ok(FIRST_SEQ + i64::from(row.numbered()))
    }

    fn apply_first(
        &mut self,
        key: InstanceKey,
        new: &NewInstance,
        has_parent: bool,
        log_from: i64,
    ) -> Result<(), Trouble> {
        let Some(first) = &new.first else { return Ok(()) };
        let id = new.id.clone();
        // It was inserted the way it parks.
        let (may_park, has_mail) = (false, false);
        let speaker = Speaker { key, id, run: 1, has_parent, may_park, log_from, has_mail };
        self.apply(&speaker, first)
    }

    /// Inserts the row of an instance; `None` when its id is taken, which the index finds out on
    /// the way. The event that it was started by is consumed.
    pub(super) fn insert(
        &mut self,
        new: &NewInstance,
        later: Option<Timestamp>,
        parent: Option<&Parent>,
        by: Option<&Published>,
    ) -> Result<Option<InstanceKey>, Trouble> {
        let key = self.keys.next_instance;
        let park = match (later, new.first.as_ref().and_then(|first| first.park.as_ref())) {
            (Some(later), _) => Park {
                phase: Phase::Queued,
                wake_at: Some(later),
                reason: Some(lifecycle::begins_later(later)),
            },
            (None, Some(park)) => park.clone(),
            (None, None) => Park { phase: Phase::Running, wake_at: None, reason: None },
        };
        let timeout_at = new.timeout.map(|timeout| later.unwrap_or(self.now).after(timeout).0);
        let log_from = by.map_or(self.last_event(), |by| by.seq);
        let inserted = self.hot.insert_instance.execute(params![
            key,
            new.id.as_str(),
            &*new.workflow,
            new.version,
            park.phase.as_str(),
            new.input.as_str(),
            new.correlation_id,
            parent.map(|parent| parent.key.0),
            parent.map(|parent| parent.id.as_str()),
            parent.map(|parent| parent.run),
            parent.map(|parent| &*parent.step),
            parent.map(|parent| parent.awaited),
            tags(&new.tags)?,
            self.now.0,
            park.wake_at.map(|at| at.0),
            park.reason,
            new.timeout.map(millis),
            timeout_at,
            FIRST_SEQ,
            log_from,
        ])?;
        if inserted == 0 {
            return Ok(None);
        }
        let key = self.keys.instance();
        if let Some(by) = by {
            self.take_in(key, by, State::Consumed)?;
            self.want(by.seq)?;
        }
        Ok(Some(key))
    }
}

/// Whether the first transition of an instance at most registers waits. It has no mail to read yet.
fn only_registers(new: &NewInstance) -> bool {
    if new.consumes.is_some() {
        return false;
    }
    let Some(first) = &new.first else { return true };
    let Transition { cancels, outputs, sends, publishes, takes, children, waits, .. } = first;
    let others = cancels.len() + outputs.len() + sends.len() + publishes.len() + takes.len();
    // It can only look back to what came before it.
    let looks_back = |wait: &NewWait| !matches!(wait.since, Since::Start | Since::Now);
    let reads = |wait: &NewWait| matches!(wait.hears, Hears::Output { .. }) || looks_back(wait);
    others + children.len() == 0 && !waits.iter().any(reads)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Tags as a JSON array, so that SQL can look into it; nothing when there are none.
fn tags(tags: &[String]) -> Result<Option<String>, Trouble> {
    if tags.is_empty() {
        return Ok(None);
    }
    let refused = |error: serde_json::Error| Error::Invalid {
        what: "tags".into(),
        message: error.to_string(),
    };
    Ok(Some(serde_json::to_string(tags).map_err(refused)?))
}
