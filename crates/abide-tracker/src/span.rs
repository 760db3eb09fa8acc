//! Runs of instances and attempts of steps as the spans of a trace, told once they are over.

use std::sync::Arc;

use abide::history::{Entry, EntryKind, Recorded, StepKind};
use abide::trace::{SpanId, Trace};
use abide::{Failure, TailRow, Timestamp};
use serde::Serialize;

use crate::course::Course;
use crate::event::iso;
use crate::life::{Life, Open};

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// Its trace and its own id.
    #[serde(rename = "traceparent")]
    pub trace: Trace,
    /// What it is under; none begins a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<SpanId>,
    /// The run that it is of, when that is in another trace: an event brought it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_run: Option<Trace>,
    /// The workflow, or the step.
    pub name: Arc<str>,
    /// What it is; none is a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<StepKind>,
    /// Which run of the instance.
    pub run: u32,
    /// Which attempt of the step, from 1; 1 for a run.
    pub attempt: u32,
    /// When it began.
    #[serde(serialize_with = "iso")]
    pub began_at: Timestamp,
    /// When it was over.
    #[serde(serialize_with = "iso")]
    pub ended_at: Timestamp,
    /// `completed`, `failed`, `cancelled`, `terminated`, `continued` or `restarted`.
    pub outcome: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// What is over with an entry. `life` is the instance before it.
pub(crate) fn ended(life: &Life, row: &TailRow, recorded: &Recorded) -> Vec<Span> {
    let Some(course) = life.course() else { return Vec::new() };
    let ending = Ending { life, course, row, at: recorded.at };
    let entry = &recorded.entry;
    let spans = match entry.entry {
        EntryKind::WorkflowCompleted => ending.of_run("completed", None),
        EntryKind::WorkflowFailed => ending.of_run("failed", entry.error.clone()),
        EntryKind::WorkflowTerminated => ending.of_run("terminated", entry.error.clone()),
        EntryKind::WorkflowContinued => ending.of_run("continued", None),
        EntryKind::WorkflowRestarted if !life.is_over() => ending.of_run("restarted", None),
        _ => ending.of_attempt(entry).into_iter().collect(),
    };
    // What its beginner does not want told, nobody tells.
    spans.into_iter().filter(|span| span.trace.is_sampled()).collect()
}

struct Ending<'e> {
    life: &'e Life,
    course: &'e Course,
    row: &'e TailRow,
    at: Timestamp,
}

impl Ending<'_> {
    /// The run, and whatever it leaves undone.
    fn of_run(&self, outcome: &'static str, failure: Option<Failure>) -> Vec<Span> {
        let open = self.life.open().filter(|(_, open)| !open.awaits_retry());
        let mut spans: Vec<Span> =
            open.map(|(name, open)| self.span(name, open, open.under, "cancelled")).collect();
        spans.push(Span {
            trace: self.course.run,
            parent: self.course.parent,
            of_run: None,
            name: Arc::clone(&self.row.workflow),
            kind: None,
            run: self.life.run(),
            attempt: 1,
            began_at: self.life.began_at(),
            ended_at: self.at,
            outcome,
            failure,
        });
        spans
    }

    fn of_attempt(&self, entry: &Entry) -> Option<Span> {
        let (outcome, failure) = outcome(entry)?;
        let name = entry.name.as_ref()?;
        let open = match self.life.open().find(|(open, _)| *open == name) {
            // Its last attempt was told when it failed.
            Some((_, open)) if open.awaits_retry() => return None,
            Some((_, open)) => open.clone(),
            // Sent, published, taken or started: done as soon as it is recorded.
            None if entry.entry == EntryKind::StepCompleted => self.life.opens(entry, self.at),
            None => return None,
        };
        let under = Trace::brought_by(entry).or(open.under);
        Some(Span { failure, ..self.span(name, &open, under, outcome) })
    }

    fn span(
        &self,
        name: &Arc<str>,
        open: &Open,
        under: Option<Trace>,
        outcome: &'static str,
    ) -> Span {
        let (run, under) = (self.life.run(), under.unwrap_or(self.course.now));
        let is_elsewhere = under.id() != self.course.run.id();
        Span {
            trace: under.under(SpanId::of_attempt(&self.row.id, run, name, open.attempt)),
            parent: Some(under.span()),
            of_run: is_elsewhere.then_some(self.course.run),
            name: Arc::clone(name),
            kind: Some(open.kind),
            run,
            attempt: open.attempt,
            began_at: open.since,
            ended_at: self.at,
            outcome,
            failure: None,
        }
    }
}

/// How the attempt ended that an entry is about, if it ended one.
fn outcome(entry: &Entry) -> Option<(&'static str, Option<Failure>)> {
    use EntryKind::{
        SleepCompleted, StepCancelled, StepCompleted, StepFailed, WaitCancelled, WaitExpired,
        WaitFulfilled,
    };
    match entry.entry {
        // What a restart kept was told in its own run, and values are no steps to anybody.
        _ if entry.cached || entry.step_kind().is_value() => None,
        StepCompleted | SleepCompleted | WaitFulfilled => Some(("completed", None)),
        StepFailed | WaitExpired => Some(("failed", entry.error.clone())),
        StepCancelled | WaitCancelled => Some(("cancelled", None)),
        _ => None,
    }
}
