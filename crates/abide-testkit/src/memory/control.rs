//! Changing the life of an instance from outside.

use abide::history::{Entries, Entry};
use abide::lifecycle::{Control, Decision, decide};
use abide::store::{Due, Hint};
use abide::{Error, Instance, InstanceId, InstanceKey, Phase, Result, Terminate, Timestamp};

use super::mailbox::Mailbox;
use super::state::State;

impl State {
    /// Does what was asked of an instance, or nothing.
    pub(super) fn control(&mut self, id: &InstanceId, control: &Control) -> Result<Instance> {
        let Some(key) = self.keys.get(id).copied() else {
            return Err(Error::InstanceNotFound { id: id.clone() });
        };
        self.tell(key, control)?;
        Ok(self.kept(key)?.instance.clone())
    }

    pub(super) fn tell(&mut self, key: InstanceKey, control: &Control) -> Result<()> {
        let kept = self.kept(key)?;
        match decide(&kept.instance, control, || Ok(kept.current_run()))? {
            Decision::Pause(entry) => {
                self.record_one(key, entry)?;
                self.pause(key)?;
            }
            Decision::Resume(entry) => {
                self.record_one(key, entry)?;
                self.resume(key)?;
            }
            Decision::Terminate(entry, end) => {
                self.leave(key, &end, &[])?;
                self.record_one(key, entry)?;
                self.end(key, &end)?;
            }
            Decision::Compensate(entry) => {
                kept.instance.paused = false;
                self.arrive(key, &entry)?;
            }
            Decision::Wake(at) => self.nudge(key, at)?,
            Decision::Restart(entries) => {
                let input = kept.instance.input.clone();
                self.let_go(key, control)?;
                self.open_next_run(key, input, &entries)?;
            }
        }
        match control {
            Control::Terminate(how) if how.cascade => self.tell_children(key, how),
            _ => Ok(()),
        }
    }

    /// What a restart leaves of the events: nothing if it is whole, all but the open waits if it is
    /// from a step.
    fn let_go(&mut self, key: InstanceKey, restart: &Control) -> Result<()> {
        let last_published = self.last_published;
        let kept = self.kept(key)?;
        if matches!(restart, Control::Restart { from_step: None }) {
            kept.instance.log_from = last_published;
            kept.mailbox = Mailbox::default();
            kept.chunks.clear();
            kept.outputs.clear();
            return Ok(());
        }
        let row = kept.mailbox.close(&[]);
        self.happen(key, &row)
    }

    /// What has begun is looked at anew; what has not keeps waiting for its start.
    fn resume(&mut self, key: InstanceKey) -> Result<()> {
        let instance = &mut self.kept(key)?.instance;
        instance.paused = false;
        if instance.phase != Phase::Queued {
            instance.phase = Phase::Running;
            instance.wake_at = None;
            self.hints.push(Hint::Runnable(key));
        }
        Ok(())
    }

    /// Has a parked instance looked at, now or at a moment.
    fn nudge(&mut self, key: InstanceKey, at: Option<Timestamp>) -> Result<()> {
        let now = self.now;
        let instance = &mut self.kept(key)?.instance;
        instance.updated_at = now;
        if instance.paused || !matches!(instance.phase, Phase::Waiting | Phase::Sleeping) {
            return Ok(());
        }
        match at.filter(|at| *at > now) {
            None => {
                instance.phase = Phase::Running;
                instance.wake_at = None;
                self.hints.push(Hint::Runnable(key));
            }
            Some(at) if instance.wake_at.is_none_or(|wake_at| at < wake_at) => {
                instance.wake_at = Some(at);
                self.hints.push(Hint::Due(Due { at, key }));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Each child is told with all of its own children before the next one is.
    fn tell_children(&mut self, key: InstanceKey, how: &Terminate) -> Result<()> {
        let told = Control::Terminate(how.for_child(&self.kept(key)?.instance));
        let children: Vec<InstanceKey> = self
            .kept
            .values()
            .map(|kept| &kept.instance)
            .filter(|child| child.parent.as_ref().is_some_and(|parent| parent.key == key))
            .filter(|child| !child.phase.is_terminal())
            .map(|child| child.key)
            .collect();
        children.into_iter().try_for_each(|child| self.tell(child, &told))
    }

    fn record_one(&mut self, key: InstanceKey, entry: Entry) -> Result<()> {
        self.record(key, &Entries::of(&[entry]).text())
    }
}
