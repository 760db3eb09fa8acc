//! Changing the life of an instance from outside: applies what [`lifecycle::decide`] says.

use abide::lifecycle::{self, Control, Decision, Terminate};
use abide::store::{Due, Hint};
use abide::{Error, Instance, InstanceId, InstanceKey, Phase, Status, Timestamp};
use rusqlite::params;

use super::batch::{Batch, Head};
use super::commit::Speaker;
use super::meet::Tale;
use crate::failure::Trouble;
use crate::{row, waits};

impl Batch<'_> {
    pub(super) fn control(
        &mut self,
        id: &InstanceId,
        control: &Control,
    ) -> Result<Box<Instance>, Trouble> {
        self.guarded(|batch| {
            if !batch.caches.fanouts.is_empty()
                && let Some(key) = row::key_of(batch.connection, id.as_str())?
            {
                batch.settle_first(key)?;
            }
            let gone = || Error::InstanceNotFound { id: id.clone() };
            let instance = row::instance_by_id(batch.connection, id)?.ok_or_else(gone)?;
            batch.decide(&instance, control)?;
            if let Control::Terminate(how) = control {
                batch.terminate_children(&instance, how)?;
            }
            let after = row::instance_by_key(batch.connection, instance.key)?.ok_or_else(gone)?;
            Ok(Box::new(after))
        })
    }

    /// Tells everything below an instance to end. A list instead of recursion, because nothing
    /// bounds how deep children go.
    fn terminate_children(&mut self, top: &Instance, how: &Terminate) -> Result<(), Trouble> {
        let mut told = self.below(top, how)?;
        while let Some((key, how)) = told.pop() {
            self.settle_first(key)?;
            let Some(child) = row::instance_by_key(self.connection, key)? else { continue };
            self.decide(&child, &Control::Terminate(how.clone()))?;
            told.append(&mut self.below(&child, &how)?);
        }
        Ok(())
    }

    /// The children that have not ended and what they are told, the last key first.
    fn below(
        &self,
        parent: &Instance,
        how: &Terminate,
    ) -> Result<Vec<(InstanceKey, Terminate)>, Trouble> {
        if !how.cascade {
            return Ok(Vec::new());
        }
        let mut select = self.connection.prepare_cached(
            "SELECT key FROM instances WHERE parent_key = ?1 AND completed_at IS NULL
              ORDER BY key DESC",
        )?;
        let children = select.query_map([parent.key.0], |row| {
            Ok((InstanceKey(row.get(0)?), how.for_child(parent)))
        })?;
        Ok(children.collect::<rusqlite::Result<_>>()?)
    }

    fn decide(&mut self, instance: &Instance, control: &Control) -> Result<(), Trouble> {
        let key = instance.key;
        let head = Head { run: instance.run, next_seq: instance.next_seq };
        let history = || row::history_of_run(self.connection, instance).map_err(Error::from);
        match lifecycle::decide(instance, control, history)? {
            Decision::Pause(entry) => {
                self.record(key, head, &[entry])?;
                self.pause(key)
            }
            Decision::Resume(entry) => {
                self.record(key, head, &[entry])?;
                self.resume(key)
            }
            Decision::Terminate(entry, end) => {
                self.leave(key, &end, &[])?;
                self.happen(key, vec![entry])?;
                let (id, run) = (instance.id.clone(), instance.run);
                let has_parent = instance.parent.is_some();
                let log_from = instance.log_from;
                let (may_park, has_mail) = (true, false);
                let speaker = Speaker { key, id, run, has_parent, may_park, log_from, has_mail };
                self.end(&speaker, &end)
            }
            Decision::Compensate(entry) => {
                self.arrive(key, entry)?;
                self.unpause(key)
            }
            Decision::Wake(at) => self.nudge(instance, at),
            Decision::Restart(entries) => {
                let next_seq = self.let_go(instance, control)?;
                let next = Head { run: instance.run.saturating_add(1), next_seq };
                self.open_run(key, next, &entries, None)
            }
        }
    }

    /// What a restart leaves of waits, buffer and outputs: nothing if it is whole, all but the open
    /// waits if it is from a step. Answers with the next number of the history.
    fn let_go(&mut self, instance: &Instance, restart: &Control) -> Result<i64, Trouble> {
        if matches!(restart, Control::Restart { from_step: None }) {
            self.remember_keys()?;
            for wait in waits::open(self.connection, instance.key)? {
                self.unkey_wait(&wait)?;
            }
            self.forget_mail(instance.key)?;
            let mut update = self
                .connection
                .prepare_cached("UPDATE instances SET log_from = ?2 WHERE key = ?1")?;
            update.execute([instance.key.0, self.last_event()])?;
            return Ok(instance.next_seq);
        }
        let mut tale = Tale::new();
        self.cancel_open(instance.key, &[], &mut tale)?;
        self.happen(instance.key, tale)?;
        // One that has ended has no open waits, and its history did not go on.
        Ok(self.head(instance.key)?.map_or(instance.next_seq, |head| head.next_seq))
    }

    /// What has begun becomes `running`; what has not keeps the time of its start.
    fn resume(&mut self, key: InstanceKey) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE instances
                SET paused = 0, updated_at = ?2,
                    wake_at = CASE phase WHEN 'queued' THEN wake_at END,
                    phase = CASE phase WHEN 'queued' THEN phase ELSE 'running' END
              WHERE key = ?1
          RETURNING phase = 'running'",
        )?;
        if update.query_row([key.0, self.now.0], |row| row.get(0))? {
            self.hints.push(Hint::Runnable(key));
        }
        Ok(())
    }

    /// Has a parked instance looked at, now or at a moment.
    fn nudge(&mut self, instance: &Instance, at: Option<Timestamp>) -> Result<(), Trouble> {
        let Instance { key, wake_at, .. } = *instance;
        let is_parked = matches!(instance.status(), Status::Waiting | Status::Sleeping);
        let (phase, wake_at) = match at.filter(|at| *at > self.now) {
            _ if !is_parked => (instance.phase, wake_at),
            None => {
                self.hints.push(Hint::Runnable(key));
                (Phase::Running, None)
            }
            Some(at) if wake_at.is_none_or(|wake_at| at < wake_at) => {
                self.hints.push(Hint::Due(Due { at, key }));
                (instance.phase, Some(at))
            }
            Some(_) => (instance.phase, wake_at),
        };
        let mut update = self.connection.prepare_cached(
            "UPDATE instances SET updated_at = ?2, phase = ?3, wake_at = ?4 WHERE key = ?1",
        )?;
        update.execute(params![key.0, self.now.0, phase.as_str(), wake_at.map(|at| at.0)])?;
        Ok(())
    }

    fn unpause(&mut self, key: InstanceKey) -> Result<(), Trouble> {
        let mut update = self
            .connection
            .prepare_cached("UPDATE instances SET paused = 0, updated_at = ?2 WHERE key = ?1")?;
        update.execute([key.0, self.now.0])?;
        Ok(())
    }
}
