//! Which span.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::history::Recorded;
use crate::id::InstanceId;
use crate::sip_hash::sip_hash;

/// The id of a span, never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

impl SpanId {
    pub(super) fn new(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    /// As it is written on the wire.
    #[must_use]
    pub fn bytes(self) -> [u8; 8] {
        self.0
    }

    /// The span of a run of an instance.
    #[must_use]
    pub fn of_run(instance: &InstanceId, run: u32) -> Self {
        Self::of(&format!("{}\n{run}", instance.as_str()))
    }

    /// The span of an attempt of a step. Waits, sleeps and children have one attempt.
    #[must_use]
    pub fn of_attempt(instance: &InstanceId, run: u32, step: &str, attempt: u32) -> Self {
        Self::of(&format!("{}\n{run}\n{attempt}\n{step}", instance.as_str()))
    }

    /// The span of the attempt that an entry is about, or else of its run.
    #[must_use]
    pub fn of_entry(recorded: &Recorded, instance: &InstanceId) -> Self {
        let (run, entry) = (recorded.run, &recorded.entry);
        match entry.step() {
            Some(step) => Self::of_attempt(instance, run, step, entry.attempt.unwrap_or(1)),
            None => Self::of_run(instance, run),
        }
    }

    /// Ids have to differ within a trace only, so that 64 bits of a hash do.
    fn of(text: &str) -> Self {
        Self(sip_hash([8, 9], text.as_bytes()).max(1).to_be_bytes())
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
