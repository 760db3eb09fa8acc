//! What waits for the writer.
//!
//! The writer takes everything at once, so the queue is a vector behind a lock that is held for a
//! push or a swap; the writer is woken only when it sleeps and there is enough for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use abide::lifecycle::Control;
use abide::store::{Claimed, Commit, Committed, Epoch, IfExists, Listener, Started};
use abide::{
    Append, Delivered, Delivery, Document, DocumentKind, Error, Instance, InstanceId, InstanceKey,
    Json, LogRetention, NewInstance, Publish, Result, Timestamp, Verdict, Wait, WaitEdit,
};
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::reader::Job;

/// Where an answer goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T>>;

/// What the writer is asked to do.
pub(crate) enum Command {
    Write(Write),
    Order(Order),
}

/// A part of a transaction.
pub(crate) enum Write {
    Start(Vec<NewInstance>, IfExists, Reply<Vec<Started>>),
    /// With the text of its history row, which the caller made on its own thread.
    Commit(Commit, String, Reply<Committed>),
    Append(Append, Reply<Committed>),
    Claim(InstanceKey, Reply<Option<Claimed>>),
    Release(InstanceKey, Epoch),
    Control(InstanceId, Control, Reply<Instance>),
    Deliver(Delivery, Reply<Delivered>),
    FallDue(Vec<InstanceKey>, Reply<()>),
    EditWait(String, WaitEdit, Reply<Wait>),
    Publish(Publish, Reply<Verdict>),
    PruneLog(LogRetention, usize, Reply<usize>),
    PutDocument(DocumentKind, String, Json, Reply<Document>),
    RemoveDocument(DocumentKind, String, Reply<bool>),
    Prune(Timestamp, usize, Reply<usize>),
    /// A read that has to see every command before it, also those that nobody awaits.
    ReadAfter(Job),
}

/// What stands between transactions.
pub(crate) enum Order {
    Attach(Arc<dyn Listener>, Reply<()>),
    /// SQL for tests of what can't be provoked otherwise.
    Execute(String, Reply<()>),
    Close(Reply<()>),
    /// Lets the next commit fail with a code of SQLite's.
    #[cfg(test)]
    FailCommit(i32),
    /// Keeps the writer from what nobody asks for, or lets it go on.
    #[cfg(test)]
    Rest(bool),
}

