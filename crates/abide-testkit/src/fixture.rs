//! Instances, transitions and entries in few words, so that a test reads like a sentence:
//! `does().completes_step("charge").waits()`.

use std::sync::Arc;

use abide::history::{Entry, EntryKind, StepKind};
use abide::{
    End, Failure, InstanceId, Json, NewChild, NewInstance, Park, Phase, Timestamp, Transition,
};
use serde::Serialize;

/// An id that is known to be one.
#[must_use]
pub fn id(id: &str) -> InstanceId {
    InstanceId::new(id).unwrap()
}

/// A value as it is stored.
pub fn json<T: Serialize>(value: T) -> Json {
    Json::encode(&value).unwrap()
}

/// A failure of a workflow.
#[must_use]
pub fn failure(message: &str) -> Failure {
    Failure::new("BROKEN", message)
}

/// An instance of the workflow `flow` that begins now and has done nothing yet. Its input is its
/// id.
#[must_use]
pub fn instance(name: &str) -> NewInstance {
    NewInstance {
        id: id(name),
        workflow: "flow".into(),
        version: 1,
        input: json(name),
        correlation_id: None,
        tags: vec![],
        start_at: None,
        timeout: None,
        first: None,
    }
}

/// An entry about a step that is a function.
#[must_use]
pub fn step(entry: EntryKind, name: &str) -> Entry {
    Entry::of_step(entry, &Arc::from(name), StepKind::Step)
}

/// A transition in which nothing happened yet.
#[must_use]
pub fn does() -> Transition {
    Transition::default()
}

/// What a transition may do, one call each.
pub trait Does: Sized {
    /// Adds an entry to the history.
    fn records(self, entry: &Entry) -> Self;
    /// Parks.
    fn parks(self, phase: Phase, wake_at: Option<Timestamp>) -> Self;
    /// Starts a child.
    fn starts(self, child: &str, step: &str, awaited: bool) -> Self;
    /// Ends the run.
    fn ends(self, end: End) -> Self;
    /// Pauses itself.
    fn pauses(self) -> Self;
    /// Sets `workflow.context`.
    fn remembers<T: Serialize>(self, context: T) -> Self;

    /// Records the result of a step.
    fn completes_step(self, name: &str) -> Self {
        self.records(&step(EntryKind::StepCompleted, name))
    }
    /// Waits for something outside.
    fn waits(self) -> Self {
        self.parks(Phase::Waiting, None)
    }
    /// Waits for something outside, but not for ever.
    fn waits_until(self, at: Timestamp) -> Self {
        self.parks(Phase::Waiting, Some(at))
    }
    /// Sleeps.
    fn sleeps_until(self, at: Timestamp) -> Self {
        self.parks(Phase::Sleeping, Some(at))
    }
    /// Starts a child and waits for its end in a step.
    fn awaits(self, child: &str, step: &str) -> Self {
        self.starts(child, step, true)
    }
    /// Starts a child in a step and lets it go.
    fn detaches(self, child: &str, step: &str) -> Self {
        self.starts(child, step, false)
    }
    /// Returns a result.
    fn completes<T: Serialize>(self, output: T) -> Self {
        self.ends(End::Completed(json(output)))
    }
    /// Fails.
    fn errs(self, message: &str) -> Self {
        self.ends(End::Errored(failure(message)))
    }
    /// Hands over to the next run.
    fn continues<T: Serialize>(self, input: T) -> Self {
        self.ends(End::Continued(json(input)))
    }
}

impl Does for Transition {
    fn records(mut self, entry: &Entry) -> Self {
        self.entries.push(entry);
        self
    }

    fn parks(mut self, phase: Phase, wake_at: Option<Timestamp>) -> Self {
        let reason = (phase == Phase::Queued).then(|| "limit".to_owned());
        self.park = Some(Park { phase, wake_at, reason });
        self
    }

    fn starts(mut self, child: &str, step: &str, awaited: bool) -> Self {
        self.children.push(NewChild { instance: instance(child), step: step.into(), awaited });
        self
    }

    fn ends(mut self, end: End) -> Self {
        self.end = Some(end);
        self
    }

    fn pauses(mut self) -> Self {
        self.pause = true;
        self
    }

    fn remembers<T: Serialize>(mut self, context: T) -> Self {
        self.context = Some(json(context));
        self
    }
}
