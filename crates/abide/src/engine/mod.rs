//! The engine: it holds the store, the workflows it knows and the instances in memory, and keeps
//! them going.

mod builder;
mod catalog;
mod claims;
mod explain;
mod feed;
mod handle;
mod idle;
mod listener;
mod outgoing;
mod prune;
mod publish;
mod replay;
mod residents;
mod start;
mod timers;
mod waiters;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use futures_util::future::join_all;
use tokio::sync::{mpsc, watch};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::id::{InstanceId, InstanceKey};
use crate::json::Json;
use crate::listing::{Filter, Listed, Page};
use crate::metrics::{Census, Counted, Measured, Metrics};
use crate::replacement::Replace;
use crate::run::Resident;
use crate::status::Status;
use crate::store::{Ended, Store};
use crate::tail::Cursor;
use crate::time::{Clock, Timestamp};
use crate::workflow::{Registry, Workflow};

pub use builder::Builder;
pub use catalog::Kept;
pub use explain::{Explanation, NearMiss, Why};
pub use feed::{Fed, Follow, Frames, Observer, Watch, WatchAll, Watched};
pub use handle::Handle;
pub use outgoing::Outgoing;
pub use publish::IntoPublication;
pub use replay::Replayed;
pub use start::Start;

use catalog::Catalog;
use feed::Feed;
use idle::Idle;
use residents::{Residents, Starting};
use timers::Timers;
use waiters::Waiters;

/// Runs workflows on a store. Cheap to clone; the last clone to be dropped stops the engine as a
/// crash would, so prefer [`Engine::shutdown`].
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
    /// Ends the background tasks when the last engine is gone.
    _alive: Arc<Alive>,
}

/// What workflows need of their engine.
pub(crate) struct Env {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) catalog: Catalog,
    pub(crate) feed: Arc<Feed>,
    pub(crate) measured: Measured,
    /// For what a step stores ahead of its end.
    pub(crate) store: Arc<dyn Store>,
    /// Asked before the function of a step is called; `None` outside tests.
    pub(crate) replace: Option<Box<Replace>>,
}

impl Env {
    pub(crate) fn generate_id(&self) -> InstanceId {
        InstanceId::generated("wf", &self.clock.uuid())
    }
}

/// The engine itself.
pub(crate) struct Inner {
    pub(crate) env: Arc<Env>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) residents: Residents,
    pub(crate) timers: Timers,
    pub(crate) idle: Idle,
    /// Who waits for an instance to end.
    waiters: Waiters<InstanceId, Ended>,
    /// Who waits for an output of an instance, by its key.
    output_waiters: Waiters<(InstanceId, Arc<str>), Json>,
    /// Who waits for an instance to rest.
    settling: Waiters<InstanceId, Status>,
    /// Instances to be read from the store and run.
    claims: mpsc::UnboundedSender<InstanceKey>,
    observers: Vec<Arc<dyn Observer>>,
    /// How much there was when somebody last asked.
    counted: Counted,
    /// Why the store takes nothing any more.
    lost: watch::Sender<Option<String>>,
    phase: AtomicU8,
}

const RUNNING: u8 = 0;
const SHUTTING_DOWN: u8 = 1;
const KILLED: u8 = 2;

impl Inner {
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.phase.load(Ordering::SeqCst) != RUNNING
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.phase.load(Ordering::SeqCst) == KILLED
    }

    /// Has an instance looked at: ticked when it is in memory, read from the store when not.
    pub(crate) fn wake(&self, key: InstanceKey) {
        if self.residents.tick_or_load(key) {
            self.load(key);
        }
    }

    /// A start was answered: whoever had to wait for that is read from the store.
    fn started(&self, start: &Starting) {
        for key in self.residents.started(start) {
            self.load(key);
        }
    }

    fn load(&self, key: InstanceKey) {
        // The receiver is gone only when the engine is.
        let _ = self.claims.send(key);
    }

    /// A run let go of its instance. Unless that was its end, somebody must look again.
    pub(crate) fn left(&self, key: InstanceKey, resident: &Arc<Resident>, over: bool) {
        if self.residents.leave(key, resident, over) && !self.is_shutting_down() {
            self.wake(key);
        }
        self.env.feed.left(&resident.id);
    }

    /// Lets go of everything at once, as a crash would.
    fn kill(&self) {
        self.phase.store(KILLED, Ordering::SeqCst);
        self.timers.stop();
        for resident in self.residents.all() {
            resident.nudge();
        }
        self.waiters.forget_all();
        self.output_waiters.forget_all();
        self.settling.forget_all();
        self.env.feed.stop();
    }

    /// The store is closed: whoever waits would wait for ever.
    fn lose_store(&self, reason: String) {
        // Usually it is closed after the engine.
        if !self.is_killed() {
            tracing::error!(
                reason,
                "the store is closed: nothing goes on until it is opened again"
            );
            self.lost.send_replace(Some(reason));
            self.kill();
        }
    }

    /// Why nothing will be told any more.
    fn gone(&self) -> Error {
        match &*self.lost.borrow() {
            Some(reason) => Error::StoreClosed { reason: reason.clone() },
            None => Error::ShutDown,
        }
    }

    /// An instance rests, and the store shows it so.
    pub(crate) fn rests(&self, id: &InstanceId, status: Status) {
        self.settling.tell(id, &status);
    }
}

struct Alive(Arc<Inner>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.kill();
    }
}

impl Engine {
    /// Begins an engine on a store.
    pub fn builder(store: impl Store) -> Builder {
        Builder::new(Arc::new(store))
    }

    /// Begins an engine on a store that others hold as well.
    pub fn on(store: Arc<dyn Store>) -> Builder {
        Builder::new(store)
    }

