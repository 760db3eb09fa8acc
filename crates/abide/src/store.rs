//! What a store does, in the words of the domain. Each verb is one whole transaction.
//!
//! A store keeps truth and makes the atomic decisions; it runs nothing. How it batches is its own
//! affair. Decisions themselves are pure and live in [`crate::lifecycle`]: a store loads what they
//! need, calls them while it holds the instance, and applies what they say, so that every store
//! decides alike.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::chunk::{Append, Chunk, ChunkFilter};
use crate::document::{Document, DocumentKind};
use crate::error::Result;
use crate::event::{Buffered, Delivered, Delivery};
use crate::failure::Failure;
use crate::history::Recorded;
use crate::id::{InstanceId, InstanceKey};
use crate::instance::{Instance, NewInstance, Output, Transition};
use crate::json::Json;
use crate::lifecycle::Control;
use crate::listing::{Filter, Listed, Page, WaitFilter};
use crate::log::{LogFilter, LogRetention, LogSpan, Logged, Publish, Published, Taker};
use crate::metrics::{Census, Figures};
use crate::status::Status;
use crate::tail::Tail;
use crate::time::Timestamp;
use crate::verdict::Verdict;
use crate::wait::{Wait, WaitEdit};

/// What a verb answers, when it answers.
pub type Answer<T> = BoxFuture<'static, Result<T>>;

/// The fencing number of the right to run an instance. Every claim gets a higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub i64);

