//! Waits: met, cancelled, closed and edited.

use std::sync::Arc;

use abide::meeting::cancelled;
use abide::{Buffered, Error, InstanceKey, Timestamp, Transition, Wait, WaitStatus};
use rusqlite::params;

use super::batch::Batch;
use super::commit::Speaker;
use super::meet::Tale;
use crate::failure::Trouble;
use crate::row;
use crate::waits::{self, select_waits};

/// Whether a transition has to do with waits, buffer or outputs.
pub(super) fn has_events(transition: &Transition) -> bool {
    !transition.waits.is_empty()
        || !transition.takes.is_empty()
        || !transition.cancels.is_empty()
        || !transition.sends.is_empty()
        || !transition.outputs.is_empty()
}

impl Batch<'_> {
    /// Applies what a transition has to do with events, in the order of the rules.
    pub(super) fn apply_events(
        &mut self,
        speaker: &Speaker,
        transition: &Transition,
    ) -> Result<(), Trouble> {
        let returned = self.cancel_waits(speaker, &transition.cancels)?;
        for (key, value) in &transition.outputs {
            self.set_output(speaker, key, value)?;
        }
        for send in &transition.sends {
            self.send(speaker, send)?;
        }
        for take in &transition.takes {
            self.take(speaker, take)?;
        }
        self.reach(speaker, &transition.waits, &returned)
    }

    /// An open wait is met.
    pub(super) fn close_fulfilled(&self, wait: &Wait, by: Option<&str>) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions
                SET status = 'fulfilled', fulfilled_at = ?2, fulfilled_by_event_id = ?3
              WHERE key = ?1",
        )?;
        update.execute(params![wait.key, self.now.0, by])?;
        Ok(())
    }

    /// An open wait gives up.
    pub(super) fn expire(&self, wait: &Wait) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions SET status = 'expired' WHERE key = ?1",
        )?;
        update.execute([wait.key])?;
        Ok(())
    }

    /// A wait, open or met, is called off.
    pub(super) fn call_off(&self, wait: &Wait) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions
                SET status = 'cancelled', fulfilled_at = NULL, fulfilled_by_event_id = NULL
              WHERE key = ?1",
        )?;
        update.execute([wait.key])?;
        Ok(())
    }

    /// Calls off waits whose outcome nobody saw. Answers with what returned to the buffer by that.
    fn cancel_waits(
        &mut self,
        speaker: &Speaker,
        steps: &[Arc<str>],
    ) -> Result<Vec<Buffered>, Trouble> {
        let mut freed = Vec::new();
        for step in steps {
            let found = waits::all(
                self.connection,
                select_waits!(
                    "WHERE workflow_instance_id = ?1 AND wait_step_id = ?2 AND run = ?3
                       AND (status = 'active' OR status = 'fulfilled') ORDER BY key"
                ),
                params![speaker.id.as_str(), &**step, speaker.run],
            )?;
            for wait in found {
                self.call_off(&wait)?;
                freed.append(&mut self.release(&wait)?);
                if let Some(by) = &wait.fulfilled_by {
                    freed.extend(self.entry_of(speaker.key, by)?);
                }
            }
        }
        let mut tale = Tale::new();
        let returned = self.give_back(speaker.key, freed, &mut tale)?;
        self.happen(speaker.key, tale)?;
        Ok(returned)
    }

    /// Calls off every open wait of an instance, because its run is over. What they held is back.
    /// Those of some steps are called off by the run itself.
    pub(super) fn cancel_open(
        &mut self,
        key: InstanceKey,
        but: &[Arc<str>],
        tale: &mut Tale,
    ) -> Result<(), Trouble> {
        let open = waits::open(self.connection, key)?;
        let mut freed = Vec::new();
        for wait in open.into_iter().filter(|wait| !but.contains(&wait.step)) {
            self.call_off(&wait)?;
            tale.push(cancelled(&wait));
            freed.append(&mut self.release(&wait)?);
        }
        self.give_back(key, freed, tale)?;
        Ok(())
    }

    /// Gives an open wait another deadline.
    pub(super) fn edit_wait(
        &mut self,
        id: &str,
        timeout_at: Option<Timestamp>,
    ) -> Result<Wait, Trouble> {
        let found = waits::all(self.connection, select_waits!("WHERE id = ?1"), [id])?.pop();
        let Some(wait) = found else {
            return Err(Error::SubscriptionNotFound { id: id.to_owned() }.into());
        };
        if wait.status != WaitStatus::Active {
            let instance = row::instance_by_key(self.connection, wait.instance)?;
            let gone = || Error::InstanceNotFound { id: wait.instance_id.clone() };
            let status = instance.ok_or_else(gone)?.status();
            let action = "edit a closed wait of";
            return Err(Error::InvalidTransition { id: wait.instance_id, status, action }.into());
        }
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions SET timeout_at = ?2 WHERE key = ?1",
        )?;
        update.execute(params![wait.key, timeout_at.map(|at| at.0)])?;
        self.keep_awake(wait.instance)?;
        Ok(Wait { timeout_at, ..wait })
    }
}
