//! What a tracker is asked while it works.

use abide::Result;
use tokio::sync::oneshot;

/// Whoever asks and no longer listens misses the answer, nothing else.
pub(crate) enum Command {
    /// Send what was recorded so far, and say when that is done.
    Flush(oneshot::Sender<()>),
    /// The same, and nothing after it.
    Finish(oneshot::Sender<()>),
    /// How many events wait.
    Pending(oneshot::Sender<usize>),
    /// How many rows are left to be told.
    Lag(oneshot::Sender<Result<i64>>),
    /// Stop, or go on.
    Pause(bool, oneshot::Sender<Result<()>>),
    /// Tell everything from a row on again.
    Replay(i64, oneshot::Sender<Result<()>>),
}
