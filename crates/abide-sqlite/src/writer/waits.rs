//! Waits: met, cancelled, closed and edited.

use std::sync::Arc;

use abide::meeting::cancelled;
use abide::{Buffered, InstanceKey, Transition, Wait, WaitStatus};
use rusqlite::params;

use super::batch::Batch;
use super::commit::Speaker;
use super::meet::Tale;
use crate::failure::Trouble;
use crate::waits::{self, select_waits};

/// Whether a transition has to do with waits, buffer or outputs.
pub(super) fn has_events(transition: &Transition) -> bool {
    is_about_mail(transition) || !transition.outputs.is_empty()
}

/// Whether a transition has to do with waits or the buffer.
pub(super) fn is_about_mail(transition: &Transition) -> bool {
    !transition.waits.is_empty()
        || !transition.takes.is_empty()
        || !transition.cancels.is_empty()
        || !transition.sends.is_empty()
        || !transition.publishes.is_empty()
}

impl Batch<'_> {
    /// Applies what a transition has to do with events, in the order of the rules. `false` when
    /// what it published ended the instance, and the rest with it.
    pub(super) fn apply_events(
        &mut self,
        speaker: &Speaker,
        transition: &Transition,
    ) -> Result<bool, Trouble> {
        let returned = self.cancel_waits(speaker, &transition.cancels)?;
        for (key, value) in &transition.outputs {
            self.set_output(speaker, key, value)?;
        }
        for send in &transition.sends {
            self.send(speaker, send)?;
        }
        for publish in &transition.publishes {
            self.publish_for(speaker, publish)?;
            if self.head(speaker.key)?.is_none() {
                return Ok(false);
            }
        }
        for take in &transition.takes {
            self.take(speaker, take)?;
        }
        self.reach(speaker, &transition.waits, &returned)?;
        Ok(true)
    }

    /// An open wait is met.
    pub(super) fn close_fulfilled(
        &mut self,
        wait: &Wait,
        by: Option<&Buffered>,
    ) -> Result<(), Trouble> {
        let (id, entry) = (by.map(|by| &*by.id), by.map(|by| by.key));
        self.hot.fulfil.execute(params![wait.key, self.now.0, id, entry])?;
        self.claims.closed(wait.instance);
        self.unkey_wait(wait)
    }

    /// An open wait gives up.
    pub(super) fn expire(&mut self, wait: &Wait) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions SET status = 'expired' WHERE key = ?1",
        )?;
        update.execute([wait.key])?;
        self.claims.closed(wait.instance);
        self.unkey_wait(wait)
    }

    /// A wait, open or met, is called off.
    pub(super) fn call_off(&mut self, wait: &Wait) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions
                SET status = 'cancelled', fulfilled_at = NULL, fulfilled_by_event_id = NULL,
                    fulfilled_by_entry = NULL
              WHERE key = ?1",
        )?;
        update.execute([wait.key])?;
        if wait.status == WaitStatus::Active {
            self.claims.closed(wait.instance);
            self.unkey_wait(wait)?;
        }
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
                freed.extend(self.met_by(&wait)?);
                self.call_off(&wait)?;
                freed.append(&mut self.release(&wait)?);
            }
        }
        let mut tale = Tale::new();
        let returned = self.give_back(speaker.key, freed, &mut tale)?;
        self.happen(speaker.key, tale)?;
        Ok(returned)
    }

    /// The entry that a wait was met by.
    fn met_by(&self, wait: &Wait) -> Result<Option<i64>, Trouble> {
        if wait.status != WaitStatus::Fulfilled {
            return Ok(None);
        }
        let mut select = self.connection.prepare_cached(
            "SELECT fulfilled_by_entry FROM workflow_event_subscriptions WHERE key = ?1",
        )?;
        Ok(select.query_row([wait.key], |row| row.get(0))?)
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
}
