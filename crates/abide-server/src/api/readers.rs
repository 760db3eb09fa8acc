//! How many read a stream.

use std::sync::Arc;

/// Everybody who reads holds a [`Reader`] for as long.
#[derive(Default)]
pub(super) struct Readers {
    /// Of server-sent events.
    pub(super) events: Crowd,
    /// Of bytes or lines as they come.
    pub(super) bytes: Crowd,
}

/// Those who read in the same way.
#[derive(Default)]
pub(super) struct Crowd(Arc<()>);

/// See [`Readers`].
pub(super) struct Reader(#[expect(dead_code, reason = "it is counted by being held")] Arc<()>);

impl Crowd {
    pub(super) fn one_more(&self) -> Reader {
        Reader(Arc::clone(&self.0))
    }

    pub(super) fn count(&self) -> u64 {
        Arc::strong_count(&self.0) as u64 - 1
    }
}
