//! One thing that is done to every store. It names instances by id and claims by age, because keys
//! and epochs are only known once the operation before it was answered.

use std::collections::HashMap;
use std::time::Duration;

use abide::lifecycle::Control;
use abide::store::{Due, IfExists};
use abide::{
    ChunkFilter, Delivery, DocumentKind, Filter, Instance, InstanceId, InstanceKey, Json,
    LogFilter, LogRetention, NewChunk, NewInstance, Page, Publish, Timestamp, Transition, WaitEdit,
    WaitFilter,
};

#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// Time passes.
    Advance(Duration),
    /// Another engine takes over.
    Attach,
    Start(Vec<NewInstance>, IfExists),
    Commit(Speaker, Box<Transition>),
    Append(Speaker, NewChunk),
    Chunks(InstanceId, ChunkFilter, usize),
    Claim(InstanceId),
    Release(Speaker),
    Control(InstanceId, Control),
    /// Forgets what ended so long ago.
    Prune(Duration, usize),
    Runnable(InstanceKey, usize),
    Due(Due, Timestamp, usize),
    List(Filter, Page),
    History(InstanceId, i64, usize),
    Deliver(Delivery),
    FallDue(Vec<InstanceId>),
    EditWait(String, WaitEdit),
    Waits(WaitFilter),
    Publish(Publish),
    Log(LogFilter),
    PruneLog(LogRetention, usize),
    Overheard(String, usize),
    PutDocument(DocumentKind, &'static str, Json),
    RemoveDocument(DocumentKind, &'static str),
    Document(DocumentKind, &'static str, Option<u32>),
}

/// Whoever holds, or once held, a claim on an instance.
#[derive(Clone, Debug)]
pub(super) struct Speaker {
    pub(super) id: InstanceId,
    /// How many claims came after its own: 0 for the latest.
    pub(super) claims_since: usize,
    /// How many runs ago it began: 0 for the current one.
    pub(super) runs_since: u32,
    /// Whether it speaks without having heard what arrived.
    pub(super) deaf: bool,
}

/// The last known key and run of every id there ever was.
#[derive(Default)]
pub(super) struct Known(HashMap<InstanceId, (InstanceKey, u32)>);

impl Known {
    pub(super) fn learn(&mut self, instances: &[Instance]) {
        for instance in instances {
            self.0.insert(instance.id.clone(), (instance.key, instance.run));
        }
    }

    /// The key and run of an id; of one that never was, some that never were.
    pub(super) fn get(&self, id: &InstanceId) -> (InstanceKey, u32) {
        self.0.get(id).copied().unwrap_or((InstanceKey(i64::MAX), 1))
    }
}
