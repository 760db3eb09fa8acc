//! From rows of a history to the events that a sink is told. Pure.

use std::sync::Arc;

use abide::history::{Entry, EntryKind, Recorded};
use abide::{Failure, Json, TailRow};

use crate::config::Types;
use crate::event::{Other, TrackedError, TrackedEvent, What};
use crate::life::{Life, millis};
use crate::span;

/// Tells a row. `life` is the instance before it, and after it when this returns; `next` is the row of the same
/// instance that follows, if there is one: a wait that was met in its own commit is no rest.
pub(crate) fn tell(
    life: &mut Life,
    row: &TailRow,
    next: Option<&[Recorded]>,
    types: Types,
) -> Vec<TrackedEvent> {
    let mut telling = Telling { row, types, events: Vec::new() };
    if types == Types::Spans {
        for recorded in &row.recorded {
            for span in span::ended(life, row, recorded) {
                let id = span.trace.span().to_string();
                telling.derived(recorded, &id, What::Span(Box::new(span)));
            }
            life.apply(recorded, &row.id);
        }
        return telling.events;
    }
    let goes_on = life.goes_on(&row.recorded);
    for (index, recorded) in row.recorded.iter().enumerate() {
        if goes_on == Some(index) {
            telling.derived(recorded, "workflow.resumed", What::WorkflowResumed {});
            life.told_to_go_on();
        }
        telling.entry(life, recorded);
        life.apply(recorded, &row.id);
    }
    if let Some(last) = row.recorded.last()
        && let Some(resting) = life.rests(last.at, next)
    {
        let what = What::WorkflowPaused {
            reason: resting.reason.to_owned(),
            resume_at: resting.resume_at,
            step_name: Some(resting.step_name),
        };
        telling.derived(last, "workflow.paused", what);
    }
    telling.events
}

struct Telling<'t> {
    row: &'t TailRow,
    types: Types,
    events: Vec<TrackedEvent>,
}

impl Telling<'_> {
    /// The entry itself, and what follows from it.
    fn entry(&mut self, life: &Life, recorded: &Recorded) {
        let entry = &recorded.entry;
        match of_workflow(life, recorded).or_else(|| of_step(life, recorded)) {
            Some(what) => self.push(recorded, recorded.event_id(&self.row.id), what),
            None if self.types == Types::All => {
                let what = What::Other(other(entry));
                self.push(recorded, recorded.event_id(&self.row.id), what);
            }
            None => {}
        }
        let Some(step_name) = entry.name.clone() else { return };
        match entry.entry {
            EntryKind::WaitStarted => {
                if let Some(deadline) = entry.deadline {
                    let timeout_ms = millis(deadline, recorded.at);
                    let what = What::TimeoutSet { step_name, deadline, timeout_ms };
                    self.derived(recorded, "timeout.set", what);
                }
            }
            EntryKind::WaitExpired => {
                let detail = entry.error.as_ref().and_then(|error| error.detail("timeoutMs"));
                let what = What::TimeoutExceeded { step_name, timeout_ms: detail.unwrap_or(0) };
                self.derived(recorded, "timeout.exceeded", what);
            }
            _ => {}
        }
    }

    /// Something that is told because of an entry and has an id of its own.
    fn derived(&mut self, recorded: &Recorded, name: &str, what: What) {
        self.push(recorded, recorded.event_id_as(&self.row.id, name), what);
    }

    fn push(&mut self, recorded: &Recorded, event_id: String, what: What) {
        if self.types == Types::Default && is_value(&recorded.entry) {
            return;
        }
        self.events.push(TrackedEvent {
            event_id,
            timestamp: recorded.at,
            workflow_id: self.row.id.clone(),
            workflow_name: Arc::clone(&self.row.workflow),
            what,
        });
    }
}

/// Recorded time, randomness and the like are no steps to anybody but replay.
fn is_value(entry: &Entry) -> bool {
    entry.entry == EntryKind::StepCompleted && entry.step_kind().is_value()
}

