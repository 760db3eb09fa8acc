//! What is on its way between an engine and its store: calls that nobody executed yet, answers
//! that nobody heard yet, and hints.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use abide::store::{Answer, Hint, Listener};
use abide::{Error, InstanceKey};
use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::MemoryStore;

/// See the module. It belongs to one life of the engine; what a dead one still asks is not heard.
#[derive(Default)]
pub(super) struct Traffic {
    pub(super) life: u32,
    pub(super) calls: Vec<Call>,
    pub(super) answers: Vec<Reply>,
    pub(super) hints: VecDeque<(Hint, Arc<dyn Listener>)>,
    /// Instances of which an arrival was lost since they were read.
    pub(super) deaf: HashSet<InstanceKey>,
}

type Execute = dyn FnOnce(&MemoryStore, Verdict) -> Deliver + Send;

/// Has an answer reach whoever asked.
type Deliver = Box<dyn FnOnce() + Send>;

/// A call that was made and not executed.
pub(super) struct Call {
    pub(super) what: String,
    /// Whether it changes the store, so that it may go wrong.
    pub(super) writes: bool,
    execute: Box<Execute>,
}

/// An answer that was given and not heard.
pub(super) struct Reply {
    pub(super) what: String,
    deliver: Deliver,
}

/// How a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Well.
    Done,
    /// Nothing is written, and the caller is told so.
    Refused,
    /// It is written, and the caller is told that nobody knows.
    Unknown,
}

impl Traffic {
    /// Everything that is on its way is lost.
    pub(super) fn begin_life(&mut self) -> u32 {
        *self = Self { life: self.life + 1, ..Self::default() };
        self.life
    }

    /// The oldest hint is never heard.
    pub(super) fn lose(&mut self) -> Option<Hint> {
        let (hint, _) = self.hints.pop_front()?;
        if let Hint::Arrived(key, _) = &hint {
            self.deaf.insert(*key);
        }
        Some(hint)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.answers.is_empty() && self.hints.is_empty()
    }
}

impl Call {
    pub(super) fn new<T: Send + 'static>(
        what: String,
        writes: bool,
        verb: impl FnOnce(&MemoryStore) -> Answer<T> + Send + 'static,
    ) -> (Self, oneshot::Receiver<abide::Result<T>>) {
        let (tell, told) = oneshot::channel();
        let execute = move |disk: &MemoryStore, verdict| {
            let answer = match verdict {
                Verdict::Done => at_once(verb(disk)),
                Verdict::Refused => Err(unavailable()),
                Verdict::Unknown => {
                    drop(at_once(verb(disk)));
                    Err(Error::OutcomeUnknown { reason: "simulated".to_owned() })
                }
            };
            // Whoever asked may have stopped waiting.
            Box::new(move || drop(tell.send(answer))) as Deliver
        };
        (Self { what, writes, execute: Box::new(execute) }, told)
    }

    pub(super) fn execute(self, disk: &MemoryStore, verdict: Verdict) -> Reply {
        Reply { deliver: (self.execute)(disk, verdict), what: self.what }
    }
}

impl Reply {
    pub(super) fn deliver(self) {
        (self.deliver)();
    }
}

/// The answer of a store that is never busy.
pub(super) fn at_once<T>(answer: Answer<T>) -> abide::Result<T> {
    answer.now_or_never().unwrap()
}

fn unavailable() -> Error {
    let reason = "simulated".to_owned();
    Error::StoreUnavailable { reason, retry_in: Duration::from_millis(50) }
}

/// What to call a hint in a schedule.
pub(super) fn in_words(hint: &Hint) -> String {
    match hint {
        Hint::Runnable(key) => format!("runnable {}", key.0),
        Hint::Arrived(key, recorded) => {
            let entry = &recorded.entry;
            let name = entry.name.as_deref().unwrap_or("");
            format!("arrived at {}: {} {name}", key.0, entry.entry)
        }
        Hint::Due(due) => format!("{} is due at {}", due.key.0, due.at.0),
        Hint::OutputSet(id, output) => format!("output {} of {id}", output.key),
        Hint::Paused(key) => format!("paused {}", key.0),
        Hint::Restarted(key) => format!("restarted {}", key.0),
        Hint::Ended(ended) => format!("ended {}", ended.key.0),
        Hint::Recorded => "recorded".to_owned(),
        Hint::Streamed(id) => format!("streamed {id}"),
        Hint::Closed(reason) => format!("closed: {reason}"),
    }
}
