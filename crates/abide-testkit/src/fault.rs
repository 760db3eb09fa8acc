//! A store that fails and dies where a test says.
//!
//! A crash is that of the whole process: from then on no call is answered, not even those that
//! were under way, and no hint is heard. What was written stays in the inner store, which the test
//! hands to the next life.
//!
//! ```
//! # use std::sync::Arc;
//! # use abide_testkit::{Fault, FaultStore, MemoryStore};
//! let disk = MemoryStore::default();
//! // The third write becomes durable, but nobody lives to hear of it.
//! let store = FaultStore::new(Arc::new(disk.clone())).at(3, Fault::CrashAfter);
//! # assert_eq!(store.writes(), 0);
//! ```

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use abide::history::Recorded;
use abide::lifecycle::Control;
use abide::metrics::{Census, Figures};
use abide::store::{
    Answer, Claimed, Commit, Committed, Due, Epoch, Hint, IfExists, Listener, Overview, Started,
    Store,
};
use abide::{
    Append, Buffered, Chunk, ChunkFilter, Delivered, Delivery, Document, DocumentKind, Error,
    Filter, Instance, InstanceId, InstanceKey, Json, Listed, LogFilter, LogRetention, LogSpan,
    Logged, NewInstance, Output, Page, Publish, Published, Tail, Taker, Timestamp, Verdict, Wait,
    WaitEdit, WaitFilter,
};
use parking_lot::Mutex;
use tokio::sync::watch;

/// What goes wrong with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is written and the caller is told so.
    FailBefore,
    /// It is written, but the caller is told that nobody knows.
    FailAfter,
    /// The process dies before it is written.
    CrashBefore,
    /// The process dies after it was written and before anybody heard of it.
    CrashAfter,
}

/// A store with faults. Clones share the count, the faults and the crash.
#[derive(Clone)]
pub struct FaultStore {
    inner: Arc<dyn Store>,
    plan: Arc<Mutex<Plan>>,
    life: Arc<Life>,
    /// Counts the writes that were answered, for those who wait for one.
    answered: Arc<watch::Sender<u64>>,
}

/// What shall go wrong, and how far we are.
#[derive(Default)]
struct Plan {
    writes: usize,
    at: HashMap<usize, Fault>,
    sometimes: Option<Sometimes>,
}

struct Sometimes {
    random: fastrand::Rng,
    per_mille: u32,
    faults: Vec<Fault>,
}

/// Whether the process still lives.
struct Life {
    /// Shuts the way in and out at the moment of the crash.
    dead: watch::Sender<bool>,
    /// Tells the test once the crashing write is done.
    crashed: watch::Sender<bool>,
}

