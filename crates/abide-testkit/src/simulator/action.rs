//! What may happen next in a simulated world.

use super::traffic::Verdict;

/// One thing that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The engine hears the oldest hint.
    Hear,
    /// The oldest hint is lost.
    Lose,
    /// An answer of the store reaches whoever asked.
    Answer(usize),
    /// A call to the store is executed.
    Execute(usize, Verdict),
    /// A step's function comes to its end.
    Finish(usize),
    /// A client makes its next call.
    Call(usize),
    /// Time moves on to when somebody sleeps until.
    Wake,
    /// Time moves on to when something falls due in the store.
    Due,
    /// Time moves on to the millisecond before that.
    NearlyDue,
    /// The process dies and another one takes over.
    Crash,
}

/// How likely what is: another one for every seed, because a world that crashes at every turn
/// gets nowhere, and one that never does finds little.
pub(super) struct Temper {
    crash: u32,
    lose: u32,
    fail: u32,
    time: u32,
    reorder: u32,
}

impl Temper {
    pub(super) fn random(random: &mut fastrand::Rng) -> Self {
        let mut one_of = |weights: [u32; 4]| weights[random.usize(..4)];
        Self {
            crash: one_of([0, 1, 3, 8]),
            lose: one_of([0, 0, 2, 10]),
            fail: one_of([0, 0, 1, 3]),
            time: one_of([1, 2, 6, 20]),
            reorder: one_of([0, 5, 20, 20]),
        }
    }

    pub(super) fn weight(&self, action: Action) -> u32 {
        match action {
            Action::Hear | Action::Answer(0) | Action::Execute(0, Verdict::Done) => 20,
            Action::Answer(_) | Action::Execute(_, Verdict::Done) => self.reorder,
            Action::Finish(_) | Action::Call(_) => 10,
            Action::Execute(_, Verdict::Refused | Verdict::Unknown) => self.fail,
            Action::Wake | Action::Due | Action::NearlyDue => self.time,
            Action::Lose => self.lose,
            Action::Crash => self.crash,
        }
    }
}
