//! What a test sends and wants to arrive later.

use std::collections::{HashMap, VecDeque};

use abide::{InstanceId, Outgoing};
use parking_lot::Mutex;

/// What is kept back, by type, name or topic; in the order of sending.
#[derive(Default)]
pub(super) struct Withheld(Mutex<HashMap<String, VecDeque<(InstanceId, Outgoing)>>>);

impl Withheld {
    pub(super) fn withhold(&self, name: &str) {
        self.0.lock().entry(name.to_owned()).or_default();
    }

    pub(super) fn release(&self, name: &str) -> VecDeque<(InstanceId, Outgoing)> {
        self.0.lock().remove(name).unwrap_or_default()
    }

    /// Keeps something back, or answers it when it may go.
    pub(super) fn pass(&self, to: &InstanceId, outgoing: Outgoing) -> Option<Outgoing> {
        match self.0.lock().get_mut(outgoing.name()) {
            Some(kept) => {
                kept.push_back((to.clone(), outgoing));
                None
            }
            None => Some(outgoing),
        }
    }

    /// What is kept back, in words: `approval` for order-1.
    pub(super) fn in_words(&self) -> Vec<String> {
        let withheld = self.0.lock();
        let all = withheld
            .iter()
            .flat_map(|(name, kept)| kept.iter().map(move |(to, _)| format!("{name:?} for {to}")));
        let mut all: Vec<String> = all.collect();
        all.sort();
        all
    }
}
