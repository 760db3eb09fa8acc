//! The ordered record of everything that happened to an instance.
//!
//! One commit of one instance adds one *row* of entries, encoded once by whoever made them and
//! passed through the store untouched. The store numbers the entries; the numbers never reset.
//!
//! The order of completions in the history is the order in which the workflow saw them, so replay
//! reveals them in that order. Completions that the store itself recorded (a child ended) may be
//! written before or after something the runner saw first; a [`EntryKind::Seen`] mark, which has no
//! number and is not shown outside, says where the runner saw it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::id::InstanceId;
use crate::json::Json;
use crate::metrics::Kinds;
use crate::status::words;
use crate::time::Timestamp;
use crate::trace::Trace;

words! {
    /// What kind of thing happened.
    EntryKind, "history entry type", {
        /// A run began; the payload is its input.
        WorkflowStarted = "workflow.started",
        /// The function returned; the payload is its output.
        WorkflowCompleted = "workflow.completed",
        /// The function failed.
        WorkflowFailed = "workflow.failed",
        /// It was paused, by hand or because it can't go on.
        WorkflowPaused = "workflow.paused",
        /// It was resumed.
        WorkflowResumed = "workflow.resumed",
        /// Termination was asked for and compensation runs first.
        WorkflowTerminating = "workflow.terminating",
        /// It was ended from outside.
        WorkflowTerminated = "workflow.terminated",
        /// A new run began at the start or at a step.
        WorkflowRestarted = "workflow.restarted",
        /// The run handed over to the next one.
        WorkflowContinued = "workflow.continued",
        /// It waits for something outside Abide and can't be parked.
        WorkflowStuck = "workflow.stuck",
        /// An attempt of a step began.
        StepStarted = "step.started",
        /// A step has its result.
        StepCompleted = "step.completed",
        /// An attempt failed; without `willRetry` the step did.
        StepFailed = "step.failed",
        /// A step was dropped before it finished.
        StepCancelled = "step.cancelled",
        /// The next attempt has its time.
        RetryScheduled = "retry.scheduled",
        /// No attempt is left.
        RetryExhausted = "retry.exhausted",
        /// A sleep began.
        SleepStarted = "sleep.started",
        /// A sleep is over.
        SleepCompleted = "sleep.completed",
        /// An attempt has a deadline.
        TimeoutSet = "timeout.set",
        /// A deadline passed.
        TimeoutExceeded = "timeout.exceeded",
        /// Something sent to the instance was accepted; the payload is its own.
        EventReceived = "event.received",
        /// It is kept for a later wait.
        EventBuffered = "event.buffered",
        /// A newer one took its place before anybody waited for it.
        EventSuperseded = "event.superseded",
        /// The instance ended before anybody waited for it.
        EventDiscarded = "event.discarded",
        /// A wait was reached.
        WaitStarted = "wait.started",
        /// A wait was met; the payload is the event, or the output.
        WaitFulfilled = "wait.fulfilled",
        /// A wait gave up.
        WaitExpired = "wait.expired",
        /// A wait lost a race, was dropped, or its instance ended.
        WaitCancelled = "wait.cancelled",
        /// An output was set; the payload is its value.
        OutputSet = "output.set",
        /// The workflow told those who watch; the payload is what it told.
        Update = "update",
        /// A message was sent to another instance.
        MessageSent = "message.sent",
        /// Where the runner saw a completion that the store recorded. Not numbered, not shown.
        Seen = "seen",
    }
}

