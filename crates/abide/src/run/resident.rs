//! An instance in memory: its state, its inbox, and the waker that ties both to its task.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::declaration::Declarations;
use crate::engine::Env;
use crate::error::{Error, Result};
use crate::history::Recorded;
use crate::id::{InstanceId, InstanceKey};
use crate::store::Epoch;
use crate::workflow::Workflow;

use super::state::State;

/// What the rest of the engine tells a resident instance.
#[derive(Debug)]
pub(crate) enum News {
    /// A timer is due.
    Tick,
    /// The store recorded something for it.
    Arrived(Box<Recorded>),
    /// It was paused.
    Paused,
    /// It was resumed.
    Resumed,
    /// It ended: let go of everything.
    Ended,
    /// It goes on in another run: let go of everything, and have it read again.
    Restarted,
    /// It has been parked long enough: let go if it still is.
    Evict,
    /// It has waited for something foreign for long.
    Stuck,
}

/// See the module.
pub(crate) struct Resident {
    pub(crate) id: InstanceId,
    pub(crate) workflow: Arc<str>,
    pub(crate) run: u32,
    /// What its workflow says about waits that don't say how long.
    wait_timeout: Option<Duration>,
    /// What its workflow says about events.
    pub(crate) declared: Declarations,
    pub(crate) env: Arc<Env>,
    /// Under which it writes ahead of its commits. There once it is stored.
    claim: OnceLock<(InstanceKey, Epoch)>,
    pub(crate) state: Mutex<State>,
    inbox: Mutex<Vec<News>>,
    /// The workflow's own future wants to be polled.
    poll_due: AtomicBool,
    /// The task has something to look at.
    woken: AtomicBool,
    /// The task is looking right now and will look once more before it rests, so nobody needs to
    /// schedule it.
    driving: AtomicBool,
    task: AtomicWaker,
    /// Odd while it rests; every rest has its own number.
    rest: AtomicU64,
    /// Its end is stored, though its task may not know yet.
    ended: AtomicBool,
    /// No attempt runs and nothing is on its way to the store.
    quiet: AtomicBool,
}

impl Resident {
    pub(crate) fn new(
        id: InstanceId,
        workflow: &Workflow,
        run: u32,
        env: Arc<Env>,
        state: State,
    ) -> Self {
        Self {
            id,
            workflow: Arc::clone(&workflow.name),
            run,
            wait_timeout: workflow.wait_timeout,
            declared: workflow.declared.clone(),
            env,
            claim: OnceLock::new(),
            state: Mutex::new(state),
            inbox: Mutex::new(Vec::new()),
            poll_due: AtomicBool::new(true),
            woken: AtomicBool::new(true),
            driving: AtomicBool::new(false),
            task: AtomicWaker::new(),
            rest: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            quiet: AtomicBool::new(false),
        }
    }

    pub(crate) fn set_claim(&self, key: InstanceKey, epoch: Epoch) {
        // A run is entered once.
        let _ = self.claim.set((key, epoch));
    }

    /// Under which it writes ahead of its commits.
    pub(crate) fn claim(&self) -> Result<(InstanceKey, Epoch)> {
        self.claim.get().copied().ok_or(Error::ShutDown)
    }

    /// How long a wait for an event lasts that does not say.
    pub(crate) fn wait_timeout(&self) -> Option<Duration> {
        self.wait_timeout.or(self.env.config.wait_default_timeout)
    }

    pub(crate) fn tell(&self, news: News) {
        if let News::Ended = news {
            self.ended.store(true, Ordering::SeqCst);
        }
        self.inbox.lock().push(news);
        self.nudge();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    pub(crate) fn take_news(&self) -> Vec<News> {
        std::mem::take(&mut *self.inbox.lock())
    }

    /// Whether it was told to begin anew and has not heard it.
    pub(crate) fn is_restarted(&self) -> bool {
        self.inbox.lock().iter().any(|news| matches!(news, News::Restarted))
    }

    pub(crate) fn has_news(&self) -> bool {
        !self.inbox.lock().is_empty()
    }

    /// Has the task look again.
    pub(crate) fn nudge(&self) {
        self.woken.store(true, Ordering::SeqCst);
        if !self.driving.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }

    pub(crate) fn begin_driving(&self, task: &Waker) {
        self.task.register(task);
        self.rest.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| Some(n + n % 2)).ok();
        self.driving.store(true, Ordering::SeqCst);
        self.woken.store(false, Ordering::SeqCst);
    }

    /// Whether the task may rest; if not, something came while it was looking.
    pub(crate) fn may_rest(&self) -> bool {
        self.driving.store(false, Ordering::SeqCst);
        if self.woken.swap(false, Ordering::SeqCst) {
            self.driving.store(true, Ordering::SeqCst);
            return false;
        }
        true
    }

    /// Begins a rest and answers its number, or `None` when it is in one.
    pub(crate) fn begin_rest(&self) -> Option<u64> {
        let resting = self.rest.fetch_or(1, Ordering::SeqCst);
        resting.is_multiple_of(2).then_some(resting + 1)
    }

    /// Whether it is still in the same rest.
    pub(crate) fn is_resting(&self, rest: u64) -> bool {
        self.rest.load(Ordering::SeqCst) == rest
    }

    pub(crate) fn set_quiet(&self, quiet: bool) {
        self.quiet.store(quiet, Ordering::SeqCst);
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::SeqCst)
    }

    pub(crate) fn is_poll_due(&self) -> bool {
        self.poll_due.load(Ordering::SeqCst)
    }

    pub(crate) fn set_poll_due(&self) {
        self.poll_due.store(true, Ordering::SeqCst);
    }

    pub(crate) fn take_poll_due(&self) -> bool {
        self.poll_due.swap(false, Ordering::SeqCst)
    }

    /// Runs `poll` with this instance marked as the one this thread is polling.
    pub(crate) fn as_current<T>(&self, poll: impl FnOnce() -> T) -> T {
        let mine = ptr::from_ref(self).addr();
        let before = CURRENT.replace(mine);
        let result = poll();
        CURRENT.set(before);
        result
    }

    /// Runs a part of a step's function, which is outside the workflow: a step inside a step could
    /// not be replayed.
    pub(crate) fn as_outsider<T>(poll: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(0);
        let result = poll();
        CURRENT.set(before);
        result
    }

    /// `Cx` futures belong to the task of their workflow: polled from another one, their order
    /// could not be replayed.
    pub(crate) fn check_current(&self) -> Result<()> {
        if CURRENT.get() == ptr::from_ref(self).addr() {
            return Ok(());
        }
        let message = format!(
            "a Cx future of instance {} was polled outside its workflow, \
             on another task or inside a step; await it in the workflow itself, with join! or select! if need be",
            self.id
        );
        Err(Error::Misuse { message })
    }
}

thread_local! {
    /// The address of the instance this thread is polling; 0 when none.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The waker that the workflow's future is polled with.
impl Wake for Resident {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set_poll_due();
        self.nudge();
    }
}
