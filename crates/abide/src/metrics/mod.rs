//! What is counted: cheap enough to be always on.
//!
//! Whatever the history tells is counted where history is written, by the store, once it is durable
//! ([`Tally`]): so figures and history agree. Times are measured where somebody waits for them, in
//! [`Histogram`]s. How much there *is* of something is asked when somebody looks ([`Census`]).
//! Nothing here takes a lock or allocates while it counts.

mod census;
mod histogram;
mod measured;
mod tally;

pub use census::Census;
pub(crate) use census::Counted;
pub use histogram::{Distribution, Histogram};
pub(crate) use measured::Measured;
pub(crate) use tally::Kinds;
pub use tally::{Tally, Totals};

/// What a store has done since it was opened, and what it has to do.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// What became durable.
    pub tally: Tally,
    /// How many commands were stored together.
    pub batches: Distribution,
    /// How long that took, in microseconds.
    pub commits: Distribution,
    /// Transactions that the disk or the file refused.
    pub failed: u64,
    /// Reads that the disk or the file refused.
    pub reads_failed: u64,
    /// Commands that wait to be stored.
    pub queued: u64,
    /// Reads that wait for a reader.
    pub reads_queued: u64,
    /// Instances that a published event has yet to meet.
    pub left_to_meet: u64,
    /// Open waits that have not looked at everything they look back to.
    pub looking_back: u64,
    /// Open waits whose filter is evaluated on every event that their pattern covers.
    pub scanned_waits: u64,
}

impl Figures {
    /// Of a store that has nothing to say but what became durable.
    #[must_use]
    pub fn of(tally: Tally) -> Self {
        Self { tally, ..Self::default() }
    }
}

/// What an engine has done since it was started; see [`crate::Engine::metrics`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// What its store has done.
    pub store: Figures,
    /// How much too late timers went off, in microseconds.
    pub timer_lateness: Distribution,
    /// How long after its event a workflow went on, in microseconds.
    pub event_wakes: Distribution,
    /// How long after its time a sleeping workflow went on, in microseconds.
    pub timer_wakes: Distribution,
    /// How long after its time an attempt was tried again, in microseconds.
    pub retry_wakes: Distribution,
    /// Instances in memory, or being read.
    pub resident: u64,
    /// Instances that are being read from the store.
    pub loading: u64,
    /// Timers in memory.
    pub timers: u64,
}
