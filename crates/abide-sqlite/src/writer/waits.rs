//! Waits: reached, cancelled, closed and edited.

use std::collections::BTreeMap;
use std::sync::Arc;

use abide::history::{Entry, EntryKind, StepKind};
use abide::meeting::{cancelled, expired, fulfilled, has_expired, output_arrived};
use abide::{Error, Hears, InstanceKey, NewTake, NewWait, Timestamp, Transition, Wait, WaitStatus};
use rusqlite::params;

use super::batch::Batch;
use super::commit::Speaker;
use super::meet::{Tale, heard};
use crate::failure::Trouble;
use crate::waits::{self, OUTPUT, select_waits};
use crate::{outputs, row};

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

    /// Waits that were reached together meet what is there, give up at once, or are registered.
    /// What `returned` to the buffer meets the waits that were open before, too.
    fn reach(
        &mut self,
        speaker: &Speaker,
        new: &[NewWait],
        returned: &[i64],
    ) -> Result<(), Trouble> {
        if new.is_empty() && returned.is_empty() {
            return Ok(());
        }
        // Who is claimed and has no mail needs no look.
        let has_mail = self.claims.get(speaker.key).is_none_or(|claim| claim.has_mail);
        self.claims.note_mail(speaker.key);
        let mut open =
            if returned.is_empty() { vec![] } else { waits::open(self.connection, speaker.key)? };
        let first = self.keys.next_wait;
        for new in new {
            let wait = self.wait(self.keys.next_wait, speaker, new);
            self.keys.next_wait += 1;
            self.insert_wait(&wait)?;
            open.push(wait);
        }
        // What returned may lie behind others that the waits from before may not have.
        let at_most = match returned {
            _ if !has_mail => 0,
            [] => open.len(),
            [..] => usize::MAX,
        };
        let meetings = self.meet_buffered(speaker.key, &open, at_most, |wait, entry| {
            wait.key >= first || (returned.contains(&entry.key) && heard(wait, entry.visible_at))
        })?;
        // Told in the order of the waits, not of what they met.
        let mut settled = BTreeMap::new();
        for (by, wait) in &meetings {
            self.close_fulfilled(wait, Some(&by.id))?;
            settled.insert(wait.key, fulfilled(wait, by));
        }
        open.retain(|wait| wait.key >= first && !settled.contains_key(&wait.key));
        for wait in &open {
            if let Some(entry) = self.settle(wait)? {
                settled.insert(wait.key, entry);
            }
        }
        self.happen(speaker.key, settled.into_values().collect())
    }

    fn wait(&self, key: i64, speaker: &Speaker, new: &NewWait) -> Wait {
        Wait {
            key,
            id: Arc::clone(&new.id),
            instance: speaker.key,
            instance_id: speaker.id.clone(),
            run: speaker.run,
            step: Arc::clone(&new.step),
            hears: new.hears.clone(),
            status: WaitStatus::Active,
            created_at: self.now,
            timeout_at: new.timeout_at,
            fulfilled_at: None,
            fulfilled_by: None,
        }
    }

    /// What a wait comes to that nothing in the buffer met: an output that is there already, or a
    /// deadline that has passed.
    fn settle(&self, wait: &Wait) -> Result<Option<Entry>, Trouble> {
        if let Hears::Output { of, key } = &wait.hears
            && let Some(value) = outputs::value(self.connection, of.as_str(), key)?
        {
            self.close_fulfilled(wait, None)?;
            return Ok(Some(output_arrived(wait, &value)));
        }
        if has_expired(wait, self.now) {
            self.expire(wait)?;
            return Ok(Some(expired(wait)));
        }
        Ok(None)
    }

    fn insert_wait(&self, wait: &Wait) -> Result<(), Trouble> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO workflow_event_subscriptions (key, id, instance, workflow_instance_id,
                 run, kind, event_pattern, output_of, status, timeout_at, created_at,
                 fulfilled_at, fulfilled_by_event_id, wait_step_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
             ON CONFLICT (id) DO NOTHING",
        )?;
        let (kind, output_of) = match &wait.hears {
            Hears::Sent { kind, .. } => (kind.as_str(), None),
            Hears::Output { of, .. } => (OUTPUT, Some(of.as_str())),
        };
        let inserted = insert.execute(params![
            wait.key,
            &*wait.id,
            wait.instance.0,
            wait.instance_id.as_str(),
            wait.run,
            kind,
            wait.hears.pattern(),
            output_of,
            wait.status.as_str(),
            wait.timeout_at.map(|at| at.0),
            wait.created_at.0,
            wait.fulfilled_at.map(|at| at.0),
            wait.fulfilled_by.as_deref(),
            &*wait.step,
        ])?;
        if inserted == 0 {
            let message = format!("{:?} is the id of another wait", wait.id);
            return Err(Error::Invalid { what: "wait".into(), message }.into());
        }
        Ok(())
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
    fn call_off(&self, wait: &Wait) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions
                SET status = 'cancelled', fulfilled_at = NULL, fulfilled_by_event_id = NULL
              WHERE key = ?1",
        )?;
        update.execute([wait.key])?;
        Ok(())
    }

    /// Calls off waits whose outcome nobody saw. Answers with what returned to the buffer by that.
    fn cancel_waits(&mut self, speaker: &Speaker, steps: &[Arc<str>]) -> Result<Vec<i64>, Trouble> {
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
                freed.extend(wait.fulfilled_by);
            }
        }
        let mut kept = Vec::new();
        for id in &freed {
            if self.is_kept(speaker, id)? {
                kept.push(Arc::clone(id));
            }
        }
        freed.retain(|id| !kept.contains(id));
        let mut tale = Tale::new();
        let returned = self.give_back(speaker.key, &freed, &mut tale)?;
        if !returned.is_empty() {
            self.claims.note_mail(speaker.key);
        }
        self.happen(speaker.key, tale)?;
        Ok(returned)
    }

    /// Whether something fulfilled a wait of this run that was not called off.
    fn is_kept(&self, speaker: &Speaker, id: &str) -> Result<bool, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM workflow_event_subscriptions
               WHERE workflow_instance_id = ?1 AND run = ?2 AND status = 'fulfilled'
                 AND fulfilled_by_event_id = ?3)",
        )?;
        let values = params![speaker.id.as_str(), speaker.run, id];
        Ok(select.query_row(values, |row| row.get(0))?)
    }

    /// Takes the first that is there, or finds none; either way the step is settled.
    fn take(&mut self, speaker: &Speaker, take: &NewTake) -> Result<(), Trouble> {
        let hears = Hears::Sent { kind: take.kind, pattern: Arc::clone(&take.pattern) };
        let looks =
            NewWait { id: "".into(), step: Arc::clone(&take.step), hears, timeout_at: None };
        // It never becomes a record, so it gets no key of its own.
        let wait = self.wait(0, speaker, &looks);
        let met = self.meet_buffered(speaker.key, std::slice::from_ref(&wait), 1, |_, _| true)?;
        let found = met.first().map(|(by, wait)| fulfilled(wait, by));
        let (event_id, payload) =
            found.map_or((None, None), |entry| (entry.event_id, entry.payload));
        let done = Entry::of_step(EntryKind::StepCompleted, &take.step, StepKind::Take);
        self.arrive(speaker.key, Entry { event_id, payload, ..done })
    }

    /// Calls off every open wait of an instance, because its run is over.
    /// Those of some steps are called off by the run itself.
    pub(super) fn cancel_open(
        &self,
        key: InstanceKey,
        but: &[Arc<str>],
        tale: &mut Tale,
    ) -> Result<(), Trouble> {
        let open = waits::open(self.connection, key)?;
        for wait in open.into_iter().filter(|wait| !but.contains(&wait.step)) {
            self.call_off(&wait)?;
            tale.push(cancelled(&wait));
        }
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
