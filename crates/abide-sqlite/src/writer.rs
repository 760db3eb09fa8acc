//! The one thread that writes.
//!
//! It takes whatever is queued, puts it into one transaction and commits once. Only then do the
//! listener and the callers hear of it: first every hint, in order, then every answer. While it
//! commits, the next batch gathers.
//!
//! When SQLite refuses (a full disk), the batch is taken back, in memory too, its callers are told
//! that nothing was changed, and the next batch is tried. When a commit itself fails in a way that
//! leaves open what is on the disk, the store closes: what it believes may no longer be true.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use abide::meeting::BufferLimit;
use abide::metrics::Tally;
use abide::store::{Hint, Listener};
use abide::{Clock, Error, Result};
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::claims::Claims;
use crate::failure::{Trouble, commit_changed_nothing, to_caller};
use crate::queue::{Command, Gather, Order, Queue, Reply};
use crate::reader::Readers;
use crate::stats::Counters;
use answer::Answer;
use batch::{Batch, Keys};
use caches::Caches;

mod accepted;
mod answer;
mod batch;
mod caches;
mod chores;
mod chunks;
mod commit;
mod control;
mod deliver;
mod documents;
mod due;
mod edit;
mod ending;
mod fanout;
mod held;
mod hot;
mod inbox;
mod keys;
mod lookback;
mod meet;
mod outputs;
mod paths;
mod prune;
mod publish;
mod reach;
mod retention;
mod start;
mod taken;
mod view;
mod waits;
mod window;

/// Commands in one transaction, at most: what bounds how long the first of them waits.
const BATCH: usize = 4096;

/// Bytes of history after which a transaction takes no more: what bounds the WAL and the wait when
/// payloads are large.
const BATCH_BYTES: usize = 16 << 20;

/// How long chores rest after a transaction was taken back: the disk may be full.
const CHORES_AGAIN: Duration = Duration::from_millis(100);

/// How long a batch may wait to grow, at most.
const MAX_PATIENCE: Duration = Duration::from_millis(1);

/// What the writer shares with the handles and the readers.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) queue: Arc<Queue>,
    /// Locked by the writer for a whole batch; readers only look.
    pub(crate) claims: Arc<Mutex<Claims>>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) readers: Readers,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
}

/// How much an instance may keep of what was sent to it, and look at of what was published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) buffer: BufferLimit,
    pub(crate) remembered_ids: usize,
    /// `lookback.maxScanned`.
    pub(crate) scanned: usize,
    /// `fanout.chunk`: instances that an event meets in the transaction that stores it.
    pub(crate) fanout_chunk: usize,
    /// `index.maxBytes`: memory for what open waits want.
    pub(crate) index_bytes: usize,
}

/// The state of the thread.
pub(crate) struct Writer {
    connection: Connection,
    shared: Shared,
    keys: Keys,
    caches: Caches,
    listener: Option<Arc<dyn Listener>>,
    farewells: Vec<Reply<()>>,
    /// Reused from batch to batch.
    answers: Vec<Answer>,
    gather: Gather,
    /// Whether the last transaction was taken back.
    failed: bool,
    #[cfg(test)]
    fail_commit: Option<i32>,
}

/// What became of a transaction. One that is stored and changed something tells how long that took.
enum Outcome {
    Stored { hints: Vec<Hint>, rows: u64, changed: Option<Duration> },
    Unchanged(rusqlite::Error),
    InDoubt(rusqlite::Error),
}

/// A transaction that is ready to be committed.
struct Filled {
    hints: Vec<Hint>,
    rows: u64,
    tally: Tally,
    /// What came after it and stands alone.
    alone: Option<Order>,
}

impl Writer {
    pub(crate) fn new(connection: Connection, shared: Shared) -> Result<Self> {
        let keys = Keys::read(&connection).map_err(|error| to_caller(&error))?;
        let caches = Caches::read(&connection, shared.limits.index_bytes)?;
        Ok(Self {
            connection,
            shared,
            keys,
            caches,
            listener: None,
            farewells: Vec::new(),
            answers: Vec::new(),
            gather: Gather::default(),
            failed: false,
            #[cfg(test)]
            fail_commit: None,
        })
    }

    /// Works until the queue is closed and empty. Gives back what is to be dropped last and those
    /// who wait for the end.
    pub(crate) fn run(mut self) -> (Connection, Vec<Reply<()>>) {
        let mut commands = VecDeque::new();
        let queue = Arc::clone(&self.shared.queue);
        let _closes = CloseOnExit(&queue);
        while self.next(&queue, &mut commands) {
            self.caches.waiting.build(&self.connection);
            self.caches.shapes.sweep(&self.connection);
            while !commands.is_empty() || self.caches.has_chores() {
                if let Some(alone) = self.write(&mut commands) {
                    self.obey(alone);
                }
                if commands.is_empty() {
                    // Chores go on once somebody looked into the queue.
                    break;
                }
            }
        }
        if let (Some(listener), Some(Error::StoreClosed { reason })) =
            (&self.listener, queue.closed())
        {
            listener.hint(Hint::Closed(reason));
        }
        (self.connection, self.farewells)
    }

