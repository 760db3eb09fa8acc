//! What must hold after every write, whatever the schedule. The numbers are those of the design.

mod event;
mod life;
mod log;

use abide::Timestamp;

use super::script::Acknowledged;
use crate::differential::{View, broken as broken_between};

pub(super) use life::nothing_is_stuck;

/// What an invariant may look at.
pub(super) struct Scene<'a> {
    /// The disk before the last write.
    pub(super) before: &'a View,
    /// The disk after it.
    pub(super) view: &'a View,
    pub(super) now: Timestamp,
    /// Whether nothing went wrong so far that would interrupt a step: no crash, no outcome unknown.
    pub(super) undisturbed: bool,
    /// What the outside was told so far.
    pub(super) acknowledged: &'a [Acknowledged],
}

type Invariant = fn(&Scene<'_>) -> Result<(), String>;

const INVARIANTS: [(&str, Invariant); 14] = [
    ("1: acknowledged means durable", event::acknowledged_is_durable),
    ("4: only a crash interrupts a step", life::interrupted_by_crashes),
    ("5: an event meets a wait exactly once", event::meets_once),
    ("5: a wait has one outcome", event::one_outcome),
    ("6: a dead waiter eats nothing", event::nothing_vanishes),
    ("6: what was accepted before the deadline wins", event::deadline_decides),
    ("5: what was published is compared with every wait that reaches back to it", log::is_compared),
    ("6: what was published before the deadline wins", log::deadline_decides),
    ("7: history numbers are contiguous and never reset", life::contiguous_history),
    ("7: what is written stays written", life::history_only_grows),
    ("attempts of a stream are never mixed", life::one_attempt_of_each_stream),
    ("8: a finished instance owns nothing that is open", life::finished_owns_nothing),
    ("8: a parked instance has a wait, a timer or a child", life::parked_has_a_reason),
    ("9: replay gives the same next action", life::replays_alike),
];

/// The first invariant that does not hold.
pub(super) fn broken(scene: &Scene<'_>) -> Option<String> {
    for (what, holds) in INVARIANTS {
        if let Err(how) = holds(scene) {
            return Some(format!("{what}: {how}"));
        }
    }
    // Those that hold between waits and mail in any store.
    broken_between(scene.view, scene.now)
}
