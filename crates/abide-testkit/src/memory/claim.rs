//! Who may run an instance.

use abide::InstanceKey;
use abide::store::{Claimed, Epoch};

use super::state::State;

impl State {
    /// Takes the right to run an instance from whoever had it, and reads what replay needs.
    pub(super) fn claim(&mut self, key: InstanceKey) -> Option<Claimed> {
        let instance = &self.kept.get(&key)?.instance;
        if instance.phase.is_terminal() || instance.paused {
            return None;
        }
        let epoch = self.next_epoch();
        let kept = self.kept.get_mut(&key)?;
        kept.claim = Some(epoch);
        // Whoever claims it reads, and so has heard, everything there is.
        kept.arrived = 0;
        Some(Claimed { instance: kept.instance.clone(), epoch, history: kept.current_run() })
    }

    /// Gives a claim back, unless somebody took it already.
    pub(super) fn release(&mut self, key: InstanceKey, epoch: Epoch) {
        if let Some(kept) = self.kept.get_mut(&key)
            && kept.claim == Some(epoch)
        {
            kept.claim = None;
        }
    }

    /// Takes every claim back: whoever held them is gone.
    pub(super) fn void_claims(&mut self) {
        self.kept.values_mut().for_each(|kept| kept.claim = None);
    }
}