impl Command {
    /// Answers without having done anything. A release needs no answer, and a read that is dropped
    /// answers by that.
    pub(crate) fn refuse(self, error: &Error) {
        let error = error.clone();
        match self {
            Self::Write(Write::Start(_, _, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::Commit(_, _, reply) | Write::Append(_, reply)) => {
                drop(reply.send(Err(error)));
            }
            Self::Write(Write::Claim(_, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::Control(_, _, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::Deliver(_, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::FallDue(_, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::EditWait(_, _, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::Publish(_, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::PutDocument(_, _, _, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::RemoveDocument(_, _, reply)) => drop(reply.send(Err(error))),
            Self::Write(Write::Prune(_, _, reply) | Write::PruneLog(_, _, reply)) => {
                drop(reply.send(Err(error)));
            }
            Self::Write(Write::Release(..) | Write::ReadAfter(_)) => {}
            Self::Order(Order::Attach(_, reply) | Order::Execute(_, reply)) => {
                drop(reply.send(Err(error)));
            }
            Self::Order(Order::Close(reply)) => drop(reply.send(Ok(()))),
            #[cfg(test)]
            Self::Order(Order::FailCommit(_) | Order::Rest(_)) => {}
        }
    }
}

/// How long the writer looks for commands before it falls asleep.
const LOOK: Duration = Duration::from_micros(100);

/// The commands that wait.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    /// Whether there is something, for a look without the lock.
    any: AtomicBool,
}

#[derive(Default)]
struct State {
    commands: VecDeque<Command>,
    /// How many commands wake the writer; none does while it is awake.
    wakes_at: Option<usize>,
    /// Why nothing is taken any more.
    closed: Option<String>,
}

impl Queue {
    /// Adds a command, however many there are.
    pub(crate) fn push(&self, command: Command) -> Result<()> {
        self.push_within(command, usize::MAX)
    }

    /// Adds a command unless `limit` are waiting.
    pub(crate) fn push_within(&self, command: Command, limit: usize) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(reason) = &state.closed {
            return Err(Error::StoreClosed { reason: reason.clone() });
        }
        let queued = state.commands.len();
        if queued >= limit {
            return Err(Error::RateLimited { queued, limit });
        }
        state.commands.push_back(command);
        self.any.store(true, Ordering::Release);
        let wake = state.wakes_at.take_if(|enough| queued + 1 >= *enough).is_some();
        // Dropped before the notification, or the writer wakes only to wait for the lock.
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Takes nothing more; what is queued stays. The first reason counts.
    pub(crate) fn close(&self, reason: &str) {
        let mut state = self.state.lock();
        state.closed.get_or_insert_with(|| reason.to_owned());
        drop(state);
        self.filled.notify_one();
    }

    /// Why it was closed, if it was.
    pub(crate) fn closed(&self) -> Option<Error> {
        let reason = self.state.lock().closed.clone()?;
        Some(Error::StoreClosed { reason })
    }

    /// Waits until there is something and swaps it with `taken`, which must be empty. `false` when
    /// the queue is closed and nothing is left.
    pub(crate) fn take(&self, taken: &mut VecDeque<Command>, gather: Gather) -> bool {
        if gather.answered > 0 {
            self.look();
        }
        let mut state = self.state.lock();
        while state.commands.is_empty() {
            if state.closed.is_some() {
                return false;
            }
            state.wakes_at = Some(1);
            self.filled.wait(&mut state);
        }
        // Those who were just answered are likely to be back in a moment.
        let expected = state.commands.len().saturating_add(gather.answered);
        if !gather.patience.is_zero() && gather.answered > 1 && state.closed.is_none() {
            let until = Instant::now() + gather.patience;
            while state.commands.len() < expected && state.closed.is_none() {
                state.wakes_at = Some(expected);
                if self.filled.wait_until(&mut state, until).timed_out() {
                    break;
                }
            }
        }
        state.wakes_at = None;
        std::mem::swap(&mut state.commands, taken);
        self.any.store(false, Ordering::Release);
        true
    }

    /// Waits only so long, and answers `true` also when nothing came.
    pub(crate) fn take_within(&self, taken: &mut VecDeque<Command>, patience: Duration) -> bool {
        let mut state = self.state.lock();
        if state.commands.is_empty() && state.closed.is_none() && !patience.is_zero() {
            state.wakes_at = Some(1);
            self.filled.wait_for(&mut state, patience);
        }
        if state.commands.is_empty() && state.closed.is_some() {
            return false;
        }
        state.wakes_at = None;
        std::mem::swap(&mut state.commands, taken);
        self.any.store(false, Ordering::Release);
        true
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().commands.len()
    }

    /// Whether somebody waits.
    pub(crate) fn is_any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Adds to `taken` what came meanwhile, without waiting. Whether there was anything.
    pub(crate) fn top_up(&self, taken: &mut VecDeque<Command>) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let mut state = self.state.lock();
        self.any.store(false, Ordering::Release);
        taken.append(&mut state.commands);
        !taken.is_empty()
    }

    /// Stays awake for a moment. Whoever was answered is often back sooner than a thread takes to
    /// fall asleep and be woken, and a caller that is alone would wait for that with every commit.
    fn look(&self) {
        let until = Instant::now() + LOOK;
        while !self.any.load(Ordering::Acquire) && Instant::now() < until {
            // Whoever is to come back may need this core.
            std::thread::yield_now();
        }
    }
}

/// Whether it pays to wait for more commands, judged by the batch before.
///
/// Without waiting, callers that come back after each answer may fall into two halves, one queued
/// while the other is synced: on a slow disk that costs twice the syncs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gather {
    /// How many callers were just answered.
    pub(crate) answered: usize,
    /// How long to wait for them at most.
    pub(crate) patience: Duration,
}