/// Where instances, their history and everything they own are kept.
///
/// # The rules of every store
///
/// - **Start**: an id that exists (or comes twice) refuses the whole batch, or answers
///   [`Started::Existing`]. An instance that begins now is `running`; its first history row is
///   [`crate::lifecycle::started`] followed by the entries of `first`, whose other parts then apply
///   as in a commit. One that begins later is `queued` with `wake_at` at its start and a reason, and
///   has no history yet; its runner writes `workflow.started`. `timeout` counts from acceptance or start.
/// - **Commit** applies in this order: history row, chunks, context, park, pause, cancels, outputs, sends,
///   publishes, takes, waits, children, end. It is
///   fenced unless the claim is current, the run is current and the instance has not ended. A park
///   is left out when something arrived since that the runner had not `heard` of.
/// - **Children** begin `running` and unclaimed, with [`Hint::Runnable`]. A refused one, and a
///   detached one that started, *arrives* at the parent ([`crate::lifecycle::child_refused`],
///   [`crate::lifecycle::child_detached`]).
/// - **Arrival**: a row of its own in the history of an instance that has not ended; a waiting or
///   sleeping one becomes `running` and loses its `wake_at`; [`Hint::Arrived`].
/// - **End**: terminal phase, output or error, `completed_at`; `wake_at`, pause and queue reason are
///   cleared, the claim is gone, [`crate::lifecycle::told_to_parent`] arrives at the parent if that
///   is still in the same run, and is told once; [`Hint::Ended`]. [`crate::End::Continued`] instead
///   opens run + 1 with its input as after a restart, but a pause stays, with
///   [`Hint::Restarted`].
/// - **Control** does what [`crate::lifecycle::decide`] says. Resume of anything begun makes it
///   `running` without `wake_at` ([`Hint::Runnable`]); a wake-up that has come does so to a parked one, one
///   to come is a [`Hint::Due`]; a compensating termination arrives; children
///   that have not ended are told with [`crate::Terminate::for_child`], in key order.
/// - **Deliver**: unknown instance; then the same id again to the same instance is answered as the
///   first time (the last `event.rememberedIds` are kept per instance); then [`crate::meeting::accept`]
///   decides, given the open waits whose deadline has not passed. If it accepts, what fell due is
///   decided first. One row records it all: what fell due, `event.received`, then either whom it meets
///   or `event.superseded` of what it replaces and `event.buffered` (for
///   [`crate::meeting::Fate::Later`] too). Every entry that [`crate::history::Entry::arrives`] does so:
///   the whole row counts as one arrival with a hint for each of them. An ignored delivery leaves no
///   trace; a dropped one is remembered and `event.received`.
/// - **Meeting** ([`crate::meeting::meet`]): first those that lost a race are cancelled
///   ([`crate::meeting::lost`]), then each wait met is fulfilled. What only counted waits hold is
///   *held*: `event.buffered` if it was not in the buffer before, listed in the buffer and part of its
///   load, but met, taken and replaced by nobody. Once one wait is fulfilled by it, it is consumed. The
///   answer counts the fulfilled, and says that it was buffered when there are none.
/// - **Letting go**: a counted wait that expires or is cancelled gives back what it held, as does a
///   fulfilled one that is undone, which gives back what fulfilled it, too. What another fulfilled wait
///   of the run has stays consumed, what another open one holds stays held; the rest returns to its place
///   in the buffer (`event.buffered`), unless it is of policy `latest` and a newer one is there
///   (`event.superseded`). What returned is offered to the open waits that were open when it became
///   visible, in order of visible time, then acceptance.
/// - **Later**: listed in the buffer, meets no wait and replaces nothing until its time. The
///   instance's `wake_at` is never later than the earliest such time while it is parked
///   ([`Hint::Due`]).
/// - **Reaching waits** (`waits` of a commit): those of one commit are matched together against what
///   is buffered and visible, the first by visible time, then acceptance, as if it had come a moment
///   later. In the same order what returned, and what was sent without waking, is offered to the waits
///   from before that were open when it became visible: every commit of a running instance looks. What
///   was met is stored and arrives in a row of its own: the lost, then the fulfilled, each in order of
///   registration. A wait for an output is met when the output is there. A deadline already past expires
///   at once. The rest is registered.
/// - **Publish**: the same source and id again is answered as the first time, marked as a duplicate, as
///   long as the log keeps the event. Then a refusal is answered ([`crate::Error::EventInvalid`]), and
///   nothing stored. Else the event gets the next number of the log and the moment of acceptance, and in
///   this order:
///   1. *cancels*: every instance of the workflow that has the correlation id and has not ended is
///      terminated with the reason ([`crate::CancelBy::reason`]) as by [`Control`], in key order;
///   2. *waits*: every instance with an open event wait that wants the event, in key order of the first
///      such wait: what fell due there is decided first, then [`crate::Published::sent`] is
///      taken in and meets the waits as something delivered does, in a row that begins with whom it
///      meets. An instance where it meets nobody keeps nothing of it and has no row;
///   3. *starts*: as [`crate::window::place`] says. A new instance begins `running` and unclaimed
///      ([`Hint::Runnable`]), or `queued` ([`Hint::Due`]); an id that exists starts nothing and is not
///      told. One that joins replaces the input of the queued instance of the window, or appends to
///      it ([`crate::window::WindowRule::collects`]), and its start moves ([`Hint::Due`]); it can be
///      joined while it is `queued` with a `wake_at` in its first run and nobody has claimed it, because
///      who has, has read its input; and appended to only if that is an array. The event counts as
///      consumed by whoever it started or joined.
///
///   The verdict is stored with the event and says what took it (fulfilled or held), in this order. A dry
///   run answers the same and leaves no trace; a duplicate is told as one.
/// - **What an instance took from the log**, by whatever wait, it never takes again, as long as the log
///   keeps the event and until it is restarted as a whole. Let go, it is in the buffer as if it had been
///   sent to the instance (policy `queue`), for waits that reach back to it.
/// - **Looking back**: an event wait remembers the number up to which events don't count
///   ([`crate::Since`]: of the run's start, the last, or the last that was accepted before a moment). After
///   the buffer, the waits that a commit reached and that are still open are offered what the log has,
///   oldest first, as if it had come a moment later; each only what lies after its number and the instance
///   did not take. One whose filter has no equality key ([`crate::index::Entry::shape`]) looks at no more
///   than `lookback.maxScanned` events that its pattern covers and the instance did not take; with more
///   it is marked `cut_short`.
/// - **Publishes** of a commit do the same in its transaction; [`crate::meeting::published`] arrives at
///   the publisher.
/// - **Log**: an event is wanted when its verdict says so, or an instance took it later, or began by it,
///   and stays so. Nobody is a taker of what the log no longer keeps.
///   Pruning takes the oldest first; numbers are never used twice.
/// - **Documents**: a body that differs from the last one's text is the next version; removing one removes
///   its versions. Of kinds that keep none ([`DocumentKind::keeps_versions`]) the next takes the place of the last.
/// - **Takes** consume the first visible buffered entry that matches, or find none; either way
///   [`crate::meeting::taken`] arrives.
/// - **Cancels**: an active wait becomes cancelled, and so does one that was fulfilled meanwhile; each
///   lets go. What returned is offered once the waits of the commit are registered.
/// - **Sends** deliver in the same transaction; [`crate::meeting::sent`] arrives at the sender.
///   **Outputs** are upserted; open waits for them, of any instance, are met.
/// - **Falling due**: for each instance, what became visible is accepted in order of its time, then
///   acceptance, by waits whose deadline is later than that; then waits past their deadline look once
///   more into the buffer (for signals sent without waking) and expire, the earliest deadline first; then
///   what these let go is offered. A paused one gets the next such moment as its `wake_at`, or none.
/// - **Editing a wait**: with another filter it is offered what is visible in the buffer and then the
///   log, as if it had just been reached.
/// - **End, restart, continue**: an end cancels open waits and discards what is buffered or held, in one
///   row before that of the end (`wait.cancelled`, `event.discarded`). A whole restart deletes waits,
///   buffer, remembered ids, outputs and what was taken from the log, and looks back to itself; one from a step, and a continue, cancel open waits, which let
///   go, and keep the rest.
/// - **Chunks**, appended or in a commit, of one step: those of the newest attempt of the newest run are kept.
///   The chunk with index 0 takes the place of everything older of its step; one that is older than what is
///   kept is not stored, and appending it answers [`Committed::Fenced`]; the same place again changes
///   nothing. Rows are numbered in the order of writing. A whole restart deletes the chunks of the instance; one
///   from a step, and a continue, keep them. [`Hint::Streamed`] follows every stored one.
/// - **Append** is fenced like a commit. It leaves no history and does not touch the instance.
/// - **Tail**: rows are numbered in the order of commits, across all instances; numbers only rise, and are never
///   used twice. Rows of instances that are gone are left out. A reader who goes on after the last row that it was given, or after
///   `head` when it was given fewer than it asked for, misses nothing that is still there: what commits later has a
///   higher number. (Where several write at once, a store shows no row, and no head, beyond the oldest transaction that
///   still runs.) [`Hint::Recorded`] follows whatever added to any history; one may stand for many.
/// - **Figures** count what became durable: every entry of every row but marks, and every published event. What is
///   refused, fenced, taken back or only tried is not counted.
/// - **Claim** answers `None` for an instance that is gone, ended or paused.
/// - Keys and history numbers are never used twice, also after pruning.
pub trait Store: Send + Sync + 'static {
    /// Makes `listener` the one that hears of changes and runs instances here. Claims made before
    /// are void: whoever held them was another engine, or this one in an earlier life.
    fn attach(&self, listener: Arc<dyn Listener>) -> Answer<()>;

    /// Creates instances, all or none, and claims them for the caller.
    ///
    /// An instance without `start_at` is `running` and its `first` transition applies; one with a
    /// later `start_at` is `queued` and not claimed.
    fn start(&self, new: Vec<NewInstance>, if_exists: IfExists) -> Answer<Vec<Started>>;

    /// Stores what a claimed instance did, or nothing when the claim, the run or the life of the
    /// instance is over.
    fn commit(&self, commit: Commit) -> Answer<Committed>;

    /// Becomes the one that runs an instance, and reads what replay needs. `None` when there is
    /// nothing to run: the instance is gone or has ended.
    fn claim(&self, key: InstanceKey) -> Answer<Option<Claimed>>;

    /// Gives a claim back, because the instance is parked and dropped from memory.
    fn release(&self, key: InstanceKey, epoch: Epoch);

    /// Changes the life of an instance from outside; answers with the instance as it is then.
    fn control(&self, id: &InstanceId, control: Control) -> Answer<Instance>;

    /// Instances that should be running and that nobody has claimed, in order, after `after`.
    fn runnable(&self, after: InstanceKey, limit: usize) -> Answer<Vec<InstanceKey>>;

    /// Parked instances that want to be woken before `until`, earliest first, after `after`.
    fn due(&self, after: Due, until: Timestamp, limit: usize) -> Answer<Vec<Due>>;

    /// One instance.
    fn instance(&self, id: &InstanceId) -> Answer<Option<Instance>>;

    /// A page of instances, newest first.
    fn instances(&self, filter: Filter, page: Page) -> Answer<Listed>;

    /// History entries with a number above `after`, in order; marks are left out.
    fn history(&self, id: &InstanceId, after: i64, limit: usize) -> Answer<Vec<Recorded>>;

    /// At most `limit` rows of the history of all instances after a row, in the order of commits; with a
    /// limit of 0 only where it ends.
    fn tail(&self, after: i64, limit: usize) -> Answer<Tail>;

    /// Stores a chunk of a streaming step that still runs.
    fn append(&self, append: Append) -> Answer<Committed>;

    /// At most `limit` chunks of an instance.
    fn chunks(&self, id: &InstanceId, filter: ChunkFilter, limit: usize) -> Answer<Vec<Chunk>>;

    /// Accepts something sent to an instance.
    fn deliver(&self, delivery: Delivery) -> Answer<Delivered>;

    /// Decides what fell due at these instances by now: delayed deliveries and deadlines of waits.
    fn fall_due(&self, keys: Vec<InstanceKey>) -> Answer<()>;

    /// Waits, oldest first.
    fn waits(&self, filter: WaitFilter) -> Answer<Vec<Wait>>;

    /// Gives an open wait another deadline or filter. [`crate::Error::SubscriptionNotFound`] when there
    /// is none, [`crate::Error::InvalidTransition`] when it is no longer open.
    fn edit_wait(&self, id: &str, edit: WaitEdit) -> Answer<Wait>;

    /// What an instance accepted and has not consumed, by visible time, then acceptance.
    fn buffer(&self, id: &InstanceId) -> Answer<Vec<Buffered>>;

    /// One instance with the history of its current run and its waits, all of the same moment.
    fn overview(&self, id: &InstanceId) -> Answer<Option<Overview>>;

    /// The outputs of an instance, by key.
    fn outputs(&self, id: &InstanceId) -> Answer<Vec<Output>>;

    /// Accepts an event for whoever wants it.
    fn publish(&self, publish: Publish) -> Answer<Verdict>;

    /// A part of the event log.
    fn log(&self, filter: LogFilter) -> Answer<Vec<Logged>>;

    /// From where to where the log reaches.
    fn log_span(&self) -> Answer<LogSpan>;

    /// Who took a published event, in key order.
    fn takers(&self, seq: i64) -> Answer<Vec<Taker>>;

    /// Published events that a wait may have been compared with, the newest first: those that it
    /// looks back to, whose type its pattern covers and that have one of its equality keys.
    /// [`crate::Error::SubscriptionNotFound`] when there is no such wait.
    fn overheard(&self, wait: &str, limit: usize) -> Answer<Vec<Published>>;

    /// Deletes at most `limit` events from the log. Answers how many.
    fn prune_log(&self, retention: LogRetention, limit: usize) -> Answer<usize>;

    /// The latest versions of documents, by name.
    fn documents(&self, kind: DocumentKind) -> Answer<Vec<Document>>;

    /// One document: this version, or the latest.
    fn document(
        &self,
        kind: DocumentKind,
        name: &str,
        version: Option<u32>,
    ) -> Answer<Option<Document>>;

    /// Stores a document; answers with what is the latest version then.
    fn put_document(&self, kind: DocumentKind, name: &str, body: Json) -> Answer<Document>;

    /// Removes a document; whether there was one.
    fn remove_document(&self, kind: DocumentKind, name: &str) -> Answer<bool>;

    /// Deletes at most `limit` instances that ended before a moment, with everything they own.
    /// Answers how many.
    fn prune(&self, ended_before: Timestamp, limit: usize) -> Answer<usize>;

    /// How much of what it keeps, at one moment.
    fn census(&self) -> Answer<Census>;

    /// What it has done since it was opened. Read without waiting for anything.
    fn figures(&self) -> Figures;
}