    /// Waits for commands, unless there is something else to do. `false` when the queue is closed
    /// and nothing is left: chores are for whoever opens the store next.
    fn next(&self, queue: &Queue, commands: &mut VecDeque<Command>) -> bool {
        let is_busy = self.caches.has_chores() || self.caches.waiting.is_building();
        match (is_busy, self.failed) {
            (true, false) => queue.take_within(commands, Duration::ZERO),
            (true, true) => queue.take_within(commands, CHORES_AGAIN),
            (false, _) => queue.take(commands, self.gather),
        }
    }

    /// Puts commands into one transaction, up to a limit or to one that stands alone, which is
    /// given back.
    fn write(&mut self, commands: &mut VecDeque<Command>) -> Option<Order> {
        let mut answers = std::mem::take(&mut self.answers);
        let claims = Arc::clone(&self.shared.claims);
        let mut claims = claims.lock();
        let (mark, caches, keys) = (claims.mark(), self.caches.mark(), self.keys);
        let (outcome, alone) = self.transact(&mut claims, commands, &mut answers);
        self.failed = !matches!(outcome, Outcome::Stored { .. });
        if self.failed {
            self.shared.counters.failed();
        }
        let alone = match outcome {
            Outcome::Stored { hints, rows, changed } => {
                claims.settle();
                self.caches.settle();
                // Dropped before anyone is woken, or they would wait for it.
                drop(claims);
                let commands = answers.len() as u64;
                let counters = &self.shared.counters;
                counters.count(u64::from(changed.is_some()), commands, rows);
                if let Some(took) = changed {
                    counters.stored(commands, took);
                }
                counters.note_scanned(self.caches.waiting.scanned() as u64);
                let Caches { fanouts, lookbacks, .. } = &self.caches;
                counters.note_left(fanouts.left() as u64, lookbacks.len() as u64);
                self.tell(hints, rows > 0);
                answers.drain(..).for_each(|answer| answer.send(&self.shared));
                alone
            }
            Outcome::Unchanged(error) => {
                claims.undo_to(mark);
                self.caches.undo_to(caches);
                self.keys = keys;
                let error = to_caller(&error);
                answers.drain(..).for_each(|a| a.fail(&error, &mut claims, &self.shared));
                alone
            }
            Outcome::InDoubt(error) => {
                claims.clear();
                let reason = error.to_string();
                self.shared.queue.close(&reason);
                let unknown = Error::OutcomeUnknown { reason: reason.clone() };
                answers.drain(..).for_each(|a| a.fail(&unknown, &mut claims, &self.shared));
                let closed = Error::StoreClosed { reason };
                let rest = alone.into_iter().map(Command::Order).chain(commands.drain(..));
                rest.for_each(|command| command.refuse(&closed));
                self.refuse_queued(&closed);
                None
            }
        };
        self.answers = answers;
        alone
    }

    /// Fills a transaction and commits it, or makes sure that none is left open.
    fn transact(
        &mut self,
        claims: &mut Claims,
        commands: &mut VecDeque<Command>,
        answers: &mut Vec<Answer>,
    ) -> (Outcome, Option<Order>) {
        let before = self.connection.total_changes();
        let began = Instant::now();
        let mut alone = None;
        let filled = fill(
            &self.connection,
            claims,
            &mut self.keys,
            &mut self.caches,
            &self.shared,
            commands,
            answers,
        );
        let filling = began.elapsed();
        let outcome = match filled {
            Ok(Filled { hints, rows, tally, alone: stands_alone }) => {
                alone = stands_alone;
                match self.commit() {
                    Ok(()) => {
                        let patience = patience(filling, began.elapsed() - filling);
                        self.gather = Gather { answered: answers.len(), patience };
                        let has_changed = self.connection.total_changes() != before;
                        let changed = has_changed.then(|| began.elapsed());
                        self.shared.counters.add(&tally);
                        Outcome::Stored { hints, rows, changed }
                    }
                    Err(error) if commit_changed_nothing(&error) => Outcome::Unchanged(error),
                    Err(error) => Outcome::InDoubt(error),
                }
            }
            Err(error) => Outcome::Unchanged(error),
        };
        (self.rolled_back(outcome), alone)
    }

    #[cfg(not(test))]
    fn commit(&mut self) -> rusqlite::Result<()> {
        self.connection.prepare_cached("COMMIT")?.execute([]).map(drop)
    }

