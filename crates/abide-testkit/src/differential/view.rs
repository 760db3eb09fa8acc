//! Everything that can be seen of a store from outside.

use std::fmt::Debug;

use abide::history::Recorded;
use abide::store::Due;
use abide::{
    Buffered, Chunk, Document, Instance, InstanceId, InstanceKey, LogSpan, Logged, Output, Status,
    Tail, TailRow, Taker, Wait,
};

#[derive(Default)]
pub(crate) struct View {
    pub(crate) instances: Vec<Instance>,
    pub(crate) histories: Vec<(InstanceId, Vec<Recorded>)>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) buffers: Vec<(InstanceId, Vec<Buffered>)>,
    pub(crate) outputs: Vec<(InstanceId, Vec<Output>)>,
    pub(crate) chunks: Vec<(InstanceId, Vec<Chunk>)>,
    /// What the tail of all histories shows, entry by entry: how many make a row is left to the store.
    pub(crate) tail: Vec<(InstanceId, Status, Recorded)>,
    pub(crate) log: Vec<Logged>,
    /// By number, of everything in the log.
    pub(crate) takers: Vec<(i64, Vec<Taker>)>,
    pub(crate) span: LogSpan,
    pub(crate) documents: Vec<Document>,
    pub(crate) runnable: Vec<InstanceKey>,
    pub(crate) due: Vec<Due>,
    /// What was heard since the last view.
    pub(crate) hints: Vec<String>,
}

impl View {
    /// The first thing that differs.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        differ("instances", &self.instances, &other.instances)
            .or_else(|| differ("histories", &self.histories, &other.histories))
            .or_else(|| differ("waits", &self.waits, &other.waits))
            .or_else(|| differ("buffers", &self.buffers, &other.buffers))
            .or_else(|| differ("outputs", &self.outputs, &other.outputs))
            .or_else(|| differ("chunks", &self.chunks, &other.chunks))
            .or_else(|| differ("tail", &self.tail, &other.tail))
            .or_else(|| differ("log", &self.log, &other.log))
            .or_else(|| differ("takers", &self.takers, &other.takers))
            .or_else(|| differ("span of the log", &[self.span], &[other.span]))
            .or_else(|| differ("documents", &self.documents, &other.documents))
            .or_else(|| differ("runnable", &self.runnable, &other.runnable))
            .or_else(|| differ("due", &self.due, &other.due))
            .or_else(|| differ("hints", &self.hints, &other.hints))
    }
}

/// The entries of a tail, each with its instance.
pub(super) fn flat(tail: Tail) -> Vec<(InstanceId, Status, Recorded)> {
    let entries = |TailRow { id, status, recorded, .. }| {
        recorded.into_iter().map(move |entry| (InstanceId::clone(&id), status, entry))
    };
    tail.rows.into_iter().flat_map(entries).collect()
}

/// Waits with their rank in place of their key, which is the store's own.
pub(super) fn ranked(waits: Vec<Wait>) -> Vec<Wait> {
    let mut keys: Vec<i64> = waits.iter().map(|wait| wait.key).collect();
    keys.sort_unstable();
    let ranked = |wait: Wait| Wait { key: rank(&keys, wait.key), ..without_keys(wait) };
    waits.into_iter().map(ranked).collect()
}

/// A wait without its key and those of what it holds. What it holds is known by its id.
pub(super) fn without_keys(mut wait: Wait) -> Wait {
    wait.key = 0;
    wait.count.iter_mut().flat_map(|count| &mut count.held).for_each(|held| held.key = 0);
    wait
}

/// What is buffered with its rank in the order of acceptance in place of its key.
pub(super) fn by_acceptance(
    mut buffers: Vec<(InstanceId, Vec<Buffered>)>,
) -> Vec<(InstanceId, Vec<Buffered>)> {
    let mut keys: Vec<i64> =
        buffers.iter().flat_map(|(_, kept)| kept).map(|kept| kept.key).collect();
    keys.sort_unstable();
    for kept in buffers.iter_mut().flat_map(|(_, kept)| kept) {
        kept.key = rank(&keys, kept.key);
    }
    buffers
}

fn rank(sorted: &[i64], key: i64) -> i64 {
    i64::try_from(sorted.partition_point(|other| *other < key)).unwrap()
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
