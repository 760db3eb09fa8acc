//! Taking something that is already there, without waiting for it.

use std::sync::Arc;

use abide::history::{Entry, EntryKind, StepKind};
use abide::meeting::fulfilled;
use abide::{Hears, InstanceKey, NewTake, Result, Wait, WaitStatus};

use super::state::State;

impl State {
    /// Consumes the first that matches. The step is settled whether there was one or not.
    pub(super) fn take(&mut self, key: InstanceKey, take: &NewTake) -> Result<()> {
        let now = self.now;
        let wait = self.as_if_met(key, take)?;
        let mailbox = &mut self.kept(key)?.mailbox;
        let first = mailbox.visible(now).into_iter().find(|mail| {
            let sent = &mailbox.mail(*mail).sent;
            wait.hears.is_met_by(sent.kind, &sent.name)
        });
        let settles = Entry::of_step(EntryKind::StepCompleted, &take.step, StepKind::Take);
        let Some(mail) = first else { return self.arrive(key, &settles) };
        let Entry { event_id, payload, .. } = fulfilled(&wait, &mailbox.mail(mail).sent);
        mailbox.remove(mail);
        self.arrive(key, &Entry { event_id, payload, ..settles })
    }

    /// The wait that would have been met: what is taken looks like what it would have been given.
    fn as_if_met(&mut self, key: InstanceKey, take: &NewTake) -> Result<Wait> {
        let now = self.now;
        let instance = &self.kept(key)?.instance;
        Ok(Wait {
            key: 0,
            id: Arc::from(""),
            instance: key,
            instance_id: instance.id.clone(),
            run: instance.run,
            step: take.step.clone(),
            hears: Hears::Sent { kind: take.kind, pattern: take.pattern.clone() },
            status: WaitStatus::Fulfilled,
            created_at: now,
            timeout_at: None,
            fulfilled_at: None,
            fulfilled_by: None,
        })
    }
}