words! {
    /// What a step is. Replay refuses a step whose kind changed.
    StepKind, "step kind", {
        /// A function of the user's.
        Step = "step",
        /// A function of the user's that gives its result piece by piece.
        Stream = "stream",
        /// A sleep.
        Sleep = "sleep",
        /// A child that is awaited.
        Child = "child",
        /// A child that is only started.
        Detached = "detached",
        /// A wait for an event.
        Event = "event",
        /// A wait for a signal.
        Signal = "signal",
        /// A wait for a message.
        Message = "message",
        /// A wait for an output of another instance.
        Output = "output",
        /// A look for something already there, without waiting.
        Take = "take",
        /// A message to another instance.
        Send = "send",
        /// An event to whoever wants it.
        Publish = "publish",
        /// A recorded moment.
        Now = "now",
        /// A recorded random number.
        Random = "random",
        /// A recorded UUID.
        Uuid = "uuid",
        /// A marker of changed code.
        Patch = "patch",
    }
}

impl EntryKind {
    /// Whether a run ends with it, and no other follows by itself.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::WorkflowCompleted | Self::WorkflowFailed | Self::WorkflowTerminated)
    }
}

impl StepKind {
    /// Whether the store records the completion, and the runner marks where it saw it.
    #[must_use]
    pub fn completed_by_store(self) -> bool {
        match self {
            Self::Child | Self::Detached | Self::Take | Self::Send | Self::Publish => true,
            Self::Step | Self::Stream | Self::Sleep => false,
            Self::Now | Self::Random | Self::Uuid | Self::Patch => false,
            Self::Event | Self::Signal | Self::Message | Self::Output => true,
        }
    }

    /// Whether it is a wait that has a subscription.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::Event | Self::Signal | Self::Message | Self::Output)
    }

    /// Whether it is a value that was taken at once and never waited for.
    #[must_use]
    pub fn is_value(self) -> bool {
        matches!(self, Self::Now | Self::Random | Self::Uuid | Self::Patch)
    }
}

/// One thing that happened. Only the fields of its kind are set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// What happened.
    #[serde(rename = "type")]
    pub entry: EntryKind,
    /// The step it happened to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// What that step is; left out for [`StepKind::Step`], which most are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<StepKind>,
    /// Which attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How many attempts there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// How long it took or shall take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The result was kept by a restart from a later step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// The failed attempt will be followed by another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub will_retry: bool,
    /// When the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// How long the next attempt waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// When a sleep ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<Timestamp>,
    /// When a timeout passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The timeout that was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Why it was paused, terminated or restarted, or to what a wait lost its race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The child that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_id: Option<InstanceId>,
    /// The event it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<Arc<str>>,
    /// What a wait hears: a pattern, name, topic or key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Arc<str>>,
    /// The trace that it brought along; see [`crate::trace`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Input, result or output. None at all is not the same as `null`.
    #[serde(
        default,
        deserialize_with = "crate::json::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub payload: Option<Json>,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

impl Entry {
    /// An entry with nothing but its kind.
    #[must_use]
    pub fn new(entry: EntryKind) -> Self {
        Self {
            entry,
            name: None,
            kind: None,
            attempt: None,
            attempts: None,
            duration_ms: None,
            cached: false,
            will_retry: false,
            next_attempt_at: None,
            delay_ms: None,
            resume_at: None,
            deadline: None,
            timeout_ms: None,
            reason: None,
            child_id: None,
            event_id: None,
            pattern: None,
            trace: None,
            payload: None,
            error: None,
        }
    }

    /// An entry about a step.
    #[must_use]
    pub fn of_step(entry: EntryKind, name: &Arc<str>, kind: StepKind) -> Self {
        let kind = (kind != StepKind::Step).then_some(kind);
        Self { name: Some(Arc::clone(name)), kind, ..Self::new(entry) }
    }

    /// The mark that the runner saw it.
    pub(crate) fn seen(&self) -> Self {
        Self { name: self.name.clone(), ..Self::new(EntryKind::Seen) }
    }

    /// What its step is.
    #[must_use]
    pub fn step_kind(&self) -> StepKind {
        self.kind.unwrap_or(StepKind::Step)
    }

