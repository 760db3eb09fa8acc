//! What a claimed instance did, and what follows from it: arrivals, ends and next runs.

use std::sync::Arc;

use abide::history::{Entries, Entry, Recorded};
use abide::lifecycle::{started, told_to_parent};
use abide::meeting::{published, sent};
use abide::store::{Commit, Committed, Ended, Epoch, Hint};
use abide::{End, InstanceKey, Json, Phase, Result, Transition};

use super::state::{Kept, State};

impl State {
    /// Applies a transition, unless the claim, the run or the life of the instance is over.
    pub(super) fn commit(&mut self, commit: &Commit) -> Result<Committed> {
        if !self.may_speak(commit.key, commit.epoch, commit.run) {
            return Ok(Committed::Fenced);
        }
        let Transition { end, cancels, .. } = &*commit.transition;
        if let Some(end) = end {
            self.leave(commit.key, end, cancels)?;
        }
        self.record(commit.key, &commit.transition.entries.text())?;
        self.apply(commit.key, &commit.transition, commit.heard)?;
        Ok(Committed::Stored)
    }

    /// Whether a claim and a run are those of an instance that lives.
    pub(super) fn may_speak(&self, key: InstanceKey, epoch: Epoch, run: u32) -> bool {
        self.kept.get(&key).is_some_and(|kept| {
            kept.claim == Some(epoch)
                && kept.instance.run == run
                && !kept.instance.phase.is_terminal()
        })
    }

    /// Everything in a transition but its history row, in the order of the rules.
    /// A park decided before an arrival was `heard` of is left out. What it publishes may end the
    /// instance; then the rest is left out.
    pub(super) fn apply(
        &mut self,
        key: InstanceKey,
        transition: &Transition,
        heard: i64,
    ) -> Result<()> {
        for chunk in &transition.chunks {
            self.keep_chunk(key, chunk)?;
        }
        let Kept { instance, arrived, .. } = self.kept(key)?;
        if let Some(context) = &transition.context {
            instance.context = Some(context.clone());
        }
        if let Some(park) = transition.park.as_ref().filter(|_| *arrived <= heard) {
            instance.phase = park.phase;
            instance.wake_at = park.wake_at;
            instance.queued_reason = park.reason.clone();
        }
        if transition.pause {
            self.pause(key)?;
        }
        let Kept { instance, mailbox, .. } = self.kept(key)?;
        let (returned, row) = mailbox.cancel(&transition.cancels, instance.run);
        self.happen(key, &row)?;
        self.send(key, transition)?;
        if self.kept(key)?.instance.phase.is_terminal() {
            return Ok(());
        }
        for take in &transition.takes {
            self.take(key, take)?;
        }
        self.reach(key, &transition.waits, &returned)?;
        self.keep_awake(key)?;
        for child in &transition.children {
            self.start_child(key, child)?;
        }
        transition.end.as_ref().map_or(Ok(()), |end| self.end(key, end))
    }

    /// What a transition tells others: outputs, sends, publishes.
    fn send(&mut self, key: InstanceKey, transition: &Transition) -> Result<()> {
        for (name, value) in &transition.outputs {
            self.set_output(key, name, value)?;
        }
        for send in &transition.sends {
            let answer = self.deliver(&send.delivery);
            self.arrive(key, &sent(&send.step, &send.delivery.to, &answer))?;
        }
        for publish in &transition.publishes {
            if self.kept(key)?.instance.phase.is_terminal() {
                break;
            }
            let answer = self.publish(&publish.publish);
            self.arrive(key, &published(&publish.step, &answer))?;
        }
        Ok(())
    }

    /// An overlay: the phase goes on underneath, and whoever holds the claim keeps it.
    pub(super) fn pause(&mut self, key: InstanceKey) -> Result<()> {
        self.kept(key)?.instance.paused = true;
        self.hints.push(Hint::Paused(key));
        Ok(())
    }

    /// Records something for an instance that it did not do itself, and wakes it.
    pub(super) fn arrive(&mut self, key: InstanceKey, entry: &Entry) -> Result<()> {
        if self.kept(key)?.instance.phase.is_terminal() {
            return Ok(());
        }
        self.happen(key, std::slice::from_ref(entry))
    }

