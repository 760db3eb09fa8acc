//! What the writer does when nobody asks for anything, and in small pieces when somebody does.
//!
//! Nothing is lost when it stops half-way: rows say what is left.

use super::batch::Batch;
use super::lookback;
use crate::failure::Trouble;

/// Instances that meet an event between two looks at the queue.
const PIECE: usize = 4;

/// Instances that may ride along with what others asked for: a fraction of a millisecond of work.
const ALONG: usize = 4;

/// Events that are looked at between two looks at the queue.
const EVENTS: usize = 32;

/// Instances in one transaction when nobody waits.
const ALONE: usize = 1024;

impl Batch<'_> {
    /// Does a part of what is left to be done, as long as nobody waits for it.
    pub(super) fn do_chores(
        &mut self,
        rides_along: bool,
        somebody_waits: impl Fn() -> bool,
    ) -> Result<(), Trouble> {
        let mut room = if rides_along { ALONG } else { ALONE };
        while room > 0 && !self.caches.fanouts.is_empty() {
            let done = self.fan_out(PIECE.min(room))?;
            room = room.saturating_sub(done.max(1));
            if somebody_waits() {
                return Ok(());
            }
        }
        self.look_further(rides_along, somebody_waits)
    }

    /// A wait that can't be read looks at nothing any more, and keeps nobody else from it.
    fn look_on_or_stop(&mut self, wait: i64) -> Result<(), Trouble> {
        match self.guarded(|batch| batch.look_on(wait, EVENTS)) {
            Err(Trouble::Refused(error)) => {
                tracing::warn!(wait, %error, "it can't look back any further");
                self.stop_looking(wait)
            }
            looked => looked.map(drop),
        }
    }

    /// Makes older events findable, and then has waits look for them that could not before.
    fn look_further(
        &mut self,
        rides_along: bool,
        somebody_waits: impl Fn() -> bool,
    ) -> Result<(), Trouble> {
        let mut room = if rides_along { EVENTS } else { lookback::AT_ONCE };
        while room > 0 && !somebody_waits() {
            let done = if let Some(indexed) = self.caches.paths.incomplete().cloned() {
                self.index_more(&indexed, EVENTS)?
            } else if let Some(wait) = self.caches.lookbacks.first() {
                self.look_on_or_stop(wait)?;
                EVENTS
            } else {
                break;
            };
            room = room.saturating_sub(done.max(1));
        }
        Ok(())
    }
}