/// When an instance wants to be woken. Ordered by time, then by key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// The moment.
    pub at: Timestamp,
    /// The instance.
    pub key: InstanceKey,
}

impl Due {
    /// Before every other.
    pub const FIRST: Self = Self { at: Timestamp(i64::MIN), key: InstanceKey(i64::MIN) };
}

/// What to do when an id is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfExists {
    /// Refuse with [`crate::Error::AlreadyExists`].
    #[default]
    Error,
    /// Answer with the existing instance.
    Return,
}

/// An instance and what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// The instance.
    pub instance: Instance,
    /// The history of its current run; marks are left out.
    pub history: Vec<Recorded>,
    /// Its waits, oldest first.
    pub waits: Vec<Wait>,
}

/// How a start ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Started {
    /// Created, and claimed by the caller.
    Running {
        /// The new instance.
        key: InstanceKey,
        /// The caller's claim.
        epoch: Epoch,
        /// When it was accepted.
        created_at: Timestamp,
    },
    /// Created, to begin later.
    Queued(InstanceKey),
    /// It was there already.
    Existing(InstanceKey),
}

/// A write that speaks for a running instance.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The instance.
    pub key: InstanceKey,
    /// The run that speaks.
    pub run: u32,
    /// The claim it speaks under.
    pub epoch: Epoch,
    /// The number of the last arrival the runner had heard of. A park that was decided before a
    /// later one was heard is not applied: the instance stays `running`, or nobody would look.
    pub heard: i64,
    /// What it did. Shared, so that a failed commit can be tried again.
    pub transition: Arc<Transition>,
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is durable.
    Stored,
    /// Nothing was stored: the claim, the run or the life of the instance is over.
    Fenced,
}

