//! The executable specification of a store: plain collections behind one mutex.
//!
//! Every verb is computed at once, while the lock is held; the answer is a future that is already
//! ready. Read [`state`] for what is kept, then one module per group of verbs. Speed is no concern
//! here, being obvious is: where another store disagrees with this one, one of the two is wrong.

use std::sync::Arc;

use abide::history::Recorded;
use abide::lifecycle::Control;
use abide::meeting::BufferLimit;
use abide::metrics::{Census, Figures};
use abide::store::{
    Answer, Claimed, Commit, Committed, Due, Epoch, Hint, IfExists, Listener, Overview, Started,
    Store,
};
use abide::{
    Append, Buffered, Chunk, ChunkFilter, Clock, Delivered, Delivery, Document, DocumentKind,
    Filter, Instance, InstanceId, InstanceKey, Json, Listed, LogFilter, LogRetention, LogSpan,
    Logged, NewInstance, Output, Page, Publish, Published, Result, SystemClock, Tail, Taker,
    Timestamp, Verdict, Wait, WaitEdit, WaitFilter,
};
use parking_lot::Mutex;

mod chunk;
mod claim;
mod commit;
mod control;
mod deliver;
mod document;
mod log;
mod look;
mod lookback;
mod mail;
mod mailbox;
mod outbox;
mod output;
mod prune;
mod publish;
mod start;
mod state;
mod tail;
mod take;
mod trigger;
mod wait;

use outbox::Outbox;
use state::{Limits, State};

/// A store that forgets everything with its last clone. Clones share what they keep, so what a
/// crashed engine leaves behind can be handed to the next one.
#[derive(Clone)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    shared: Arc<Mutex<Shared>>,
    outbox: Arc<Outbox>,
}

#[derive(Default)]
struct Shared {
    state: State,
    listener: Option<Arc<dyn Listener>>,
}

impl MemoryStore {
    /// An empty store that takes its time from `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, shared: Arc::default(), outbox: Arc::default() }
    }

    /// One that lets an instance keep only so much for later, and remembers only so many ids.
    #[must_use]
    pub fn with_limits(clock: Arc<dyn Clock>, buffer: BufferLimit, remembered_ids: usize) -> Self {
        let store = Self::new(clock);
        store.shared.lock().state.limits = Limits { buffer, remembered_ids, ..Limits::default() };
        store
    }

    /// Lets a wait without an equality key look at no more than so many events of the log.
    #[must_use]
    pub fn with_max_scanned(self, max_scanned: usize) -> Self {
        self.shared.lock().state.limits.scanned = max_scanned;
        self
    }

    /// One verb: a whole transaction at one moment. The listener hears of it once it is visible
    /// and the lock is free, because a listener may ask the store at once.
    fn apply<T>(&self, verb: impl FnOnce(&mut State) -> Result<T>) -> Answer<T>
    where
        T: Send + 'static,
    {
        let mut shared = self.shared.lock();
        shared.state.now = self.clock.now();
        let recorded = shared.state.last_row;
        let answer = verb(&mut shared.state);
        let mut hints = std::mem::take(&mut shared.state.hints);
        hints.extend((shared.state.last_row != recorded).then_some(Hint::Recorded));
        let ticket = self.outbox.put(shared.listener.as_ref(), hints);
        drop(shared);
        self.outbox.tell(ticket);
        Box::pin(std::future::ready(answer))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock::default()))
    }
}

impl Store for MemoryStore {
    fn attach(&self, listener: Arc<dyn Listener>) -> Answer<()> {
        self.shared.lock().listener = Some(listener);
        self.apply(|state| {
            state.void_claims();
            Ok(())
        })
    }

    fn start(&self, new: Vec<NewInstance>, if_exists: IfExists) -> Answer<Vec<Started>> {
        self.apply(|state| state.start(&new, if_exists))
    }

    fn commit(&self, commit: Commit) -> Answer<Committed> {
        self.apply(|state| state.commit(&commit))
    }

    fn claim(&self, key: InstanceKey) -> Answer<Option<Claimed>> {
        self.apply(|state| Ok(state.claim(key)))
    }

    fn release(&self, key: InstanceKey, epoch: Epoch) {
        drop(self.apply(|state| {
            state.release(key, epoch);
            Ok(())
        }));
    }

    fn control(&self, id: &InstanceId, control: Control) -> Answer<Instance> {
        self.apply(|state| state.control(id, &control))
    }

