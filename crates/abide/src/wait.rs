//! What an instance waits for. Its stored record is a subscription.

use std::sync::Arc;

use crate::envelope::Envelope;
use crate::event::{Buffered, Kind};
use crate::expr::{Folded, Value};
use crate::history::StepKind;
use crate::id::{InstanceId, InstanceKey};
use crate::index;
use crate::log::Since;
use crate::pattern;
use crate::status::words;
use crate::time::Timestamp;

words! {
    /// What became of a wait.
    WaitStatus, "subscription status", {
        /// It is open.
        Active = "active",
        /// It was met.
        Fulfilled = "fulfilled",
        /// Its deadline passed.
        Expired = "expired",
        /// It lost a race, was dropped, or its instance ended.
        Cancelled = "cancelled",
    }
}

/// A wait that a workflow reached.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWait {
    /// The id of its record (`sub_…`).
    pub id: Arc<str>,
    /// The step that waits.
    pub step: Arc<str>,
    /// What it hears.
    pub hears: Hears,
    /// Which of that it wants.
    pub filter: Option<Folding>,
    /// The waits it races with have the same: the first that is met cancels the others. A counted
    /// wait races with nobody.
    pub race: Option<Arc<str>>,
    /// How many it wants, if it is not just one.
    pub count: Option<Count>,
    /// From when on published events count.
    pub since: Since,
    /// When it gives up.
    pub timeout_at: Option<Timestamp>,
}

/// An expression with what was known when its wait was reached written into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Folding {
    /// As somebody wrote it.
    pub written: Arc<str>,
    /// What is left to be evaluated on an event.
    pub folded: Folded,
}

/// A wait for several. What it met is held, not consumed, until the last of them came.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// How many it wants.
    pub needed: u32,
    /// Only one is wanted of each value of this.
    pub distinct_by: Option<Folding>,
    /// What it holds, in the order in which it came.
    pub held: Vec<Held>,
}

/// Something that a wait holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its place in the order of acceptance.
    pub key: i64,
    /// Its id.
    pub id: Arc<str>,
    /// Its value of [`Count::distinct_by`], as JSON.
    pub distinct: Option<Arc<str>>,
}

/// How a wait takes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    /// It is what was missing.
    Last,
    /// It is held until more comes; with its distinct value.
    Held(Option<Arc<str>>),
}

/// What a wait hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hears {
    /// Something sent to the instance: an event by pattern, a signal by name, a message by topic.
    Sent {
        /// Which kind.
        kind: Kind,
        /// Which of them.
        pattern: Arc<str>,
    },
    /// An output of another instance.
    Output {
        /// The other instance.
        of: InstanceId,
        /// The key.
        key: Arc<str>,
    },
}

impl Hears {
    /// Whether this is meant by it, as far as kind and name say.
    #[must_use]
    pub fn covers(&self, kind: Kind, name: &str) -> bool {
        match self {
            Self::Sent { kind: heard, pattern } => {
                *heard == kind
                    && match kind {
                        Kind::Event => pattern::matches(pattern, name),
                        Kind::Signal | Kind::Message => **pattern == *name,
                    }
            }
            Self::Output { .. } => false,
        }
    }

    /// The kind of step that waits for it.
    #[must_use]
    pub fn step_kind(&self) -> StepKind {
        match self {
            Self::Sent { kind, .. } => kind.wait(),
            Self::Output { .. } => StepKind::Output,
        }
    }

    /// What to call it in errors and records.
    #[must_use]
    pub fn pattern(&self) -> &str {
        match self {
            Self::Sent { pattern, .. } => pattern,
            Self::Output { key, .. } => key,
        }
    }
}

/// A stored wait: the subscription record.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// Its place in the order of registration.
    pub key: i64,
    /// Its id (`sub_…`).
    pub id: Arc<str>,
    /// The instance that waits.
    pub instance: InstanceKey,
    /// Its id.
    pub instance_id: InstanceId,
    /// The run that waits.
    pub run: u32,
    /// The step that waits.
    pub step: Arc<str>,
    /// What it hears.
    pub hears: Hears,
    /// Which of that it wants.
    pub filter: Option<Folding>,
    /// The waits it races with have the same.
    pub race: Option<Arc<str>>,
    /// How many it wants, if it is not just one, and what it holds.
    pub count: Option<Count>,
    /// The last published event that does not count.
    pub since: i64,
    /// Whether its look-back ended at `lookback.maxScanned`, with more to be read.
    pub cut_short: bool,
    /// What became of it.
    pub status: WaitStatus,
    /// When it was reached.
    pub created_at: Timestamp,
    /// When it gives up.
    pub timeout_at: Option<Timestamp>,
    /// When it was met.
    pub fulfilled_at: Option<Timestamp>,
    /// By what.
    pub fulfilled_by: Option<Arc<str>>,
}

impl Wait {
    /// Whether it wants this.
    #[must_use]
    pub fn wants(&self, sent: &Buffered) -> bool {
        self.takes(&Envelope::of(sent)).is_some()
    }

    /// What it is found by when an event is published. None when it hears nothing that can be.
    #[must_use]
    pub fn entries(&self) -> Vec<index::Entry> {
        match &self.hears {
            Hears::Sent { kind: Kind::Event, pattern } => {
                index::entries(pattern, self.filter.as_ref().map(|filter| &filter.folded))
            }
            Hears::Sent { .. } | Hears::Output { .. } => Vec::new(),
        }
    }

    /// How it takes something, if it wants it. A filter that fails on it does not want it.
    pub(crate) fn takes(&self, sent: &Envelope<'_>) -> Option<Taking> {
        if !self.hears.covers(sent.kind(), sent.name()) || !self.reaches(sent.seq()) {
            return None;
        }
        if let Some(filter) = &self.filter
            && !self.holds(filter, sent)
        {
            return None;
        }
        let Some(count) = &self.count else { return Some(Taking::Last) };
        let distinct = count.distinct_by.as_ref().map(|by| self.value(by, sent));
        if distinct.is_some() && count.held.iter().any(|held| held.distinct == distinct) {
            return None;
        }
        let is_last = count.held.len() + 1 >= count.needed as usize;
        Some(if is_last { Taking::Last } else { Taking::Held(distinct) })
    }

    /// Whether it looks back as far as this. What was addressed always counts.
    fn reaches(&self, seq: Option<i64>) -> bool {
        seq.is_none_or(|seq| seq > self.since)
    }

    fn holds(&self, filter: &Folding, sent: &Envelope<'_>) -> bool {
        filter.folded.expr().is_match(sent).unwrap_or_else(|error| {
            self.report(filter, &error);
            false
        })
    }

    /// What tells one from another. All on which the expression fails are the same.
    fn value(&self, by: &Folding, sent: &Envelope<'_>) -> Arc<str> {
        let value = by.folded.expr().eval(sent).unwrap_or_else(|error| {
            self.report(by, &error);
            Value::Undefined
        });
        match value.to_json() {
            Some(json) => json.to_string().into(),
            None => "undefined".into(),
        }
    }

    fn report(&self, folding: &Folding, error: &crate::expr::EvalError) {
        let (instance, step) = (&self.instance_id, &self.step);
        tracing::warn!(%instance, %step, expression = %folding.written, %error, "failed on an event");
    }
}

/// What to change about an open wait; what is not given stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitEdit {
    /// When it gives up, or that it does not.
    pub timeout_at: Option<Option<Timestamp>>,
    /// Which it wants, folded again, or that it wants all.
    pub filter: Option<Option<Folding>>,
}