    #[cfg(test)]
    fn commit(&mut self) -> rusqlite::Result<()> {
        if let Some(code) = self.fail_commit.take() {
            return Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None));
        }
        self.connection.prepare_cached("COMMIT")?.execute([]).map(drop)
    }

    /// Ends a transaction that was not committed. Some errors have done so already.
    fn rolled_back(&self, outcome: Outcome) -> Outcome {
        if self.connection.is_autocommit() {
            return outcome;
        }
        match (self.connection.execute_batch("ROLLBACK"), outcome) {
            (Err(stuck), Outcome::Unchanged(_)) => Outcome::InDoubt(stuck),
            (_, outcome) => outcome,
        }
    }

    fn tell(&self, hints: Vec<Hint>, recorded: bool) {
        if let Some(listener) = &self.listener {
            hints.into_iter().for_each(|hint| listener.hint(hint));
            if recorded {
                listener.hint(Hint::Recorded);
            }
        }
    }

    /// Does what is no part of a transaction.
    fn obey(&mut self, order: Order) {
        match order {
            Order::Attach(listener, reply) => {
                self.shared.claims.lock().clear();
                self.listener = Some(listener);
                drop(reply.send(Ok(())));
            }
            Order::Execute(sql, reply) => {
                let done = self.connection.execute_batch(&sql);
                drop(reply.send(done.map_err(|error| to_caller(&error))));
            }
            Order::Close(reply) => self.farewells.push(reply),
            #[cfg(test)]
            Order::FailCommit(code) => self.fail_commit = Some(code),
            #[cfg(test)]
            Order::Rest(rests) => self.caches.is_resting = rests,
        }
    }

    fn refuse_queued(&mut self, closed: &Error) {
        let mut rest = VecDeque::new();
        if self.shared.queue.take(&mut rest, Gather::default()) {
            for command in rest {
                match command {
                    Command::Order(Order::Close(reply)) => self.farewells.push(reply),
                    other => other.refuse(closed),
                }
            }
        }
    }
}

/// Opens a transaction and does commands in it. An error concerns all of them; the refusal of one
/// is its answer.
fn fill(
    connection: &Connection,
    claims: &mut Claims,
    keys: &mut Keys,
    caches: &mut Caches,
    shared: &Shared,
    commands: &mut VecDeque<Command>,
    answers: &mut Vec<Answer>,
) -> rusqlite::Result<Filled> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let mut batch = Batch::new(connection, claims, keys, caches, shared)?;
    let mut alone = None;
    while answers.len() < BATCH && batch.bytes < BATCH_BYTES {
        // What came meanwhile rides along: those who were answered last are back by now, and a
        // sync for many is cheaper than one for each half of them.
        if commands.is_empty() && shared.queue.top_up(commands) {
            batch.now = shared.clock.now();
        }
        let Some(command) = commands.pop_front() else { break };
        let write = match command {
            Command::Write(write) => write,
            Command::Order(order) => {
                alone = Some(order);
                break;
            }
        };
        let (answer, failed) = answer::execute(&mut batch, write);
        answers.push(answer);
        if let Some(failed) = failed {
            return Err(failed);
        }
    }
    if alone.is_none() && batch.caches.has_chores() {
        let rides_along = !answers.is_empty();
        let somebody_waits = || shared.queue.is_any();
        match batch.guarded(|batch| batch.do_chores(rides_along, somebody_waits)) {
            Ok(()) => {}
            Err(Trouble::Failed(failed)) => return Err(failed),
            Err(Trouble::Refused(error)) => batch.caches.rest(&error),
        }
    }
    Ok(Filled { hints: batch.hints, rows: batch.rows, tally: batch.tally, alone })
}

/// How long to wait for the next batch to grow: a part of a sync, when syncs are what takes time.
fn patience(filling: Duration, syncing: Duration) -> Duration {
    if syncing > filling * 2 { (syncing / 4).min(MAX_PATIENCE) } else { Duration::ZERO }
}

/// Splits the trouble of one command from that of its batch.
fn split<T>(result: Result<T, Trouble>) -> (Result<T>, Option<rusqlite::Error>) {
    match result {
        Ok(done) => (Ok(done), None),
        Err(Trouble::Refused(error)) => (Err(error), None),
        Err(Trouble::Failed(error)) => (Err(to_caller(&error)), Some(error)),
    }
}

/// Keeps callers from waiting for a thread that is gone, should it ever panic.
struct CloseOnExit<'q>(&'q Queue);

impl Drop for CloseOnExit<'_> {
    fn drop(&mut self) {
        self.0.close("the writer stopped");
        let mut left = VecDeque::new();
        self.0.take(&mut left, Gather::default());
    }
}

#[cfg(test)]
mod tests;