    /// Starts an instance of a workflow. When this returns, the instance survives a crash.
    ///
    /// # Errors
    /// [`Error::WorkflowUnknown`], [`Error::AlreadyExists`], an input that does not fit or is too
    /// large, or the store's own.
    pub async fn start(&self, workflow: &str, start: Start) -> Result<Handle> {
        let mut handles = self.start_all(workflow, vec![start]).await?;
        handles.pop().ok_or(Error::ShutDown)
    }

    /// Starts at most 100 instances, all or none.
    ///
    /// # Errors
    /// As [`Engine::start`]; nothing was started then.
    pub async fn start_all(&self, workflow: &str, starts: Vec<Start>) -> Result<Vec<Handle>> {
        start::start_all(&self.inner, workflow, starts).await
    }

    /// Registers a workflow, or another version of one, while the engine runs. Instances that waited
    /// for an engine that knows it go on.
    ///
    /// # Errors
    /// When it declares what can't be, or the store's own.
    pub async fn register(&self, workflow: Workflow) -> Result<()> {
        workflow.check()?;
        self.inner.env.registry.add(workflow);
        claims::sweep_once(&self.inner).await
    }

    /// The workflows it knows, by name, each with its versions, oldest first. New instances take the
    /// last.
    #[must_use]
    pub fn workflows(&self) -> Vec<(Arc<str>, Vec<u32>)> {
        self.inner.env.registry.names()
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.env.config
    }

    /// The present moment by its clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.env.clock.now()
    }

    /// A new id, `prefix_…`, such as the engine itself gives.
    #[must_use]
    pub fn new_id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", self.inner.env.clock.uuid().simple())
    }

    /// A handle on an instance, without asking the store. Its first call answers
    /// [`Error::InstanceNotFound`] if there is none.
    #[must_use]
    pub fn get(&self, id: &InstanceId) -> Handle {
        Handle::new(&self.inner, id.clone(), None)
    }

    /// A page of instances, newest first.
    ///
    /// # Errors
    /// The store's own.
    pub async fn list(&self, filter: Filter, page: Page) -> Result<Listed> {
        self.inner.store.instances(filter, page).await
    }

    /// Watches all instances: whatever is recorded, in the order of commits. Begins after a place that was
    /// given before, or when it is first polled. For exactly what happens after another moment, ask for
    /// [`Engine::feed_head`] then.
    ///
    /// Who is too slow is not waited for: it gets a [`Fed::Gap`] and goes on with the oldest of the last
    /// `feed.keep` rows. Who comes back is given what it missed, unless that is more than `feed.lookBack` rows;
    /// then that is a gap, too. It ends with [`Error::ShutDown`] or the store's own error.
    pub fn watch_all(&self, after: Option<Cursor>) -> WatchAll {
        WatchAll::new(&self.inner, after)
    }

    /// Where the feed of all instances ends now: [`Engine::watch_all`] after it gives whatever happens from
    /// here on.
    ///
    /// # Errors
    /// The store's own.
    pub async fn feed_head(&self) -> Result<Cursor> {
        Ok(Cursor::behind(self.inner.store.tail(i64::MAX, 0).await?.head))
    }

    /// Deletes ended instances and published events past their retention now, in bounded batches, and
    /// answers how many.
    /// The engine also does this by itself (`prune.interval`).
    ///
    /// # Errors
    /// The store's own.
    pub async fn prune(&self) -> Result<usize> {
        prune::prune(&self.inner).await
    }

    /// The store it runs on.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Whether it takes work: it was neither shut down nor is it about to be.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.inner.is_shutting_down()
    }

    /// How many instances are in memory.
    #[must_use]
    pub fn resident(&self) -> usize {
        self.inner.residents.count()
    }

    /// What it and its store have done so far. Reading it disturbs nobody.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let Inner { env, store, residents, timers, .. } = &*self.inner;
        Metrics {
            store: store.figures(),
            timer_lateness: env.measured.timer_lateness.read(),
            event_wakes: env.measured.event_wakes.read(),
            timer_wakes: env.measured.timer_wakes.read(),
            retry_wakes: env.measured.retry_wakes.read(),
            resident: residents.count() as u64,
            loading: residents.loading() as u64,
            timers: timers.count() as u64,
        }
    }

    /// How much its store keeps: instances by status, open waits, buffered events. The answer may be a
    /// second old, or older where finding out takes long.
    ///
    /// # Errors
    /// The store's own.
    pub async fn census(&self) -> Result<Census> {
        self.inner.counted.read(&*self.inner.store).await
    }

    /// Stops: nothing new begins, running steps get `shutdown.grace` to finish and be recorded, and observers
    /// finish with what was.
    pub async fn shutdown(&self) {
        self.inner.phase.fetch_max(SHUTTING_DOWN, Ordering::SeqCst);
        let clock = &self.inner.env.clock;
        let grace = clock.sleep_until(clock.now().after(self.inner.env.config.shutdown_grace));
        tokio::select! {
            () = self.inner.residents.all_quiet() => {}
            () = grace => tracing::warn!("steps still ran when shutdown.grace was over"),
        }
        join_all(self.inner.observers.iter().map(|observer| observer.finish())).await;
        self.inner.kill();
    }

    /// Until the store closes itself while the engine runs, as it does when it can't know what is on the disk, and
    /// why. Whoever waits for anything is told the same. The only way on is to open it again, in a new engine.
    pub async fn store_lost(&self) -> Error {
        // The sender lives as long as the engine.
        let _ = self.inner.lost.subscribe().wait_for(Option::is_some).await;
        self.inner.gone()
    }

    /// Stops at once, as a crash would. For tests.
    pub fn kill(&self) {
        self.inner.kill();
    }
}
