//! What the run asks of its state: what may begin, what is due, what to show next.

use std::sync::Arc;
use std::task::Waker;

use crate::history::{Entry, EntryKind, Recorded, StepKind};
use crate::json::Json;
use crate::metrics::Measured;
use crate::time::Timestamp;

use super::super::past::PastReveal;
use super::{Op, OpId, Outcome, Reveal, Revealed, Stage, State, millis};

impl State {
    /// Polls an operation: its outcome once revealed, otherwise where it stands.
    pub(crate) fn poll(&mut self, id: OpId, waker: &Waker) -> Option<Outcome> {
        let op = self.op(id);
        if let Stage::Revealed(_) = op.stage
            && let Some(op) = self.ops.remove(&id)
            && let Stage::Revealed(outcome) = op.stage
        {
            return Some(outcome);
        }
        let op = self.op(id);
        if !op.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            op.waker = Some(waker.clone());
        }
        None
    }

    pub(crate) fn may_run(&self, id: OpId) -> bool {
        self.ops.get(&id).is_some_and(|op| matches!(op.stage, Stage::Attempt))
    }

    /// The operations whose `started` record the next commit holds.
    pub(crate) fn take_held(&mut self) -> Vec<OpId> {
        std::mem::take(&mut self.held)
    }

    /// Their records are durable: they may begin.
    pub(crate) fn release(&mut self, held: Vec<OpId>) {
        for id in held {
            if let Some(op) = self.ops.get_mut(&id)
                && let Stage::Held = op.stage
            {
                op.stage = Stage::Attempt;
                wake(op);
            }
        }
    }

    /// Ends sleeps and begins retries that are due.
    pub(crate) fn tick(&mut self, now: Timestamp, measured: &Measured) {
        // The store was asked, or will be, what became of these.
        while self.deadlines.pop_due(now).is_some() {}
        while let Some((due, id)) = self.timers.pop_due(now) {
            let op = self.op(id);
            if op.kind != StepKind::Sleep {
                measured.retry_wakes.add_time(now.since(due));
                self.start_attempt(id);
                continue;
            }
            measured.timer_wakes.add_time(now.since(due));
            let entry = Entry {
                duration_ms: Some(millis(now, op.began_at)),
                ..Entry::of_step(EntryKind::SleepCompleted, &op.name, StepKind::Sleep)
            };
            self.record(&entry);
            self.settle(id, Ok(Json::null()));
        }
    }

    /// The store recorded something for this run.
    pub(crate) fn arrived(&mut self, recorded: &Recorded) {
        if recorded.seq <= self.past.last_seq {
            // Replay has it already: the hint and the read crossed.
            return;
        }
        self.past.last_seq = recorded.seq;
        let entry = &recorded.entry;
        if entry.entry == EntryKind::WorkflowTerminating {
            self.record(&entry.seen());
            self.past_left += 1;
            self.line.push_back(Reveal::Past(PastReveal::terminating(entry)));
        } else if let (EntryKind::WaitCancelled, Some(name)) = (entry.entry, &entry.name) {
            self.lost(name);
        } else if let Some(outcome) = entry.outcome()
            && let Some(name) = &entry.name
        {
            let size = outcome.as_ref().map_or(0, Json::size);
            if let Some(id) = self.outside.remove(name) {
                self.settle(id, outcome);
            } else if self.past.steps.get_mut(name).is_some_and(|step| step.arrived(outcome)) {
                // The workflow has not come that far in this life.
                self.past_left += 1;
                self.line.push_back(Reveal::Past(PastReveal::Step(Arc::clone(name))));
            } else {
                return;
            }
            self.record(&entry.seen());
            self.count_bytes(size);
        }
    }

    /// The number of the last arrival that was heard of.
    pub(crate) fn heard(&self) -> i64 {
        self.past.last_seq
    }

    /// Shows the workflow the next outcome in line.
    pub(crate) fn reveal(&mut self) -> Revealed {
        while let Some(next) = self.line.front() {
            let id = match next {
                Reveal::Op(id) => *id,
                Reveal::Past(PastReveal::Terminating(end)) => {
                    let end = end.clone();
                    self.line.pop_front();
                    self.past_left = self.past_left.saturating_sub(1);
                    return Revealed::Terminate(end);
                }
                Reveal::Past(PastReveal::Step(name)) => {
                    match self.past.steps.get(name).and_then(|step| step.asked) {
                        Some(id) => id,
                        None => {
                            let name = Arc::clone(name);
                            self.not_asked_for(&name);
                            return Revealed::Nothing;
                        }
                    }
                }
            };
            if let Some(Reveal::Past(_)) = self.line.pop_front() {
                self.past_left = self.past_left.saturating_sub(1);
            }
            // What was dropped in the meantime is skipped.
            if let Some(op) = self.ops.get_mut(&id)
                && let Stage::Settled(_) = op.stage
                && let Stage::Settled(outcome) = std::mem::replace(&mut op.stage, Stage::Never)
            {
                op.stage = Stage::Revealed(outcome);
                wake(op);
                return Revealed::Outcome;
            }
        }
        Revealed::Nothing
    }

    fn not_asked_for(&mut self, name: &str) {
        let waiting: Vec<&str> = self.ops.values().map(|op| &*op.name).collect();
        let waiting = if waiting.is_empty() { "nothing".to_owned() } else { waiting.join(", ") };
        self.mismatch.get_or_insert_with(|| {
            format!(
                "step {name:?} was recorded, but the workflow does not ask for it; it waits for {waiting}"
            )
        });
    }

    /// The workflow returned; did it ask for everything that was recorded?
    pub(crate) fn check_all_asked(&mut self) {
        let mut unasked = self
            .past
            .steps
            .iter()
            .filter(|(_, step)| step.asked.is_none() && !step.kind.is_value());
        if let Some((name, _)) = unasked.next() {
            self.mismatch.get_or_insert_with(|| {
                format!("step {name:?} was recorded, but the workflow ended without asking for it")
            });
        }
    }

    /// Forgets the operations and what they hold: their wakers point back at the instance.
    pub(crate) fn let_go(&mut self) {
        self.ops.clear();
        self.timers.clear();
        self.deadlines.clear();
        self.outside.clear();
        self.active = 0;
    }

    /// Whether an attempt runs, is about to, or something is in line to be seen.
    pub(crate) fn is_active(&self) -> bool {
        self.active > 0 || !self.line.is_empty()
    }

    pub(crate) fn has_attempts(&self) -> bool {
        self.active > 0
    }

    pub(crate) fn waits_outside(&self) -> bool {
        !self.outside.is_empty()
    }

    /// When something of it falls due.
    pub(crate) fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first().into_iter().chain(self.deadlines.first()).min()
    }
}

fn wake(op: &mut Op) {
    if let Some(waker) = op.waker.take() {
        waker.wake();
    }
}