    /// The step it is about, if it is about one.
    #[must_use]
    pub(crate) fn step(&self) -> Option<&Arc<str>> {
        match self.entry {
            EntryKind::WaitStarted
            | EntryKind::WaitFulfilled
            | EntryKind::WaitExpired
            | EntryKind::WaitCancelled
            | EntryKind::StepStarted
            | EntryKind::StepCompleted
            | EntryKind::StepFailed
            | EntryKind::StepCancelled
            | EntryKind::RetryScheduled
            | EntryKind::RetryExhausted
            | EntryKind::SleepStarted
            | EntryKind::SleepCompleted => self.name.as_ref(),
            EntryKind::EventReceived
            | EntryKind::EventBuffered
            | EntryKind::EventSuperseded
            | EntryKind::EventDiscarded
            | EntryKind::OutputSet
            | EntryKind::Update
            | EntryKind::MessageSent
            | EntryKind::TimeoutSet
            | EntryKind::TimeoutExceeded
            | EntryKind::WorkflowStarted
            | EntryKind::WorkflowCompleted
            | EntryKind::WorkflowFailed
            | EntryKind::WorkflowPaused
            | EntryKind::WorkflowResumed
            | EntryKind::WorkflowTerminating
            | EntryKind::WorkflowTerminated
            | EntryKind::WorkflowRestarted
            | EntryKind::WorkflowContinued
            | EntryKind::WorkflowStuck
            | EntryKind::Seen => None,
        }
    }

    /// Whether whoever runs the instance has to see it, when it is the store that records it: it
    /// settles a step, takes it out of a race, or asks for something.
    #[must_use]
    pub fn arrives(&self) -> bool {
        match self.entry {
            EntryKind::WorkflowTerminating => true,
            EntryKind::WaitCancelled => self.reason.is_some(),
            _ => self.outcome().is_some(),
        }
    }

    /// The outcome of its step, when this entry settles it.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Json, Failure>> {
        match self.entry {
            EntryKind::StepCompleted | EntryKind::SleepCompleted | EntryKind::WaitFulfilled => {
                Some(Ok(self.payload.clone().unwrap_or_else(Json::null)))
            }
            EntryKind::WaitExpired => {
                let unknown = || Failure::new("EVENT_TIMEOUT", "no reason was recorded");
                Some(Err(self.error.clone().unwrap_or_else(unknown)))
            }
            EntryKind::StepFailed if !self.will_retry => {
                let unknown = || Failure::new("STEP_FAILED", "no reason was recorded");
                Some(Err(self.error.clone().unwrap_or_else(unknown)))
            }
            _ => None,
        }
    }
}

/// An entry as the store numbered it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its number in the history of the instance. Marks carry the number before them.
    pub seq: i64,
    /// The run it belongs to.
    pub run: u32,
    /// When the store accepted it.
    pub at: Timestamp,
    /// What happened.
    pub entry: Entry,
}

/// Entries on their way into one row: encoded once, numbered by the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    json: String,
    numbered: u32,
    kinds: Kinds,
}

impl Entries {
    /// Encodes entries in order.
    #[must_use]
    pub fn of(entries: &[Entry]) -> Self {
        let mut encoded = Self::default();
        for entry in entries {
            encoded.push(entry);
        }
        encoded
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: &Entry) {
        self.json.push(if self.json.is_empty() { '[' } else { ',' });
        // An entry is strings, numbers and JSON that was checked when it was made: the only error
        // serde_json knows here is one of the writer, and a String has none.
        let text = serde_json::to_string(entry).unwrap_or_default();
        self.json.push_str(&text);
        self.numbered += u32::from(entry.entry != EntryKind::Seen);
        self.kinds.add(entry);
    }

    /// How many entries get a number.
    #[must_use]
    pub fn numbered(&self) -> u32 {
        self.numbered
    }