impl FaultStore {
    /// A store without faults so far.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        let life = Life { dead: watch::Sender::new(false), crashed: watch::Sender::new(false) };
        let answered = Arc::new(watch::Sender::new(0));
        Self { inner, plan: Arc::default(), life: Arc::new(life), answered }
    }

    /// Lets the `write`-th write, counted from 1, go wrong. Writes are `start`, `commit`, `append`, `control`,
    /// `deliver`, `fall_due`, `edit_wait`, `publish`, `prune_log`, `put_document`, `remove_document`
    /// and `prune`, in the order in which they were called.
    #[must_use]
    pub fn at(self, write: usize, fault: Fault) -> Self {
        self.plan.lock().at.insert(write, fault);
        self
    }

    /// Lets about `per_mille` of 1000 writes go wrong in one of these ways, the same ones for the
    /// same seed.
    #[must_use]
    pub fn sometimes(self, seed: u64, per_mille: u32, faults: &[Fault]) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let faults = faults.to_vec();
        self.plan.lock().sometimes = Some(Sometimes { random, per_mille, faults });
        self
    }

    /// How many writes were called so far.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.plan.lock().writes
    }

    /// Resolves when the process died: with [`Fault::CrashAfter`], once the write is durable.
    pub fn crashed(&self) -> impl Future<Output = ()> + Send + 'static {
        let life = Arc::clone(&self.life);
        async move {
            let mut crashed = life.crashed.subscribe();
            // The sender lives in `life`, so this can't end without a crash.
            let _crash = crashed.wait_for(|crashed| *crashed).await;
        }
    }

    /// Changes whenever a write was answered: until then, nothing that the store shows differs.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.answered.subscribe()
    }

    fn write<T: Send + 'static>(&self, call: impl FnOnce(&dyn Store) -> Answer<T>) -> Answer<T> {
        let (answer, answered) = (self.faulty(call), Arc::clone(&self.answered));
        Box::pin(async move {
            let answer = answer.await;
            answered.send_modify(|writes| *writes += 1);
            answer
        })
    }

    fn faulty<T: Send + 'static>(&self, call: impl FnOnce(&dyn Store) -> Answer<T>) -> Answer<T> {
        if self.life.is_over() {
            return Box::pin(pending());
        }
        match self.plan.lock().next() {
            None => self.life.answered(call(&*self.inner)),
            Some(Fault::FailBefore) => Box::pin(async { Err(unavailable()) }),
            Some(Fault::FailAfter) => {
                let written = self.life.answered(call(&*self.inner));
                Box::pin(async {
                    drop(written.await);
                    Err(unknown())
                })
            }
            Some(Fault::CrashBefore) => {
                self.life.die();
                self.life.crashed.send_replace(true);
                Box::pin(pending())
            }
            Some(Fault::CrashAfter) => {
                // Dead before the write, or its hints would still be heard.
                self.life.die();
                let written = call(&*self.inner);
                let life = Arc::clone(&self.life);
                Box::pin(async move {
                    drop(written.await);
                    life.crashed.send_replace(true);
                    pending().await
                })
            }
        }
    }

    fn read<T: Send + 'static>(&self, call: impl FnOnce(&dyn Store) -> Answer<T>) -> Answer<T> {
        if self.life.is_over() {
            return Box::pin(pending());
        }
        self.life.answered(call(&*self.inner))
    }
}

impl Plan {
    /// Counts a write and says what goes wrong with it.
    fn next(&mut self) -> Option<Fault> {
        self.writes += 1;
        let random = self.sometimes.as_mut().and_then(|sometimes| {
            let hit = sometimes.random.u32(..1000) < sometimes.per_mille;
            if hit { sometimes.random.choice(&sometimes.faults).copied() } else { None }
        });
        self.at.get(&self.writes).copied().or(random)
    }
}

impl Life {
    fn is_over(&self) -> bool {
        *self.dead.borrow()
    }

    fn die(&self) {
        self.dead.send_replace(true);
    }

    /// An answer, unless the process dies before it is given.
    fn answered<T: Send + 'static>(self: &Arc<Self>, answer: Answer<T>) -> Answer<T> {
        let life = Arc::clone(self);
        Box::pin(async move {
            let answer = answer.await;
            if life.is_over() { pending().await } else { answer }
        })
    }
}

fn unavailable() -> Error {
    let reason = "injected fault".to_owned();
    Error::StoreUnavailable { reason, retry_in: Duration::from_millis(10) }
}

fn unknown() -> Error {
    Error::OutcomeUnknown { reason: "injected fault".to_owned() }
}

/// Passes hints on while the process lives.
struct WhileAlive {
    life: Arc<Life>,
    listener: Arc<dyn Listener>,
}

impl Listener for WhileAlive {
    fn hint(&self, hint: Hint) {
        if !self.life.is_over() {
            self.listener.hint(hint);
        }
    }
}

impl Store for FaultStore {
    fn attach(&self, listener: Arc<dyn Listener>) -> Answer<()> {
        let life = Arc::clone(&self.life);
        self.read(|inner| inner.attach(Arc::new(WhileAlive { life, listener })))
    }

    fn start(&self, new: Vec<NewInstance>, if_exists: IfExists) -> Answer<Vec<Started>> {
        self.write(|inner| inner.start(new, if_exists))
    }

    fn commit(&self, commit: Commit) -> Answer<Committed> {
        self.write(|inner| inner.commit(commit))
    }

    fn claim(&self, key: InstanceKey) -> Answer<Option<Claimed>> {
        self.read(|inner| inner.claim(key))
    }

    fn release(&self, key: InstanceKey, epoch: Epoch) {
        if !self.life.is_over() {
            self.inner.release(key, epoch);
        }
    }

    fn control(&self, id: &InstanceId, control: Control) -> Answer<Instance> {
        self.write(|inner| inner.control(id, control))
    }

