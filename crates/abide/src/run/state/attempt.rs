//! Attempts of a step: how they begin, fail, rest and end.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::failure::Failure;
use crate::history::{Entry, EntryKind};
use crate::json::Json;
use crate::retry::Retry;
use crate::time::Timestamp;

use super::{OpId, Outcome, Reveal, Stage, State, millis};

impl State {
    pub(super) fn start_attempt(&mut self, id: OpId) {
        let op = self.op(id);
        op.attempt += 1;
        op.stage = Stage::Held;
        let started = Entry {
            attempt: Some(op.attempt),
            ..Entry::of_step(EntryKind::StepStarted, &op.name, op.kind)
        };
        let timeout = op.timeout_ms.map(|ms| (ms, Arc::clone(&op.name), op.kind));
        self.record(&started);
        if let Some((ms, name, kind)) = timeout {
            let deadline = self.clock.now().after(Duration::from_millis(ms));
            self.record(&Entry {
                deadline: Some(deadline),
                timeout_ms: Some(ms),
                ..Entry::of_step(EntryKind::TimeoutSet, &name, kind)
            });
        }
        self.active += 1;
        self.held.push(id);
    }

    /// Which attempt of a step is under way, from 1.
    pub(crate) fn attempt_of(&self, id: OpId) -> u32 {
        self.ops.get(&id).map_or(0, |op| op.attempt)
    }

    /// Begins anew with all attempts.
    pub(super) fn start_round(&mut self, id: OpId) {
        let now = self.clock.now();
        let op = self.op(id);
        op.failed = 0;
        op.began_at = now;
        self.start_attempt(id);
    }

    /// The instance goes on: what was exhausted begins a new round.
    pub(crate) fn resumed(&mut self) {
        let exhausted = self.ops.iter().filter(|(_, op)| matches!(op.stage, Stage::Exhausted));
        let mut exhausted: Vec<OpId> = exhausted.map(|(id, _)| *id).collect();
        exhausted.sort_unstable();
        for id in exhausted {
            self.start_round(id);
        }
    }

    /// The process died in an attempt. It is tried again at once, but not for ever, and not at
    /// all when the step asked to run at most once.
    pub(super) fn interrupted(&mut self, id: OpId, retry: &Retry) {
        let max = self.max_interruptions;
        let op = self.op(id);
        op.interrupted += 1;
        let (name, kind) = (Arc::clone(&op.name), op.kind);
        let (attempt, times) = (op.attempt, op.interrupted);
        let why_not = if retry.runs_at_most_once() {
            Some("it runs at most once".to_owned())
        } else if times >= max {
            Some(format!("{times} crashes in a row (step.maxInterruptions)"))
        } else {
            None
        };
        let message = why_not.as_deref().unwrap_or("the process stopped while it ran");
        let failure = Failure::new("STEP_INTERRUPTED", message).in_step(&name);
        self.record(&Entry {
            attempt: Some(attempt),
            will_retry: why_not.is_none(),
            error: Some(failure.clone()),
            ..Entry::of_step(EntryKind::StepFailed, &name, kind)
        });
        match why_not {
            None => self.start_attempt(id),
            Some(_) => self.settle(id, Err(failure)),
        }
    }

    /// An attempt has its result.
    pub(crate) fn succeeded(&mut self, id: OpId, result: Json) {
        let now = self.clock.now();
        let op = self.op(id);
        let entry = Entry {
            attempt: Some(op.attempt),
            duration_ms: Some(millis(now, op.began_at)),
            payload: Some(result.clone()),
            ..Entry::of_step(EntryKind::StepCompleted, &op.name, op.kind)
        };
        self.record(&entry);
        self.active -= 1;
        self.count_bytes(result.size());
        self.settle(id, Ok(result));
    }

    /// An attempt failed: rest and try again, pause, or fail the step.
    pub(crate) fn failed(&mut self, id: OpId, failure: Failure, retry: Option<&Retry>) {
        let now = self.clock.now();
        let random = self.clock.random();
        self.active -= 1;
        let op = self.op(id);
        op.failed += 1;
        op.interrupted = 0;
        let (name, kind, began_at) = (Arc::clone(&op.name), op.kind, op.began_at);
        let (attempt, failed) = (op.attempt, op.failed);
        let asked = failure.detail("retryAfterMs").map(Duration::from_millis);
        let delay = retry.and_then(|retry| retry.next(failed, now.since(began_at), asked, random));
        let pauses = retry.is_some_and(Retry::pauses_when_exhausted) && delay.is_none();
        if failure.code == "STEP_TIMEOUT" {
            self.record(&Entry {
                timeout_ms: failure.detail("timeoutMs"),
                ..Entry::of_step(EntryKind::TimeoutExceeded, &name, kind)
            });
        }
        let message = failure.message.clone();
        let last = match retry {
            Some(_) if delay.is_none() => exhausted(&name, failed, message),
            _ => failure.clone(),
        };
        self.record(&Entry {
            attempt: Some(attempt),
            will_retry: delay.is_some() || pauses,
            error: Some(if pauses { failure } else { last.clone() }),
            ..Entry::of_step(EntryKind::StepFailed, &name, kind)
        });
        if retry.is_some() && delay.is_none() {
            self.record(&Entry {
                attempts: Some(failed),
                ..Entry::of_step(EntryKind::RetryExhausted, &name, kind)
            });
        }
        if let Some(delay) = delay {
            let at = now.after(delay);
            self.record(&Entry {
                attempt: Some(attempt + 1),
                next_attempt_at: Some(at),
                delay_ms: Some(millis(at, now)),
                ..Entry::of_step(EntryKind::RetryScheduled, &name, kind)
            });
            self.rest(id, at);
        } else if pauses {
            self.op(id).stage = Stage::Exhausted;
            self.pause_for = Some(name);
        } else {
            self.settle(id, Err(last));
        }
    }

    pub(super) fn rest(&mut self, id: OpId, until: Timestamp) {
        self.op(id).stage = Stage::Until(until);
        self.timers.insert(until, id);
    }

    pub(super) fn wait_outside(&mut self, id: OpId) {
        let op = self.op(id);
        op.stage = Stage::Outside;
        let name = Arc::clone(&op.name);
        self.outside.insert(name, id);
    }

    pub(super) fn settle(&mut self, id: OpId, outcome: Outcome) {
        if let Some(at) = self.op(id).deadline {
            self.deadlines.remove(at, id);
        }
        self.op(id).stage = Stage::Settled(outcome);
        self.line.push_back(Reveal::Op(id));
    }

    /// The future of an operation was dropped. While its workflow lives, that cancels it. Answers
    /// with a result that the workflow had not seen.
    pub(crate) fn dropped(&mut self, id: OpId) -> Option<Json> {
        let op = self.ops.remove(&id)?;
        let kind = op.kind;
        if kind.is_wait() {
            self.dropped_wait(id, &op);
            return None;
        }
        match op.stage {
            Stage::Settled(outcome) | Stage::Revealed(outcome) => return outcome.ok(),
            Stage::Never => return None,
            _ if self.dropping => return None,
            Stage::Held | Stage::Attempt => self.active -= 1,
            Stage::Exhausted => {}
            Stage::Until(at) => self.timers.remove(at, id),
            Stage::Outside => {
                self.outside.remove(&op.name);
            }
        }
        self.record(&Entry::of_step(EntryKind::StepCancelled, &op.name, kind));
        None
    }
}

fn exhausted(step: &str, attempts: u32, message: String) -> Failure {
    Error::StepRetryExhausted { step: step.to_owned(), attempts, message }.to_failure()
}