    /// Whether there is nothing a commit would be worth.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbered == 0
    }

    pub(crate) fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// How many bytes they take.
    #[must_use]
    pub fn size(&self) -> usize {
        self.json.len() + 1
    }

    /// The same, this entry first.
    #[must_use]
    pub fn after(&self, first: &Entry) -> Self {
        let (numbered, kinds) = (self.numbered, self.kinds.clone());
        let mut all = Self { json: String::new(), numbered, kinds };
        all.push(first);
        if !self.json.is_empty() {
            all.json.push(',');
            all.json.push_str(&self.json[1..]);
        }
        all
    }

    /// The JSON array of the row.
    #[must_use]
    pub fn text(&self) -> String {
        if self.json.is_empty() {
            return "[]".to_owned();
        }
        let mut text = String::with_capacity(self.size());
        text.push_str(&self.json);
        text.push(']');
        text
    }
}

/// Reads a row back: its entries with their numbers, marks included.
///
/// # Errors
/// [`Error::Corrupt`] when the text is not a row.
pub fn decode_row(text: &str, first_seq: i64, run: u32, at: Timestamp) -> Result<Vec<Recorded>> {
    let entries: Vec<Entry> = serde_json::from_str(text)
        .map_err(|refused| Error::corrupt(format!("history row at seq {first_seq}: {refused}")))?;
    let mut next = first_seq;
    Ok(entries
        .into_iter()
        .map(|entry| {
            let seq = if entry.entry == EntryKind::Seen { next - 1 } else { next };
            next = seq + 1;
            Recorded { seq, run, at, entry }
        })
        .collect())
}

/// The entries that settle the steps of a run, in the order in which the workflow saw them: those
/// of the runner where they stand, those of the store where they were marked as seen, and last the
/// ones nobody saw yet.
#[must_use]
pub fn completions(history: &[Recorded]) -> Vec<&Recorded> {
    let (mut seen, mut unseen) = seen_and_unseen(history);
    seen.append(&mut unseen);
    seen
}

/// The same, with the ones nobody saw yet apart.
pub(crate) fn seen_and_unseen(history: &[Recorded]) -> (Vec<&Recorded>, Vec<&Recorded>) {
    let mut order = Vec::new();
    let mut unseen: Vec<&Recorded> = Vec::new();
    for recorded in history {
        let entry = &recorded.entry;
        if entry.entry == EntryKind::Seen {
            if let Some(at) = unseen.iter().position(|found| found.entry.name == entry.name) {
                order.push(unseen.remove(at));
            }
        } else if entry.entry == EntryKind::WorkflowTerminating
            || (entry.outcome().is_some() && entry.step_kind().completed_by_store())
        {
            unseen.push(recorded);
        } else if entry.outcome().is_some() {
            order.push(recorded);
        }
    }
    (order, unseen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_back_with_numbers_that_skip_marks() {
        let name: Arc<str> = "a".into();
        let mut done = Entry::of_step(EntryKind::StepCompleted, &name, StepKind::Child);
        done.payload = Some(Json::encode(&[1, 2]).unwrap());
        let mut entries = Entries::default();
        entries.push(&done);
        entries.push(&Entry::of_step(EntryKind::Seen, &name, StepKind::Child));
        entries.push(&Entry::of_step(EntryKind::StepStarted, &name, StepKind::Step));
        assert_eq!(entries.numbered(), 2);

        let row = decode_row(&entries.text(), 7, 1, Timestamp(5)).unwrap();
        assert_eq!(row.iter().map(|r| r.seq).collect::<Vec<_>>(), [7, 7, 8]);
        assert_eq!(row[0].entry, done);
        assert_eq!(row[2].entry.step_kind(), StepKind::Step);
    }

    #[test]
    fn a_mark_alone_is_not_worth_a_commit() {
        let mark = Entry::of_step(EntryKind::Seen, &"a".into(), StepKind::Child);
        assert!(Entries::of(&[mark]).is_empty());
    }

    #[test]
    fn a_damaged_row_is_corrupt() {
        let refused = decode_row("[{\"type\":\"step.vanished\"}]", 3, 1, Timestamp(0));
        assert!(matches!(refused, Err(Error::Corrupt { what }) if what.contains("seq 3")));
    }
}
