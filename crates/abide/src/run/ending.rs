//! How a run comes to its end: returned, compensated, handed over, or paused for an operator.

use std::sync::Arc;

use serde_json::json;

use crate::cx::{self, Cx};
use crate::failure::Failure;
use crate::history::{Entry, EntryKind};
use crate::instance::{End, Transition};
use crate::json::Json;
use crate::workflow::Outcome;

use super::Run;

impl Run {
    /// The workflow, or its compensation, returned.
    pub(super) fn finished(&mut self, outcome: Outcome) {
        self.drop_body();
        if self.is_last_word(&outcome) {
            let mut state = self.resident.state.lock();
            state.check_all_asked();
            if state.mismatch.is_some() {
                return;
            }
        }
        match (self.compensating.take(), outcome) {
            (None, Ok(output)) => self.completed(output),
            (None, Err(failure)) => self.wind_up(End::Errored(failure)),
            (Some(end), Ok(_)) => self.end(end),
            (Some(end), Err(failure)) => self.end(End::Errored(caused_by(failure, &end))),
        }
    }

    /// Whether everything recorded must have been asked for by now. A terminated workflow was
    /// dropped somewhere on its way, and a failed one may still have steps to undo.
    pub(super) fn is_last_word(&self, outcome: &Outcome) -> bool {
        match &self.compensating {
            Some(end) => matches!(end, End::Errored(_)),
            None => outcome.is_ok() || self.resident.state.lock().compensations.is_empty(),
        }
    }

    pub(super) fn completed(&mut self, output: Json) {
        let limit = self.engine.env.config.payload_max;
        if output.size() > limit {
            let failure = cx::too_large("the output", output.size(), limit);
            return self.wind_up(End::Errored(failure));
        }
        self.end(End::Completed(output));
    }

    /// What the workflow left behind for us besides futures. True when the run can't go on.
    pub(super) fn look_up(&mut self) -> bool {
        let mut state = self.resident.state.lock();
        if let Some(what) = state.mismatch.clone() {
            drop(state);
            self.pause_unfit(Failure::new("NON_DETERMINISTIC", what));
            return true;
        }
        if let Some(failure) = state.fatal.take() {
            if !state.compensations.is_empty() && self.compensating.is_none() {
                // Replay must stop the workflow at the same place before it compensates.
                state.record(&Entry {
                    error: Some(failure.clone()),
                    ..Entry::new(EntryKind::WorkflowTerminating)
                });
                state.record(&Entry::new(EntryKind::Seen));
            }
            drop(state);
            self.wind_up(End::Errored(failure));
            return false;
        }
        if let Some(input) = state.continue_with.take() {
            drop(state);
            self.drop_body();
            self.end(End::Continued(input));
            return true;
        }
        if let Some(step) = state.pause_for.take() {
            // Like a pause from outside: what runs finishes, nothing begins.
            let failure = Failure::new("STEP_RETRY_EXHAUSTED", "no attempt is left").in_step(&step);
            state.record(&paused("retryExhausted", failure, Some(step)));
            state.next.pause = true;
            self.paused = true;
            return true;
        }
        false
    }

    /// Drops the workflow and compensates what it did, then ends.
    pub(super) fn wind_up(&mut self, end: End) {
        self.drop_body();
        self.timeout_at = None;
        let compensations = {
            let mut state = self.resident.state.lock();
            state.fatal = None;
            state.lift_limits();
            std::mem::take(&mut state.compensations)
        };
        if compensations.is_empty() || self.compensating.is_some() {
            return self.end(end);
        }
        self.resident.state.lock().dropping = false;
        self.compensating = Some(end);
        self.body = Some(cx::compensate(Cx::new(Arc::clone(&self.resident)), compensations));
        self.resident.set_poll_due();
    }

    pub(super) fn end(&mut self, end: End) {
        let now = self.engine.env.clock.now();
        let kind = match &end {
            End::Completed(_) => EntryKind::WorkflowCompleted,
            End::Errored(_) => EntryKind::WorkflowFailed,
            End::Terminated(_) => EntryKind::WorkflowTerminated,
            End::Continued(_) => EntryKind::WorkflowContinued,
        };
        let (payload, error) = match &end {
            End::Completed(value) | End::Continued(value) => (Some(value.clone()), None),
            End::Errored(failure) | End::Terminated(failure) => (None, Some(failure.clone())),
        };
        let took = u64::try_from(now.since(self.began_at).as_millis()).unwrap_or(u64::MAX);
        let mut state = self.resident.state.lock();
        state.record(&Entry { payload, error, duration_ms: Some(took), ..Entry::new(kind) });
        state.next.end = Some(end);
        self.ending = true;
    }

    /// The workflow does not fit its history: nothing it asked for since the last commit counts.
    pub(super) fn pause_unfit(&mut self, failure: Failure) {
        self.drop_body();
        let mut state = self.resident.state.lock();
        state.next = Transition::default();
        state.take_held();
        state.record(&paused("nonDeterministic", failure, None));
        state.next.pause = true;
        self.pausing = true;
    }
}

/// The instance can't go on without an operator.
fn paused(reason: &str, failure: Failure, step: Option<Arc<str>>) -> Entry {
    Entry {
        name: step,
        reason: Some(reason.to_owned()),
        error: Some(failure),
        ..Entry::new(EntryKind::WorkflowPaused)
    }
}

/// Compensation failed: what it was about is not forgotten.
fn caused_by(failure: Failure, end: &End) -> Failure {
    match end {
        End::Errored(cause) | End::Terminated(cause) => failure.with_details(&json!({
            "cause": { "code": cause.code, "message": cause.message },
        })),
        End::Completed(_) | End::Continued(_) => failure,
    }
}
