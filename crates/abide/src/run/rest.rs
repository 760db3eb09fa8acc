//! What an instance is doing while nothing happens, and how it arranges to be woken.

use crate::history::{Entry, EntryKind};
use crate::status::Phase;
use crate::time::Timestamp;

use super::Run;

impl Run {
    /// What the instance is doing, as the store shall show it.
    pub(super) fn standing(&self) -> (Phase, Option<Timestamp>) {
        let state = self.resident.state.lock();
        let wake_at = state.next_timer().into_iter().chain(self.timeout_at).min();
        if state.is_active() || (self.body.is_none() && !self.pausing) {
            (Phase::Running, None)
        } else if state.waits_outside() {
            (Phase::Waiting, wake_at)
        } else if state.next_timer().is_some() {
            (Phase::Sleeping, wake_at)
        } else {
            // It waits for something outside Abide.
            (Phase::Running, None)
        }
    }

    /// Whether it could be dropped now and replayed later.
    pub(super) fn is_parked(&self) -> bool {
        let state = self.resident.state.lock();
        let quiet = self.flight.is_none() && !state.has_attempts() && state.next.is_empty();
        let phase_parked = matches!(self.shown.0, Phase::Waiting | Phase::Sleeping);
        quiet && self.withheld.is_empty() && !self.ending && (self.paused || phase_parked)
    }

    /// Arranges to be woken, and to be dropped if nothing happens for long.
    pub(super) fn rest(&mut self) {
        let busy = self.flight.is_some() || self.ending;
        self.resident.set_quiet(!busy && !self.resident.state.lock().has_attempts());
        if self.engine.is_shutting_down() {
            self.engine.residents.quieted();
        }
        if busy {
            return;
        }
        let timer = self.resident.state.lock().next_timer();
        let due = timer.into_iter().chain(self.timeout_at).min();
        if let Some(at) = due.filter(|_| due != self.scheduled && !self.paused) {
            self.scheduled = due;
            self.engine.timers.schedule(at, self.key, !self.is_parked());
        }
        if self.is_parked() {
            // What it was told meanwhile it has not dealt with.
            if !self.resident.has_news() {
                self.tell_rest();
            }
            self.engine.idle.parked(self.key, &self.resident, self.size(), self.sleeps_until(due));
        } else if self.is_stuck() {
            self.engine.idle.stuck(self.key, &self.resident);
        }
    }

    /// Tells whoever waits for that.
    pub(super) fn tell_rest(&self) {
        self.engine.rests(&self.resident.id, self.shown.0.status(self.paused));
    }

    /// When it will wake, if nothing but time can wake it.
    fn sleeps_until(&self, due: Option<Timestamp>) -> Option<Timestamp> {
        due.filter(|_| self.shown.0 == Phase::Sleeping && !self.paused)
    }

    pub(super) fn report_stuck(&mut self) {
        if self.is_stuck() && !self.reported_stuck {
            self.reported_stuck = true;
            let reason = Some("the workflow awaits something that is not a Cx future".to_owned());
            let entry = Entry { reason, ..Entry::new(EntryKind::WorkflowStuck) };
            self.resident.state.lock().record(&entry);
        }
    }

    /// Whether it waits for something only the user's own code knows about.
    pub(super) fn is_stuck(&self) -> bool {
        let state = self.resident.state.lock();
        let waits = state.waits_outside() || state.next_timer().is_some();
        !self.paused
            && !self.pausing
            && !state.is_active()
            && !waits
            && !self.resident.is_poll_due()
    }
}