    fn runnable(&self, after: InstanceKey, limit: usize) -> Answer<Vec<InstanceKey>> {
        self.apply(|state| Ok(state.runnable(after, limit)))
    }

    fn due(&self, after: Due, until: Timestamp, limit: usize) -> Answer<Vec<Due>> {
        self.apply(|state| Ok(state.due(after, until, limit)))
    }

    fn instance(&self, id: &InstanceId) -> Answer<Option<Instance>> {
        self.apply(|state| Ok(state.instance(id)))
    }

    fn instances(&self, filter: Filter, page: Page) -> Answer<Listed> {
        self.apply(|state| Ok(state.instances(&filter, page)))
    }

    fn history(&self, id: &InstanceId, after: i64, limit: usize) -> Answer<Vec<Recorded>> {
        self.apply(|state| state.history(id, after, limit))
    }

    fn tail(&self, after: i64, limit: usize) -> Answer<Tail> {
        self.apply(|state| Ok(state.tail(after, limit)))
    }

    fn append(&self, append: Append) -> Answer<Committed> {
        self.apply(|state| state.append(&append))
    }

    fn chunks(&self, id: &InstanceId, filter: ChunkFilter, limit: usize) -> Answer<Vec<Chunk>> {
        self.apply(|state| state.chunks(id, &filter, limit))
    }

    fn deliver(&self, delivery: Delivery) -> Answer<Delivered> {
        self.apply(|state| state.deliver(&delivery))
    }

    fn fall_due(&self, keys: Vec<InstanceKey>) -> Answer<()> {
        self.apply(|state| state.fall_due(&keys))
    }

    fn waits(&self, filter: WaitFilter) -> Answer<Vec<Wait>> {
        self.apply(|state| Ok(state.waits(&filter)))
    }

    fn edit_wait(&self, id: &str, edit: WaitEdit) -> Answer<Wait> {
        self.apply(|state| state.edit_wait(id, &edit))
    }

    fn buffer(&self, id: &InstanceId) -> Answer<Vec<Buffered>> {
        self.apply(|state| state.buffer(id))
    }

    fn overview(&self, id: &InstanceId) -> Answer<Option<Overview>> {
        self.apply(|state| Ok(state.overview(id)))
    }

    fn outputs(&self, id: &InstanceId) -> Answer<Vec<Output>> {
        self.apply(|state| state.outputs(id))
    }

    fn publish(&self, publish: Publish) -> Answer<Verdict> {
        self.apply(|state| state.publish(&publish))
    }

    fn log(&self, filter: LogFilter) -> Answer<Vec<Logged>> {
        self.apply(|state| Ok(state.log(&filter)))
    }

    fn log_span(&self) -> Answer<LogSpan> {
        self.apply(|state| Ok(state.log_span()))
    }

    fn takers(&self, seq: i64) -> Answer<Vec<Taker>> {
        self.apply(|state| Ok(state.takers(seq)))
    }

    fn overheard(&self, wait: &str, limit: usize) -> Answer<Vec<Published>> {
        self.apply(|state| state.overheard(wait, limit))
    }

    fn prune_log(&self, retention: LogRetention, limit: usize) -> Answer<usize> {
        self.apply(|state| Ok(state.prune_log(retention, limit)))
    }

    fn documents(&self, kind: DocumentKind) -> Answer<Vec<Document>> {
        self.apply(|state| Ok(state.documents(kind)))
    }

    fn document(
        &self,
        kind: DocumentKind,
        name: &str,
        version: Option<u32>,
    ) -> Answer<Option<Document>> {
        self.apply(|state| Ok(state.document(kind, name, version)))
    }

    fn put_document(&self, kind: DocumentKind, name: &str, body: Json) -> Answer<Document> {
        self.apply(|state| Ok(state.put_document(kind, name, body)))
    }

    fn remove_document(&self, kind: DocumentKind, name: &str) -> Answer<bool> {
        self.apply(|state| Ok(state.remove_document(kind, name)))
    }

    fn prune(&self, ended_before: Timestamp, limit: usize) -> Answer<usize> {
        self.apply(|state| Ok(state.prune(ended_before, limit)))
    }

    fn census(&self) -> Answer<Census> {
        self.apply(|state| Ok(state.census()))
    }

    fn figures(&self) -> Figures {
        Figures::of(self.shared.lock().state.tally)
    }
}
