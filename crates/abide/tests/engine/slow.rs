//! A store whose answers a test may withhold.

use std::collections::HashSet;
use std::sync::Arc;

use abide::history::Recorded;
use abide::lifecycle::Control;
use abide::metrics::{Census, Figures};
use abide::store::{
    Answer, Claimed, Commit, Committed, Due, Epoch, IfExists, Listener, Overview, Started, Store,
};
use abide::{
    Append, Buffered, Chunk, ChunkFilter, Delivered, Delivery, Document, DocumentKind, Filter,
    Instance, InstanceId, InstanceKey, Json, Listed, LogFilter, LogRetention, LogSpan, Logged,
    NewInstance, Output, Page, Publish, Published, Tail, Taker, Timestamp, Verdict, Wait, WaitEdit,
    WaitFilter,
};
use tokio::sync::watch;

/// What a test can withhold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hold {
    /// Starts are not yet written.
    Start,
    /// Starts are written, but the answer is still on its way.
    StartAnswer,
    /// Chunks are not yet written.
    Append,
    /// Chunks are not yet read.
    Chunks,
    /// What was recorded is not yet read by those who tell readers.
    Tail,
    /// Commits are not yet written.
    Commit,
    /// Commits of this instance are not yet written.
    CommitOf(InstanceKey),
    /// Commits are written, but the answer is still on its way.
    CommitAnswer,
    /// Timers were read, but the answer is still on its way.
    DueAnswer,
    /// An instance was claimed and read, but the answer is still on its way.
    ClaimAnswer,
}

/// See the module. Clones share what is withheld.
#[derive(Clone)]
pub(crate) struct SlowStore {
    inner: Arc<dyn Store>,
    held: Arc<watch::Sender<HashSet<Hold>>>,
    /// How many are waiting now.
    waiting: Arc<watch::Sender<usize>>,
}

impl SlowStore {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        let held = Arc::new(watch::Sender::new(HashSet::new()));
        Self { inner, held, waiting: Arc::new(watch::Sender::new(0)) }
    }

    pub(crate) fn shared(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    pub(crate) fn hold(&self, what: Hold) {
        self.held.send_modify(|held| held.extend([what]));
    }

    pub(crate) fn release(&self, what: Hold) {
        self.held.send_modify(|held| held.retain(|one| *one != what));
    }

    /// Until something is withheld.
    pub(crate) async fn holds_one(&self) {
        self.holds(1).await;
    }

    /// Until so much is withheld.
    pub(crate) async fn holds(&self, many: usize) {
        drop(self.waiting.subscribe().wait_for(|waiting| *waiting >= many).await.unwrap());
    }

    fn pass(&self, through: &[Hold]) -> impl Future<Output = ()> + Send + 'static {
        let through = through.to_vec();
        let (held, waiting) = (Arc::clone(&self.held), Arc::clone(&self.waiting));
        async move {
            let free = |held: &HashSet<Hold>| !through.iter().any(|hold| held.contains(hold));
            if free(&held.borrow()) {
                return;
            }
            waiting.send_modify(|waiting| *waiting += 1);
            drop(held.subscribe().wait_for(free).await.unwrap());
            waiting.send_modify(|waiting| *waiting -= 1);
        }
    }
}

impl Store for SlowStore {
    fn attach(&self, listener: Arc<dyn Listener>) -> Answer<()> {
        self.inner.attach(listener)
    }

    fn start(&self, new: Vec<NewInstance>, if_exists: IfExists) -> Answer<Vec<Started>> {
        let (inner, pass) = (Arc::clone(&self.inner), self.pass(&[Hold::Start]));
        let answer = self.pass(&[Hold::StartAnswer]);
        Box::pin(async move {
            pass.await;
            let started = inner.start(new, if_exists).await;
            answer.await;
            started
        })
    }

    fn commit(&self, commit: Commit) -> Answer<Committed> {
        let pass = self.pass(&[Hold::Commit, Hold::CommitOf(commit.key)]);
        let (inner, answer) = (Arc::clone(&self.inner), self.pass(&[Hold::CommitAnswer]));
        Box::pin(async move {
            pass.await;
            let committed = inner.commit(commit).await;
            answer.await;
            committed
        })
    }

    fn claim(&self, key: InstanceKey) -> Answer<Option<Claimed>> {
        let (claimed, pass) = (self.inner.claim(key), self.pass(&[Hold::ClaimAnswer]));
        Box::pin(async move {
            let claimed = claimed.await;
            pass.await;
            claimed
        })
    }

    fn release(&self, key: InstanceKey, epoch: Epoch) {
        self.inner.release(key, epoch);
    }

