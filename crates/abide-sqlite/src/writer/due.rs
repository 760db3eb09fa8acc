//! What falls due: delayed deliveries become visible and waits give up.
//!
//! However late this looks, it decides by the moments at which things were due: what became visible
//! before a deadline meets the wait, what came after it does not.

use abide::meeting::{expired, has_expired};
use abide::store::{Due, Hint};
use abide::{Buffer, InstanceKey, Timestamp, Wait};
use rusqlite::{OptionalExtension, params};

use super::batch::Batch;
use super::inbox::{Candidate, State};
use super::meet::{Open, Tale, heard, since};
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
        self.settle_first(key)?;
        if self.head(key)?.is_none() {
            return Ok(());
        }
        let mut open = Open::of(waits::open(self.connection, key)?);
        let mut tale = Tale::new();
        self.decide_due(key, &mut open, &mut tale)?;
        self.happen(key, tale)?;
        self.look_again(key)
    }

    /// What became visible meets waits or lies; then waits past their deadline look once more into
    /// the buffer, for what was sent without waking, and give up; then others may have what these
    /// held.
    pub(super) fn decide_due(
        &mut self,
        key: InstanceKey,
        open: &mut Open,
        tale: &mut Tale,
    ) -> Result<(), Trouble> {
        self.look_before_giving_up(key, open)?;
        self.ripen(key, open, tale)?;
        let now = self.now;
        let is_late = |wait: &Wait| has_expired(wait, now);
        let candidates = self.heard_by(key, open, is_late)?;
        // Who had given up by then expires; it does not lose.
        let may_lose = |wait: &Wait, entry: &Candidate| heard(wait, entry.visible_at);
        let may_have = |wait: &Wait, entry: &Candidate| is_late(wait) && may_lose(wait, entry);
        let met = self.offer_all(open, &candidates, may_have, may_lose)?;
        met.into_iter().for_each(|settled| settled.tell(tale));
        let mut late = open.close(is_late);
        late.sort_by_key(|wait| (wait.timeout_at, wait.key));
        let mut freed = Vec::new();
        for wait in &late {
            self.expire(wait)?;
            tale.push(expired(wait));
            freed.append(&mut self.release(wait)?);
        }
        self.return_to(key, open, freed, tale)
    }

    /// What became visible is accepted as if it had just come.
    fn ripen(&mut self, key: InstanceKey, open: &mut Open, tale: &mut Tale) -> Result<(), Trouble> {
        for (entry, wakes) in self.ripe(key)? {
            let since = since(&entry);
            let may_lose = |wait: &Wait| heard(wait, since);
            let may_have = |wait: &Wait| wakes && may_lose(wait);
            if let Some(met) = self.offer(open, &entry, may_have, may_lose)? {
                met.tell(tale);
                continue;
            }
            if entry.buffer == Buffer::None {
                self.move_to(entry.key, State::Dropped)?;
                continue;
            }
            if entry.buffer == Buffer::Latest {
                let older = self.older(key, entry.kind, &entry.name, (since, entry.key))?;
                self.supersede(&older, tale)?;
            }
            self.move_to(entry.key, State::Pending)?;
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
        let mail = self.claims.mail(key);
        if !mail.timed && !mail.kept {
            return Ok(());
        }
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