    fn runnable(&self, after: InstanceKey, limit: usize) -> Answer<Vec<InstanceKey>> {
        self.read(|inner| inner.runnable(after, limit))
    }

    fn due(&self, after: Due, until: Timestamp, limit: usize) -> Answer<Vec<Due>> {
        self.read(|inner| inner.due(after, until, limit))
    }

    fn instance(&self, id: &InstanceId) -> Answer<Option<Instance>> {
        self.read(|inner| inner.instance(id))
    }

    fn instances(&self, filter: Filter, page: Page) -> Answer<Listed> {
        self.read(|inner| inner.instances(filter, page))
    }

    fn history(&self, id: &InstanceId, after: i64, limit: usize) -> Answer<Vec<Recorded>> {
        self.read(|inner| inner.history(id, after, limit))
    }

    fn tail(&self, after: i64, limit: usize) -> Answer<Tail> {
        self.read(|inner| inner.tail(after, limit))
    }

    fn append(&self, append: Append) -> Answer<Committed> {
        self.write(|inner| inner.append(append))
    }

    fn chunks(&self, id: &InstanceId, filter: ChunkFilter, limit: usize) -> Answer<Vec<Chunk>> {
        self.read(|inner| inner.chunks(id, filter, limit))
    }

    fn deliver(&self, delivery: Delivery) -> Answer<Delivered> {
        self.write(|inner| inner.deliver(delivery))
    }

    fn fall_due(&self, keys: Vec<InstanceKey>) -> Answer<()> {
        self.write(|inner| inner.fall_due(keys))
    }

    fn waits(&self, filter: WaitFilter) -> Answer<Vec<Wait>> {
        self.read(|inner| inner.waits(filter))
    }

    fn edit_wait(&self, id: &str, edit: WaitEdit) -> Answer<Wait> {
        self.write(|inner| inner.edit_wait(id, edit))
    }

    fn buffer(&self, id: &InstanceId) -> Answer<Vec<Buffered>> {
        self.read(|inner| inner.buffer(id))
    }

    fn overview(&self, id: &InstanceId) -> Answer<Option<Overview>> {
        self.read(|inner| inner.overview(id))
    }

    fn outputs(&self, id: &InstanceId) -> Answer<Vec<Output>> {
        self.read(|inner| inner.outputs(id))
    }

    fn publish(&self, publish: Publish) -> Answer<Verdict> {
        self.write(|inner| inner.publish(publish))
    }

    fn log(&self, filter: LogFilter) -> Answer<Vec<Logged>> {
        self.read(|inner| inner.log(filter))
    }

    fn log_span(&self) -> Answer<LogSpan> {
        self.read(|inner| inner.log_span())
    }

    fn takers(&self, seq: i64) -> Answer<Vec<Taker>> {
        self.read(|inner| inner.takers(seq))
    }

    fn overheard(&self, wait: &str, limit: usize) -> Answer<Vec<Published>> {
        self.read(|inner| inner.overheard(wait, limit))
    }

    fn prune_log(&self, retention: LogRetention, limit: usize) -> Answer<usize> {
        self.write(|inner| inner.prune_log(retention, limit))
    }

    fn documents(&self, kind: DocumentKind) -> Answer<Vec<Document>> {
        self.read(|inner| inner.documents(kind))
    }

    fn document(
        &self,
        kind: DocumentKind,
        name: &str,
        version: Option<u32>,
    ) -> Answer<Option<Document>> {
        self.read(|inner| inner.document(kind, name, version))
    }

    fn put_document(&self, kind: DocumentKind, name: &str, body: Json) -> Answer<Document> {
        self.write(|inner| inner.put_document(kind, name, body))
    }

    fn remove_document(&self, kind: DocumentKind, name: &str) -> Answer<bool> {
        self.write(|inner| inner.remove_document(kind, name))
    }

    fn prune(&self, ended_before: Timestamp, limit: usize) -> Answer<usize> {
        self.write(|inner| inner.prune(ended_before, limit))
    }

    fn census(&self) -> Answer<Census> {
        self.read(|inner| inner.census())
    }

    fn figures(&self) -> Figures {
        self.inner.figures()
    }
}
