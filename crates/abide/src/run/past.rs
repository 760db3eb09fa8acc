//! What replay knows: the history of a run, sorted by step.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::failure::Failure;
use crate::history::{Entry, EntryKind, Recorded, StepKind, seen_and_unseen};
use crate::id::InstanceId;
use crate::instance::End;
use crate::json::Json;
use crate::lifecycle::Terminate;
use crate::time::Timestamp;

use super::state::OpId;

/// One recorded step, until the workflow asks for it and sees it.
#[derive(Debug)]
pub(crate) struct PastStep {
    pub(crate) kind: StepKind,
    /// The last attempt that began.
    pub(crate) attempt: u32,
    /// Failures of the present round of attempts.
    pub(crate) failed: u32,
    /// Crashes in a row.
    pub(crate) interrupted: u32,
    pub(crate) began_at: Timestamp,
    pub(crate) standing: Standing,
    pub(crate) child_id: Option<InstanceId>,
    /// When a wait gives up.
    pub(crate) deadline: Option<Timestamp>,
    /// The operation that asked for it on this replay.
    pub(crate) asked: Option<OpId>,
}

/// Where a recorded step stands.
#[derive(Debug)]
pub(crate) enum Standing {
    /// An attempt began and nothing more is known: the process died in it.
    Begun,
    /// It rests until this moment: a sleep, or the delay before a retry.
    Until(Timestamp),
    /// All attempts failed and the instance paused; a new round begins when resumed.
    Exhausted,
    /// It has its outcome.
    Settled(Result<Json, Failure>),
    /// The workflow dropped it.
    Cancelled,
}

/// What replay shows next.
#[derive(Debug)]
pub(crate) enum PastReveal {
    /// The outcome of this step.
    Step(Arc<str>),
    /// That the workflow is to be dropped and compensated, and how it ends then.
    Terminating(End),
}

impl PastReveal {
    pub(crate) fn terminating(entry: &Entry) -> Self {
        Self::Terminating(match &entry.error {
            Some(failure) => End::Errored(failure.clone()),
            None => {
                let reason = entry.reason.clone().unwrap_or_default();
                End::Terminated(Terminate::because(reason).failure())
            }
        })
    }
}

/// The history of the current run.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) steps: HashMap<Arc<str>, PastStep>,
    pub(crate) order: VecDeque<PastReveal>,
    /// Marks of what the store recorded and this life is the first to see, after everything else.
    pub(crate) seen_now: Vec<Entry>,
    /// When waits were met that this life is the first to see.
    pub(crate) met_at: Vec<Timestamp>,
    /// Steps that were recorded and not yet asked for: while there are any, the workflow is
    /// replaying.
    pub(crate) unasked: usize,
    /// How often each output was set, and each update told.
    pub(crate) told: HashMap<(EntryKind, Arc<str>), u32>,
    /// Bytes of all recorded results.
    pub(crate) bytes: usize,
    /// The number of the last entry.
    pub(crate) last_seq: i64,
    /// When the run began; `None` when nothing is recorded.
    pub(crate) began_at: Option<Timestamp>,
}

impl Past {
    pub(crate) fn read(history: &[Recorded]) -> Self {
        let mut past = Self::default();
        for recorded in history {
            past.began_at.get_or_insert(recorded.at);
            past.last_seq = past.last_seq.max(recorded.seq);
            past.record(recorded);
        }
        past.unasked = past.steps.len();
        let (seen, unseen) = seen_and_unseen(history);
        for recorded in seen.iter().chain(&unseen) {
            let entry = &recorded.entry;
            if entry.entry == EntryKind::WorkflowTerminating {
                past.order.push_back(PastReveal::terminating(entry));
            } else if let Some(name) = entry.name.as_ref().filter(|_| !entry.step_kind().is_value())
            {
                past.order.push_back(PastReveal::Step(Arc::clone(name)));
            }
        }
        let met = unseen.iter().filter(|met| met.entry.entry == EntryKind::WaitFulfilled);
        past.met_at = met.map(|met| met.at).collect();
        past.seen_now = unseen.iter().map(|recorded| recorded.entry.seen()).collect();
        past
    }

    fn record(&mut self, recorded: &Recorded) {
        let entry = &recorded.entry;
        if let (kind @ (EntryKind::OutputSet | EntryKind::Update), Some(key)) =
            (entry.entry, &entry.name)
        {
            *self.told.entry((kind, Arc::clone(key))).or_default() += 1;
        }
        let Some(name) = entry.step() else { return };
        let step = self.steps.entry(Arc::clone(name)).or_insert_with(|| PastStep {
            kind: entry.step_kind(),
            attempt: 0,
            failed: 0,
            interrupted: 0,
            began_at: recorded.at,
            standing: Standing::Begun,
            child_id: None,
            deadline: entry.deadline,
            asked: None,
        });
        if let Some(child) = &entry.child_id {
            step.child_id = Some(child.clone());
        }
        match entry.entry {
            EntryKind::StepStarted => {
                if let Standing::Exhausted = step.standing {
                    // A new round has its own time.
                    step.began_at = recorded.at;
                }
                step.attempt = entry.attempt.unwrap_or(1);
                step.standing = Standing::Begun;
            }
            EntryKind::SleepStarted => {
                step.standing = Standing::Until(entry.resume_at.unwrap_or(recorded.at));
            }
            EntryKind::StepFailed if entry.will_retry => step.attempt_failed(entry),
            EntryKind::RetryScheduled => {
                step.standing = Standing::Until(entry.next_attempt_at.unwrap_or(recorded.at));
            }
            EntryKind::RetryExhausted if !matches!(step.standing, Standing::Settled(_)) => {
                step.standing = Standing::Exhausted;
                step.failed = 0;
            }
            EntryKind::WaitStarted => step.standing = Standing::Begun,
            EntryKind::StepCancelled | EntryKind::WaitCancelled => {
                step.standing = Standing::Cancelled
            }
            _ => {
                // The first outcome counts; a cancelled step has none.
                if let Some(outcome) = entry.outcome()
                    && !matches!(step.standing, Standing::Settled(_) | Standing::Cancelled)
                {
                    self.bytes += outcome.as_ref().map_or(0, Json::size);
                    step.standing = Standing::Settled(outcome);
                }
            }
        }
    }
}

impl PastStep {
    /// It was recorded after the history was read, and before the workflow asked for it.
    pub(crate) fn arrived(&mut self, outcome: Result<Json, Failure>) -> bool {
        let awaited = self.asked.is_none() && matches!(self.standing, Standing::Begun);
        if awaited {
            self.standing = Standing::Settled(outcome);
        }
        awaited
    }

    fn attempt_failed(&mut self, entry: &Entry) {
        if entry.error.as_ref().is_some_and(|error| error.code == "STEP_INTERRUPTED") {
            self.interrupted += 1;
        } else {
            self.failed += 1;
            self.interrupted = 0;
        }
    }
}
