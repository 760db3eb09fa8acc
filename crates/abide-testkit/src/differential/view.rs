//! Everything that can be seen of a store from outside.

use std::fmt::Debug;

use abide::history::Recorded;
use abide::store::Due;
use abide::{Instance, InstanceId, InstanceKey};

pub(super) struct View {
    pub(super) instances: Vec<Instance>,
    pub(super) histories: Vec<(InstanceId, Vec<Recorded>)>,
    pub(super) runnable: Vec<InstanceKey>,
    pub(super) due: Vec<Due>,
    /// What was heard since the last view.
    pub(super) hints: Vec<String>,
}

impl View {
    /// The first thing that differs.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        differ("instances", &self.instances, &other.instances)
            .or_else(|| differ("histories", &self.histories, &other.histories))
            .or_else(|| differ("runnable", &self.runnable, &other.runnable))
            .or_else(|| differ("due", &self.due, &other.due))
            .or_else(|| differ("hints", &self.hints, &other.hints))
    }
}

fn differ<T: PartialEq + Debug>(what: &str, memory: &[T], store: &[T]) -> Option<String> {
    if memory == store {
        return None;
    }
    let at = memory.iter().zip(store).take_while(|(memory, store)| memory == store).count();
    let shown = |list: &[T]| match list.get(at) {
        Some(item) => format!("{item:#?}"),
        None => "nothing".to_owned(),
    };
    Some(format!(
        "{what} differ at {at} ({} in memory, {} in store)\nin memory: {}\nin store: {}",
        memory.len(),
        store.len(),
        shown(memory),
        shown(store)
    ))
}
