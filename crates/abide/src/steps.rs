//! The steps of a run, folded from its history.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::failure::Failure;
use crate::history::{EntryKind, Recorded, StepKind};
use crate::id::InstanceId;
use crate::json::Json;
use crate::status::words;
use crate::time::Timestamp;

words! {
    /// What a step is doing.
    StepStatus, "step status", {
        /// An attempt runs.
        Running = "running",
        /// It sleeps, or rests before a retry.
        Sleeping = "sleeping",
        /// It waits for something outside.
        Waiting = "waiting",
        /// It has its result.
        Completed = "completed",
        /// It failed for good.
        Failed = "failed",
        /// It was dropped before it finished.
        Cancelled = "cancelled",
    }
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// Its name, `name#n` from the second use on.
    pub name: Arc<str>,
    /// What it is.
    pub kind: StepKind,
    /// What it is doing.
    pub status: StepStatus,
    /// How many attempts began.
    pub attempts: u32,
    /// Its result.
    pub output: Option<Json>,
    /// How it failed.
    pub error: Option<Failure>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was settled.
    pub completed_at: Option<Timestamp>,
    /// When its rest is over.
    pub wake_at: Option<Timestamp>,
    /// Its failed attempts.
    pub retries: Vec<FailedAttempt>,
    /// The child it started.
    pub child_id: Option<InstanceId>,
    /// Whether a restart kept it from an earlier run.
    pub cached: bool,
}

/// An attempt that was followed by another.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedAttempt {
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How it failed.
    pub error: Option<Failure>,
    /// When.
    pub at: Timestamp,
}

/// Folds the history of an instance into the steps of its last run, in order of start.
#[must_use]
pub(crate) fn fold(history: &[Recorded]) -> Vec<StepRecord> {
    let last_run = history.last().map_or(0, |last| last.run);
    let mut steps: Vec<StepRecord> = Vec::new();
    let mut by_name: HashMap<Arc<str>, usize> = HashMap::new();
    for recorded in history.iter().filter(|recorded| recorded.run == last_run) {
        let entry = &recorded.entry;
        let Some(name) = entry.name.as_ref().filter(|_| is_about_a_step(entry.entry)) else {
            continue;
        };
        let at = *by_name.entry(Arc::clone(name)).or_insert_with(|| {
            steps.push(StepRecord {
                name: Arc::clone(name),
                kind: entry.step_kind(),
                status: StepStatus::Running,
                attempts: 0,
                output: None,
                error: None,
                started_at: recorded.at,
                completed_at: None,
                wake_at: None,
                retries: Vec::new(),
                child_id: None,
                cached: entry.cached,
            });
            steps.len() - 1
        });
        steps[at].apply(recorded);
    }
    steps
}

fn is_about_a_step(entry: EntryKind) -> bool {
    !matches!(
        entry,
        EntryKind::Seen
            | EntryKind::WorkflowRestarted
            | EntryKind::WorkflowPaused
            | EntryKind::EventReceived
            | EntryKind::EventBuffered
            | EntryKind::EventSuperseded
            | EntryKind::EventDiscarded
            | EntryKind::OutputSet
            | EntryKind::Update
            | EntryKind::MessageSent
    )
}

impl StepRecord {
    /// The steps of the last run of a history, in order of start.
    #[must_use]
    pub fn of(history: &[Recorded]) -> Vec<Self> {
        fold(history)
    }

    fn apply(&mut self, recorded: &Recorded) {
        let entry = &recorded.entry;
        if let Some(attempt) = entry.attempt.filter(|_| entry.entry != EntryKind::RetryScheduled) {
            self.attempts = self.attempts.max(attempt);
        }
        if let Some(child) = &entry.child_id {
            self.child_id = Some(child.clone());
        }
        match entry.entry {
            EntryKind::StepStarted => {
                self.status = if entry.step_kind().completed_by_store() {
                    StepStatus::Waiting
                } else {
                    StepStatus::Running
                };
                self.wake_at = None;
            }
            EntryKind::SleepStarted => {
                self.status = StepStatus::Sleeping;
                self.wake_at = entry.resume_at;
            }
            EntryKind::RetryScheduled => {
                self.status = StepStatus::Sleeping;
                self.wake_at = entry.next_attempt_at;
            }
            EntryKind::StepFailed if entry.will_retry => self.retries.push(FailedAttempt {
                attempt: entry.attempt.unwrap_or(self.attempts),
                error: entry.error.clone(),
                at: recorded.at,
            }),
            EntryKind::WaitStarted => {
                self.status = StepStatus::Waiting;
                self.wake_at = entry.deadline;
            }
            EntryKind::StepCancelled | EntryKind::WaitCancelled => {
                self.settle(StepStatus::Cancelled, recorded.at)
            }
            EntryKind::StepCompleted | EntryKind::SleepCompleted | EntryKind::WaitFulfilled => {
                self.output.clone_from(&entry.payload);
                self.settle(StepStatus::Completed, recorded.at);
            }
            EntryKind::StepFailed | EntryKind::WaitExpired => {
                self.error.clone_from(&entry.error);
                self.settle(StepStatus::Failed, recorded.at);
            }
            _ => {}
        }
    }

    fn settle(&mut self, status: StepStatus, at: Timestamp) {
        self.status = status;
        self.completed_at = Some(at);
        self.wake_at = None;
    }
}
