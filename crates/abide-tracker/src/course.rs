//! The course of a run through traces.

use abide::InstanceId;
use abide::history::{EntryKind, Recorded};
use abide::trace::{SpanId, Trace};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Course {
    /// The span of the run.
    pub(crate) run: Trace,
    /// What that is under, if the run does not begin its trace.
    pub(crate) parent: Option<SpanId>,
    /// Where it is now.
    pub(crate) now: Trace,
}

impl Course {
    /// Goes on with an entry; none before the run has begun.
    pub(crate) fn after(
        before: Option<Self>,
        recorded: &Recorded,
        id: &InstanceId,
    ) -> Option<Self> {
        let Some(now) = Trace::after(recorded, id) else { return before };
        if recorded.entry.entry != EntryKind::WorkflowStarted {
            return before.map(|course| Self { now, ..course });
        }
        let parent = recorded.entry.trace.map(Trace::span).filter(|parent| *parent != now.span());
        Some(Self { run: now, parent, now })
    }
}