fn of_workflow(life: &Life, recorded: &Recorded) -> Option<What> {
    let entry = &recorded.entry;
    let completed_steps = || life.completed().to_vec();
    let duration_ms = || entry.duration_ms.unwrap_or_else(|| life.lasted(recorded.at));
    Some(match entry.entry {
        EntryKind::WorkflowStarted => {
            What::WorkflowStarted { input: entry.payload.clone().unwrap_or_else(Json::null) }
        }
        EntryKind::WorkflowCompleted => What::WorkflowCompleted {
            completed_steps: completed_steps(),
            duration_ms: duration_ms(),
        },
        EntryKind::WorkflowFailed => {
            let failure = entry.error.as_ref();
            let step = failure.and_then(|failure| failure.step.as_deref());
            let attempt = step.and_then(|step| life.failed_attempt(step));
            let error = TrackedError { attempt, ..error_of(failure) };
            What::WorkflowFailed { error, completed_steps: completed_steps() }
        }
        EntryKind::WorkflowTerminated => {
            let said = entry.error.as_ref().map(|failure| failure.message.clone());
            What::WorkflowTerminated {
                reason: entry.reason.clone().or(said),
                completed_steps: completed_steps(),
                duration_ms: duration_ms(),
            }
        }
        EntryKind::WorkflowPaused => What::WorkflowPaused {
            reason: entry.reason.clone().unwrap_or_else(|| "manual".to_owned()),
            resume_at: None,
            step_name: entry.name.clone(),
        },
        EntryKind::WorkflowResumed => What::WorkflowResumed {},
        _ => return None,
    })
}

fn of_step(life: &Life, recorded: &Recorded) -> Option<What> {
    let entry = &recorded.entry;
    let step_name = entry.name.clone()?;
    let attempt = entry.attempt.unwrap_or(1);
    Some(match entry.entry {
        EntryKind::StepStarted => What::StepStarted { step_name, attempt },
        EntryKind::StepCompleted => {
            let lasted = || life.step_lasted(&step_name, recorded.at);
            let duration_ms = entry.duration_ms.unwrap_or_else(lasted);
            What::StepCompleted { step_name, attempt, duration_ms, cached: entry.cached }
        }
        EntryKind::StepFailed => {
            let error = TrackedError { step_name: None, ..error_of(entry.error.as_ref()) };
            What::StepFailed { step_name, attempt, error, will_retry: entry.will_retry }
        }
        EntryKind::RetryScheduled => What::RetryScheduled {
            step_name,
            attempt,
            next_attempt_at: entry.next_attempt_at.unwrap_or(recorded.at),
            delay_ms: entry.delay_ms.unwrap_or(0),
        },
        EntryKind::RetryExhausted => {
            What::RetryExhausted { step_name, attempts: entry.attempts.unwrap_or(attempt) }
        }
        EntryKind::SleepStarted => What::SleepStarted {
            duration_ms: entry.duration_ms.unwrap_or(0),
            resume_at: entry.resume_at.unwrap_or(recorded.at),
        },
        // One that a restart kept was told when it was slept.
        EntryKind::SleepCompleted if !entry.cached => {
            What::SleepCompleted { duration_ms: entry.duration_ms.unwrap_or(0) }
        }
        EntryKind::TimeoutSet => What::TimeoutSet {
            step_name,
            deadline: entry.deadline.unwrap_or(recorded.at),
            timeout_ms: entry.timeout_ms.unwrap_or(0),
        },
        EntryKind::TimeoutExceeded => {
            What::TimeoutExceeded { step_name, timeout_ms: entry.timeout_ms.unwrap_or(0) }
        }
        _ => return None,
    })
}

fn error_of(failure: Option<&Failure>) -> TrackedError {
    let Some(failure) = failure else { return TrackedError::default() };
    let Failure { message, step, .. } = failure;
    TrackedError { message: message.clone(), step_name: step.clone(), attempt: None }
}

fn other(entry: &Entry) -> Other {
    Other {
        entry_type: entry.entry.as_str(),
        name: entry.name.clone(),
        kind: entry.kind.map(|kind| kind.as_str()),
        payload: entry.payload.clone(),
        reason: entry.reason.clone(),
        pattern: entry.pattern.clone(),
        deadline: entry.deadline,
        source_event_id: entry.event_id.clone(),
        child_id: entry.child_id.clone(),
        error: entry.error.as_ref().map(|failure| error_of(Some(failure))),
    }
}

#[cfg(test)]
mod tests;
