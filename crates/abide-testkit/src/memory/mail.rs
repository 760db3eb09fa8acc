//! One thing that was sent to an instance and accepted.
//!
//! It is remembered after it was consumed: a wait that is undone gives back what it had.

use abide::history::{Entry, EntryKind};
use abide::meeting::of_sent;
use abide::{Buffer, Buffered, Timestamp};

#[derive(Clone)]
pub(super) struct Mail {
    pub(super) sent: Buffered,
    /// When it came to the instance. What was published may have been in the log long before.
    pub(super) came_at: Timestamp,
    /// Whether it may meet a wait that is already open.
    pub(super) wakes: bool,
    pub(super) place: Place,
}

/// Where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Its time has not come, or nobody has looked since it came.
    Later,
    /// In the buffer.
    Kept,
    /// Held by waits that want more of it.
    Held,
    /// Consumed, replaced, dropped or discarded.
    Gone,
}

impl Mail {
    /// Its number in the log, if it was published.
    pub(super) fn seq(&self) -> Option<i64> {
        self.sent.log.as_ref().map(|place| place.seq)
    }

    /// From when on it counts as accepted.
    pub(super) fn since(&self) -> Timestamp {
        self.sent.visible_at.unwrap_or(self.sent.received_at)
    }

    /// Its place among the others: by visible time, then acceptance.
    pub(super) fn order(&self) -> (Timestamp, i64) {
        (self.since(), self.sent.key)
    }

    pub(super) fn is_pending(&self) -> bool {
        self.place != Place::Gone
    }

    /// Whether it could be met now.
    pub(super) fn is_visible(&self, now: Timestamp) -> bool {
        self.is_pending() && self.place != Place::Held && self.since() <= now
    }

    /// Whether only the newer of the two is kept.
    pub(super) fn gives_way_to(&self, other: &Self) -> bool {
        self.sent.buffer == Buffer::Latest
            && (self.sent.kind, &self.sent.name) == (other.sent.kind, &other.sent.name)
            && self.order() < other.order()
            && (self.place, other.place) == (Place::Kept, Place::Kept)
    }

    /// The history of what happened to it.
    pub(super) fn entry(&self, what: EntryKind) -> Entry {
        of_sent(what, &self.sent)
    }
}
