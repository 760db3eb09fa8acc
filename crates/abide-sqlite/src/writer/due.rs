//! What falls due: delayed deliveries become visible and waits give up.
//!
//! However late this looks, it decides by the moments at which things were due: what became visible
//! before a deadline meets the wait, what came after it does not.

use abide::meeting::{expired, has_expired};
use abide::store::{Due, Hint};
use abide::{Buffer, InstanceKey, Timestamp, Wait};
use rusqlite::{OptionalExtension, params};

use super::batch::Batch;
use super::inbox::State;
use super::meet::{Tale, Unmet, heard};
use crate::failure::Trouble;
use crate::waits;

impl Batch<'_> {
    /// Decides for each instance on its own: damage at one of them, which is the answer, does not
    /// hold up the others.
    pub(super) fn fall_due(&mut self, keys: &[InstanceKey]) -> Result<(), Trouble> {
        let mut answer = Ok(());
        for key in keys {
            match self.guarded(|batch| batch.fall_due_at(*key)) {
                Err(failed @ Trouble::Failed(_)) => return Err(failed),
                decided => answer = answer.and(decided),
            }
        }
        answer
    }

    fn fall_due_at(&mut self, key: InstanceKey) -> Result<(), Trouble> {
        if self.head(key)?.is_none() {
            return Ok(());
        }
        let open = waits::open(self.connection, key)?;
        let mut tale = Tale::new();
        self.decide_due(key, &open, &mut tale)?;
        self.happen(key, tale)?;
        self.look_again(key)
    }

    /// What became visible meets waits or lies; then waits past their deadline look once more into
    /// the buffer, for what was sent without waking, and give up.
    pub(super) fn decide_due(
        &mut self,
        key: InstanceKey,
        open: &[Wait],
        tale: &mut Tale,
    ) -> Result<(), Trouble> {
        let mut unmet = Unmet::of(open);
        self.ripen(key, &mut unmet, tale)?;
        let mut late = unmet.into_waits();
        late.retain(|wait| has_expired(wait, self.now));
        let meetings = self
            .meet_buffered(key, &late, late.len(), |wait, entry| heard(wait, entry.visible_at))?;
        for (by, wait) in &meetings {
            self.fulfil(wait, by, tale)?;
        }
        late.retain(|wait| meetings.iter().all(|(_, met)| met.key != wait.key));
        late.sort_by_key(|wait| (wait.timeout_at, wait.key));
        for wait in &late {
            self.expire(wait)?;
            tale.push(expired(wait));
        }
        Ok(())
    }

    /// What became visible is accepted as if it had just come.
    fn ripen(
        &mut self,
        key: InstanceKey,
        unmet: &mut Unmet,
        tale: &mut Tale,
    ) -> Result<(), Trouble> {
        for (entry, wakes) in self.ripe(key)? {
            let since = entry.visible_at.unwrap_or(entry.received_at);
            let met = unmet.meet(entry.kind, &entry.name, |wait| wakes && heard(wait, since));
            for wait in &met {
                self.fulfil(wait, &entry, tale)?;
            }
            let state = match entry.buffer {
                _ if !met.is_empty() => State::Consumed,
                Buffer::None => State::Dropped,
                Buffer::Latest | Buffer::Queue => State::Pending,
            };
            if state == State::Pending && entry.buffer == Buffer::Latest {
                let older = self.older(key, entry.kind, &entry.name, (since, entry.key))?;
                self.supersede(&older, tale)?;
            }
            self.move_to(entry.key, state)?;
        }
        Ok(())
    }

    /// A paused instance is not run when it is woken, so it is woken next when something falls due
    /// again. One that has not begun keeps the time of its start.
    fn look_again(&mut self, key: InstanceKey) -> Result<(), Trouble> {
        let next = self.next_due(key)?;
        let mut update = self.connection.prepare_cached(
            "UPDATE instances SET wake_at = ?2
              WHERE key = ?1 AND paused = 1 AND phase <> 'queued'",
        )?;
        let is_paused = update.execute(params![key.0, next.map(|at| at.0)])? > 0;
        if let Some(at) = next.filter(|_| is_paused) {
            self.hints.push(Hint::Due(Due { at, key }));
        }
        Ok(())
    }

    /// Sees to it that a parked instance is looked at when the next thing falls due at it.
    pub(super) fn keep_awake(&mut self, key: InstanceKey) -> Result<(), Trouble> {
        let Some(at) = self.next_due(key)? else { return Ok(()) };
        let mut update = self.connection.prepare_cached(
            "UPDATE instances SET wake_at = ?2
              WHERE key = ?1 AND (phase = 'waiting' OR phase = 'sleeping')
                AND (wake_at IS NULL OR wake_at > ?2)",
        )?;
        if update.execute([key.0, at.0])? > 0 {
            self.hints.push(Hint::Due(Due { at, key }));
        }
        Ok(())
    }

    /// The next moment at which something falls due, which may have passed.
    fn next_due(&self, key: InstanceKey) -> Result<Option<Timestamp>, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT min(at) FROM (
                 SELECT min(visible_at) AS at FROM inbox WHERE instance = ?1 AND state = 'delayed'
                  UNION ALL
                 SELECT min(timeout_at) FROM workflow_event_subscriptions
                  WHERE instance = ?1 AND status = 'active')",
        )?;
        let next = select.query_row([key.0], |row| row.get::<_, Option<i64>>(0)).optional()?;
        Ok(next.flatten().map(Timestamp))
    }
}
