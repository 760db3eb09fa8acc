//! What is seen from outside of what workflows do: which step's function ran, when. It is kept
//! outside the engine and survives its crashes, as an email that was sent does.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use abide::history::{EntryKind, Recorded};
use abide::prelude::*;
use abide::store::Store;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::traffic::at_once;
use crate::MemoryStore;

/// See the module. Clones share what was seen.
#[derive(Clone)]
pub(super) struct Witness {
    disk: MemoryStore,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    /// The first thing that was wrong at the moment it happened.
    broken: Option<String>,
    /// Steps whose function has begun and is not through.
    works: Vec<Work>,
    ran: usize,
    dice: fastrand::Rng,
}

/// A step's function on its way.
pub(super) struct Work {
    pub(super) what: String,
    done: oneshot::Sender<()>,
}

impl Work {
    pub(super) fn finish(self) {
        // The step may have lost a race meanwhile.
        let _ = self.done.send(());
    }
}

/// Which of two came first.
pub(super) enum First<A, B> {
    /// The one named first.
    Left(A),
    /// The one named second.
    Right(B),
}

impl Witness {
    pub(super) fn new(disk: &MemoryStore, dice: fastrand::Rng) -> Self {
        let seen = Seen { broken: None, works: Vec::new(), ran: 0, dice };
        Self { disk: disk.clone(), seen: Arc::new(Mutex::new(seen)) }
    }

    /// A step that takes as long as the schedule says, and then has this result.
    pub(super) fn step<T>(
        &self,
        cx: &Cx,
        name: &str,
        result: T,
    ) -> impl Future<Output = Result<T>> + use<T>
    where
        T: Clone + Send + Serialize + DeserializeOwned + 'static,
    {
        let (witness, id, run) = (self.clone(), cx.instance_id().clone(), cx.run());
        let step = name.to_owned();
        cx.step(name, move || {
            let done = witness.begin(&id, run, &step);
            let result = result.clone();
            async move {
                match done.await {
                    Ok(()) => Ok::<_, Error>(result),
                    // The process died.
                    Err(_) => pending().await,
                }
            }
        })
    }

    /// Two futures, the first to be ready. Which is polled first is a matter of chance, because the
    /// workflow must not depend on it.
    pub(super) async fn race<A, B>(
        &self,
        left: impl Future<Output = A>,
        right: impl Future<Output = B>,
    ) -> First<A, B> {
        let (mut left, mut right) = (pin!(left), pin!(right));
        poll_fn(|task| {
            let left_first = self.seen.lock().dice.bool();
            for turn in [left_first, !left_first] {
                if turn && let Poll::Ready(first) = left.as_mut().poll(task) {
                    return Poll::Ready(First::Left(first));
                }
                if !turn && let Poll::Ready(first) = right.as_mut().poll(task) {
                    return Poll::Ready(First::Right(first));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// What is not through, in order of beginning.
    pub(super) fn works(&self) -> Vec<String> {
        let mut seen = self.seen.lock();
        seen.works.retain(|work| !work.done.is_closed());
        seen.works.iter().map(|work| work.what.clone()).collect()
    }

    pub(super) fn take_work(&self, place: usize) -> Work {
        self.seen.lock().works.remove(place)
    }

    /// The process died, and what it was doing with it.
    pub(super) fn forget_works(&self) {
        self.seen.lock().works.clear();
    }

    pub(super) fn broken(&self) -> Option<String> {
        self.seen.lock().broken.clone()
    }

    /// How many times a step's function ran.
    pub(super) fn ran(&self) -> usize {
        self.seen.lock().ran
    }

    /// A step's function begins: its record must be durable, and it must not have one of its end.
    fn begin(&self, id: &InstanceId, run: u32, step: &str) -> oneshot::Receiver<()> {
        let history = at_once(self.disk.history(id, 0, usize::MAX)).unwrap_or_default();
        let mine: Vec<EntryKind> = history
            .iter()
            .filter(|Recorded { run: of, entry, .. }| {
                *of == run && entry.name.as_deref() == Some(step)
            })
            .map(|recorded| recorded.entry.entry)
            .collect();
        let (done, finished) = oneshot::channel();
        let mut seen = self.seen.lock();
        seen.ran += 1;
        let what = format!("{step} of {id}, run {run}");
        if !mine.contains(&EntryKind::StepStarted) {
            let broken = format!(
                "3: nothing is visible before its cause is durable: {what} runs, but its start is not stored"
            );
            seen.broken.get_or_insert(broken);
        }
        if mine.contains(&EntryKind::StepCompleted) {
            let broken = format!("4: a recorded step never runs again: {what} does");
            seen.broken.get_or_insert(broken);
        }
        seen.works.push(Work { what, done });
        finished
    }
}
