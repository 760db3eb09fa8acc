//! What a tracker has to know of an instance to tell what happens to it, folded from its history.
//!
//! An instance *rests* when no attempt of a step runs and something is left that time or somebody else settles: a
//! sleep, a retry, a wait, a child. Nobody records that it rests; it is seen here at the end of a row.

use std::sync::Arc;

use abide::history::{Entry, EntryKind, Recorded, StepKind};
use abide::trace::Trace;
use abide::{InstanceId, Timestamp};
use hashbrown::HashMap;

use crate::course::Course;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Life {
    /// The number of the last entry that was folded.
    pub(crate) seq: i64,
    run: u32,
    began_at: Timestamp,
    completed: Vec<Arc<str>>,
    /// Steps that began and are not settled.
    open: HashMap<Arc<str>, Open>,
    /// How many of them run.
    running: usize,
    began: u32,
    /// Whether it was told to rest, and not yet to go on.
    is_told_to_rest: bool,
    /// Paused, by hand or by the engine.
    is_paused: bool,
    is_over: bool,
    last_failed: Option<(Arc<str>, u32)>,
    course: Option<Course>,
}

/// A step that is not settled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Open {
    /// Which step of the run it is, in order of beginning.
    nth: u32,
    pub(crate) since: Timestamp,
    pub(crate) kind: StepKind,
    pub(crate) attempt: u32,
    /// Where the run was in traces when it began.
    pub(crate) under: Option<Trace>,
    /// None while it runs.
    rest: Option<Rest>,
}

impl Open {
    /// Whether an attempt has failed and the next one has not begun.
    pub(crate) fn awaits_retry(&self) -> bool {
        self.rest.is_some_and(|rest| rest.why == Why::Retry)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rest {
    why: Why,
    until: Option<Timestamp>,
}

/// Why an instance rests. Waits come first: they are what it is said to be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    Event,
    Child,
    Sleep,
    Retry,
}

/// What an instance rests in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resting {
    pub(crate) reason: &'static str,
    pub(crate) resume_at: Option<Timestamp>,
    pub(crate) step_name: Arc<str>,
}

impl Life {
    /// Takes in what happened without telling it.
    pub(crate) fn absorb(&mut self, entries: &[Recorded], id: &InstanceId) {
        entries.iter().for_each(|recorded| self.apply(recorded, id));
        self.is_told_to_rest = self.running == 0 && !self.is_paused && !self.open.is_empty();
    }

    /// Takes in one entry.
    pub(crate) fn apply(&mut self, recorded: &Recorded, id: &InstanceId) {
        if recorded.run != self.run {
            *self = Self { run: recorded.run, began_at: recorded.at, ..Self::default() };
        }
        self.seq = recorded.seq;
        self.course = Course::after(self.course, recorded, id);
        let (at, entry) = (recorded.at, &recorded.entry);
        match entry.entry {
            EntryKind::WorkflowPaused => self.is_paused = true,
            EntryKind::WorkflowResumed => {
                (self.is_paused, self.is_told_to_rest) = (false, false);
            }
            EntryKind::WorkflowCompleted
            | EntryKind::WorkflowFailed
            | EntryKind::WorkflowTerminated
            | EntryKind::WorkflowContinued => self.is_over = true,
            EntryKind::StepFailed => {
                let attempt = entry.attempt.unwrap_or(1);
                self.last_failed = entry.name.clone().map(|name| (name, attempt));
                self.settle(entry);
            }
            EntryKind::StepCompleted => {
                if !entry.step_kind().is_value() {
                    self.completed.extend(entry.name.clone());
                }
                self.settle(entry);
            }
            _ if settles(entry.entry) => self.settle(entry),
            _ => {
                if let Some(rest) = begins(entry) {
                    self.begin(entry, at, rest);
                }
            }
        }
    }

    fn begin(&mut self, entry: &Entry, at: Timestamp, rest: Option<Rest>) {
        let Some(name) = &entry.name else { return };
        self.began += 1;
        self.running += usize::from(rest.is_none());
        let open = Open { nth: self.began, rest, ..self.opens(entry, at) };
        if let Some(before) = self.open.insert(Arc::clone(name), open) {
            self.running -= usize::from(before.rest.is_none());
        }
    }

    /// What begins with an entry, running.
    pub(crate) fn opens(&self, entry: &Entry, at: Timestamp) -> Open {
        Open {
            nth: 0,
            since: at,
            kind: entry.step_kind(),
            attempt: entry.attempt.unwrap_or(1),
            under: self.course.map(|course| course.now),
            rest: None,
        }
    }

    fn settle(&mut self, entry: &Entry) {
        let Some(name) = &entry.name else { return };
        if let Some(open) = self.open.remove(name) {
            self.running -= usize::from(open.rest.is_none());
        }
    }