/// A claimed instance and its past.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// The instance.
    pub instance: Instance,
    /// The claim.
    pub epoch: Epoch,
    /// The history of the current run, marks included.
    pub history: Vec<Recorded>,
}

/// Who hears of changes, after they are durable. A lost hint delays an instance, never loses it.
/// Those about one instance come in the order of its history.
pub trait Listener: Send + Sync + 'static {
    /// Something changed. Called on the store's own threads: it must not block.
    fn hint(&self, hint: Hint);
}

/// What changed.
#[derive(Clone, Debug)]
pub enum Hint {
    /// The instance should be run, or looked at again if it is being run.
    Runnable(InstanceKey),
    /// The store recorded something the runner has to see.
    Arrived(InstanceKey, Box<Recorded>),
    /// Something will fall due at it, sooner perhaps than it said itself.
    Due(Due),
    /// An output of it was set.
    OutputSet(InstanceId, Output),
    /// It was paused.
    Paused(InstanceKey),
    /// It goes on in another run, and whoever runs it has to begin anew.
    Restarted(InstanceKey),
    /// It ended.
    Ended(Ended),
    /// Something was added to the history of whatever instances.
    Recorded,
    /// Chunks of streaming steps of it were stored.
    Streamed(InstanceId),
    /// The store takes nothing any more, and why. Nothing follows.
    Closed(String),
}

/// How an instance ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The instance.
    pub key: InstanceKey,
    /// Its id.
    pub id: InstanceId,
    /// Its terminal status.
    pub status: Status,
    /// Its result.
    pub output: Option<Json>,
    /// Its failure.
    pub error: Option<Failure>,
}
