//! The course of an instance through traces.

use crate::engine::Env;
use crate::history::Recorded;
use crate::id::InstanceId;
use crate::trace::{self, SpanId, Trace};

use super::Resident;

impl Env {
    /// The trace of a run that begins now, and was given one or not.
    pub(crate) fn begins_in(
        &self,
        given: Option<Trace>,
        id: &InstanceId,
        run: u32,
    ) -> Option<Trace> {
        let span = || SpanId::of_run(id, run);
        let own = || Trace::beginning_with(span(), self.clock.uuid().into_bytes());
        given.or_else(|| self.config.own_spans.then(own))
    }

    /// Under what a run with a trace does what it does.
    pub(super) fn of_run(&self, trace: Option<Trace>, id: &InstanceId, run: u32) -> Option<Trace> {
        trace.map(|trace| self.under(trace, || SpanId::of_run(id, run)))
    }

    /// Where an instance goes on after an entry of its history, if that takes it to another trace.
    pub(super) fn taken_to(&self, recorded: &Recorded, id: &InstanceId) -> Option<Trace> {
        match self.config.own_spans {
            true => Trace::after(recorded, id),
            false => Trace::brought_by(&recorded.entry),
        }
    }

    fn under(&self, trace: Trace, span: impl FnOnce() -> SpanId) -> Trace {
        if self.config.own_spans { trace.under(span()) } else { trace }
    }
}

impl Resident {
    /// Where an attempt of a step is that begins now.
    pub(crate) fn trace_of(&self, step: &str, attempt: u32) -> Option<Trace> {
        let span = || SpanId::of_attempt(&self.id, self.run, step, attempt);
        trace::current().map(|trace| self.env.under(trace, span))
    }
}