    /// Before which entry of a row it goes on, if it was told to rest and does.
    pub(crate) fn goes_on(&self, row: &[Recorded]) -> Option<usize> {
        if !self.is_told_to_rest || self.is_paused || row.first()?.run != self.run {
            return None;
        }
        let (mut first, mut begins_something, mut met, mut settled) = (None, false, false, 0);
        for (index, recorded) in row.iter().enumerate() {
            let entry = &recorded.entry;
            let was_open = entry.name.as_ref().is_some_and(|name| self.open.contains_key(name));
            if begins(entry).is_some() || ends_by_itself(entry.entry) {
                begins_something = true;
            } else if settles(entry.entry) && was_open {
                settled += 1;
                met |= !is_cancelled(entry.entry);
            } else {
                continue;
            }
            first = first.or(Some(index));
        }
        // With something left to wait for it may be that it looked and rests again.
        first.filter(|_| begins_something || (met && settled == self.open.len()))
    }

    /// It was told that it goes on.
    pub(crate) fn told_to_go_on(&mut self) {
        self.is_told_to_rest = false;
    }

    /// What it rests in from now on, after a row; `next` is what was recorded right after that.
    pub(crate) fn rests(&mut self, at: Timestamp, next: Option<&[Recorded]>) -> Option<Resting> {
        if self.is_told_to_rest || self.is_paused || self.is_over || self.running > 0 {
            return None;
        }
        let rests = self.open.iter().filter_map(|(name, open)| Some((name, open.nth, open.rest?)));
        let earliest = |(_, nth, rest): &(&Arc<str>, u32, Rest)| match rest.why {
            Why::Event | Why::Child => (false, Timestamp::MAX, *nth),
            Why::Sleep | Why::Retry => (true, rest.until.unwrap_or(Timestamp::MAX), *nth),
        };
        let (name, _, rest) = rests.min_by_key(earliest)?;
        let is_met_at_once = next.is_some_and(|next| {
            let meets = |recorded: &Recorded| {
                let known =
                    recorded.entry.name.as_ref().is_some_and(|it| self.open.contains_key(it));
                known && recorded.at == at && settles(recorded.entry.entry)
            };
            next.iter().any(meets)
        });
        if is_met_at_once || rest.until.is_some_and(|until| until <= at) {
            return None;
        }
        let resting = Resting {
            reason: match rest.why {
                Why::Event => "event",
                Why::Child => "child",
                Why::Sleep => "sleep",
                Why::Retry => "retry",
            },
            resume_at: rest.until,
            step_name: Arc::clone(name),
        };
        self.is_told_to_rest = true;
        Some(resting)
    }

    /// Where the run is in traces, once it has begun.
    pub(crate) fn course(&self) -> Option<&Course> {
        self.course.as_ref()
    }

    /// The steps that are not settled.
    pub(crate) fn open(&self) -> impl Iterator<Item = (&Arc<str>, &Open)> {
        self.open.iter()
    }

    pub(crate) fn run(&self) -> u32 {
        self.run
    }

    pub(crate) fn began_at(&self) -> Timestamp {
        self.began_at
    }

    /// The steps that were done in this run.
    pub(crate) fn completed(&self) -> &[Arc<str>] {
        &self.completed
    }

    /// How long the run took until a moment.
    pub(crate) fn lasted(&self, until: Timestamp) -> u64 {
        millis(until, self.began_at)
    }

    /// How long a step took until a moment.
    pub(crate) fn step_lasted(&self, name: &str, until: Timestamp) -> u64 {
        self.open.get(name).map_or(0, |open| millis(until, open.since))
    }

    /// The last attempt of a step, if it was the last that failed.
    pub(crate) fn failed_attempt(&self, step: &str) -> Option<u32> {
        self.last_failed.as_ref().filter(|(name, _)| &**name == step).map(|(_, attempt)| *attempt)
    }

    /// Whether nothing more comes of this run.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// How much it holds, in names.
    pub(crate) fn weight(&self) -> usize {
        1 + self.completed.len() + self.open.len()
    }
}

pub(crate) fn millis(until: Timestamp, from: Timestamp) -> u64 {
    u64::try_from(until.since(from).as_millis()).unwrap_or(u64::MAX)
}

/// What begins with an entry: something that runs, or that is waited for.
fn begins(entry: &Entry) -> Option<Option<Rest>> {
    let rests = |why, until| Some(Some(Rest { why, until }));
    match entry.entry {
        EntryKind::StepStarted if entry.step_kind() == StepKind::Child => rests(Why::Child, None),
        EntryKind::StepStarted => Some(None),
        EntryKind::SleepStarted => rests(Why::Sleep, entry.resume_at),
        EntryKind::RetryScheduled => rests(Why::Retry, entry.next_attempt_at),
        EntryKind::WaitStarted => rests(Why::Event, entry.deadline),
        _ => None,
    }
}

/// Whether something begins with an entry that is waited for.
pub(crate) fn may_rest(recorded: &Recorded) -> bool {
    matches!(begins(&recorded.entry), Some(Some(_)))
}

fn settles(kind: EntryKind) -> bool {
    use EntryKind::{SleepCompleted, StepCompleted, StepFailed, WaitExpired, WaitFulfilled};
    is_cancelled(kind)
        || matches!(kind, StepCompleted | StepFailed | SleepCompleted | WaitFulfilled | WaitExpired)
}

fn is_cancelled(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::StepCancelled | EntryKind::WaitCancelled)
}

fn ends_by_itself(kind: EntryKind) -> bool {
    use EntryKind::{WorkflowCompleted, WorkflowContinued, WorkflowFailed};
    matches!(kind, WorkflowCompleted | WorkflowFailed | WorkflowContinued)
}