    /// Records a row that the instance did not write itself, if there is anything in it. It is an
    /// arrival when the runner has to see some of it.
    pub(super) fn happen(&mut self, key: InstanceKey, row: &[Entry]) -> Result<()> {
        if row.is_empty() {
            return Ok(());
        }
        let before = self.kept(key)?.history.len();
        self.record(key, &Entries::of(row).text())?;
        let kept = self.kept(key)?;
        let to_be_seen = kept.history[before..].iter().filter(|recorded| recorded.entry.arrives());
        let arrived: Vec<Recorded> = to_be_seen.cloned().collect();
        let Some(last) = arrived.last() else { return Ok(()) };
        kept.arrived = last.seq;
        if matches!(kept.instance.phase, Phase::Waiting | Phase::Sleeping) {
            kept.instance.phase = Phase::Running;
            kept.instance.wake_at = None;
        }
        self.hints
            .extend(arrived.into_iter().map(|recorded| Hint::Arrived(key, Box::new(recorded))));
        Ok(())
    }

    /// What a run that ends leaves behind: its open waits are cancelled, but those that it cancels
    /// itself, and what is buffered is discarded, unless another run follows.
    pub(super) fn leave(&mut self, key: InstanceKey, end: &End, but: &[Arc<str>]) -> Result<()> {
        let mailbox = &mut self.kept(key)?.mailbox;
        let mut row = mailbox.close(but);
        if !matches!(end, End::Continued(_)) {
            row.extend(mailbox.discard());
        }
        self.happen(key, &row)
    }

    /// Ends a run: for good, or by opening the next one.
    ///
    /// What it left behind went before; what its last commit itself left behind goes now.
    pub(super) fn end(&mut self, key: InstanceKey, end: &End) -> Result<()> {
        self.leave(key, end, &[])?;
        match end {
            End::Continued(input) => {
                let paused = self.kept(key)?.instance.paused;
                self.open_next_run(key, input.clone(), &[started(input)])?;
                self.kept(key)?.instance.paused = paused;
                Ok(())
            }
            End::Completed(output) => {
                self.kept(key)?.instance.output = Some(output.clone());
                self.end_for_good(key, Phase::Completed, end)
            }
            End::Errored(failure) => {
                self.kept(key)?.instance.error = Some(failure.clone());
                self.end_for_good(key, Phase::Errored, end)
            }
            End::Terminated(failure) => {
                self.kept(key)?.instance.error = Some(failure.clone());
                self.end_for_good(key, Phase::Terminated, end)
            }
        }
    }

    fn end_for_good(&mut self, key: InstanceKey, phase: Phase, end: &End) -> Result<()> {
        let now = self.now;
        let kept = self.kept(key)?;
        kept.claim = None;
        let instance = &mut kept.instance;
        instance.phase = phase;
        instance.paused = false;
        instance.queued_reason = None;
        instance.wake_at = None;
        instance.completed_at = Some(now);
        let told = told_to_parent(instance, end);
        let parent = instance.parent.as_mut().map(|parent| {
            // Told once: a restarted child is a stranger to its parent.
            parent.awaited = false;
            (parent.key, parent.run)
        });
        let ended = Ended {
            key,
            id: instance.id.clone(),
            status: instance.status(),
            output: instance.output.clone(),
            error: instance.error.clone(),
        };
        if let (Some(entry), Some((parent, run))) = (told, parent) {
            let waits = self.kept.get(&parent).is_some_and(|kept| kept.instance.run == run);
            if waits {
                self.arrive(parent, &entry)?;
            }
        }
        self.hints.push(Hint::Ended(ended));
        Ok(())
    }

    /// Run + 1: nothing of the last one is left but the history. Whoever ran it has to claim it
    /// again.
    pub(super) fn open_next_run(
        &mut self,
        key: InstanceKey,
        input: Json,
        opening: &[Entry],
    ) -> Result<()> {
        let now = self.now;
        let kept = self.kept(key)?;
        kept.claim = None;
        let instance = &mut kept.instance;
        instance.run += 1;
        instance.run_seq = instance.next_seq;
        instance.phase = Phase::Running;
        instance.paused = false;
        instance.queued_reason = None;
        instance.input = input;
        instance.context = None;
        instance.output = None;
        instance.error = None;
        instance.completed_at = None;
        instance.wake_at = None;
        instance.timeout_at = instance.timeout.map(|timeout| now.after(timeout));
        self.record(key, &Entries::of(opening).text())?;
        self.hints.push(Hint::Restarted(key));
        Ok(())
    }
}