    fn control(&self, id: &InstanceId, control: Control) -> Answer<Instance> {
        self.inner.control(id, control)
    }

    fn runnable(&self, after: InstanceKey, limit: usize) -> Answer<Vec<InstanceKey>> {
        self.inner.runnable(after, limit)
    }

    fn due(&self, after: Due, until: Timestamp, limit: usize) -> Answer<Vec<Due>> {
        let (due, pass) = (self.inner.due(after, until, limit), self.pass(&[Hold::DueAnswer]));
        Box::pin(async move {
            let due = due.await;
            pass.await;
            due
        })
    }

    fn instance(&self, id: &InstanceId) -> Answer<Option<Instance>> {
        self.inner.instance(id)
    }

    fn instances(&self, filter: Filter, page: Page) -> Answer<Listed> {
        self.inner.instances(filter, page)
    }

    fn history(&self, id: &InstanceId, after: i64, limit: usize) -> Answer<Vec<Recorded>> {
        self.inner.history(id, after, limit)
    }

    fn tail(&self, after: i64, limit: usize) -> Answer<Tail> {
        let (inner, pass) = (Arc::clone(&self.inner), self.pass(&[Hold::Tail]));
        Box::pin(async move {
            pass.await;
            inner.tail(after, limit).await
        })
    }

    fn append(&self, append: Append) -> Answer<Committed> {
        let (inner, pass) = (Arc::clone(&self.inner), self.pass(&[Hold::Append]));
        Box::pin(async move {
            pass.await;
            inner.append(append).await
        })
    }

    fn chunks(&self, id: &InstanceId, filter: ChunkFilter, limit: usize) -> Answer<Vec<Chunk>> {
        let (inner, pass) = (Arc::clone(&self.inner), self.pass(&[Hold::Chunks]));
        let id = id.clone();
        Box::pin(async move {
            pass.await;
            inner.chunks(&id, filter, limit).await
        })
    }

    fn deliver(&self, delivery: Delivery) -> Answer<Delivered> {
        self.inner.deliver(delivery)
    }

    fn fall_due(&self, keys: Vec<InstanceKey>) -> Answer<()> {
        self.inner.fall_due(keys)
    }

    fn waits(&self, filter: WaitFilter) -> Answer<Vec<Wait>> {
        self.inner.waits(filter)
    }

    fn edit_wait(&self, id: &str, edit: WaitEdit) -> Answer<Wait> {
        self.inner.edit_wait(id, edit)
    }

    fn buffer(&self, id: &InstanceId) -> Answer<Vec<Buffered>> {
        self.inner.buffer(id)
    }

    fn overview(&self, id: &InstanceId) -> Answer<Option<Overview>> {
        self.inner.overview(id)
    }

    fn outputs(&self, id: &InstanceId) -> Answer<Vec<Output>> {
        self.inner.outputs(id)
    }

    fn publish(&self, publish: Publish) -> Answer<Verdict> {
        self.inner.publish(publish)
    }

    fn log(&self, filter: LogFilter) -> Answer<Vec<Logged>> {
        self.inner.log(filter)
    }

    fn log_span(&self) -> Answer<LogSpan> {
        self.inner.log_span()
    }

    fn takers(&self, seq: i64) -> Answer<Vec<Taker>> {
        self.inner.takers(seq)
    }

    fn overheard(&self, wait: &str, limit: usize) -> Answer<Vec<Published>> {
        self.inner.overheard(wait, limit)
    }

    fn prune_log(&self, retention: LogRetention, limit: usize) -> Answer<usize> {
        self.inner.prune_log(retention, limit)
    }

    fn documents(&self, kind: DocumentKind) -> Answer<Vec<Document>> {
        self.inner.documents(kind)
    }

    fn document(
        &self,
        kind: DocumentKind,
        name: &str,
        version: Option<u32>,
    ) -> Answer<Option<Document>> {
        self.inner.document(kind, name, version)
    }

    fn put_document(&self, kind: DocumentKind, name: &str, body: Json) -> Answer<Document> {
        self.inner.put_document(kind, name, body)
    }

    fn remove_document(&self, kind: DocumentKind, name: &str) -> Answer<bool> {
        self.inner.remove_document(kind, name)
    }

    fn prune(&self, ended_before: Timestamp, limit: usize) -> Answer<usize> {
        self.inner.prune(ended_before, limit)
    }

    fn census(&self) -> Answer<Census> {
        self.inner.census()
    }

    fn figures(&self) -> Figures {
        self.inner.figures()
    }
}
