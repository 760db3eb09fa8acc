//! How a reader is told to look.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::json::Json;

/// What was said live and not heard, at most: the oldest goes first.
const SAID: usize = 256;

/// See the module. Ringing costs the same whether the reader is fast, slow or gone.
pub(super) struct Bell {
    recorded: AtomicBool,
    streamed: AtomicBool,
    said: Mutex<VecDeque<(Arc<str>, Json)>>,
    rung: Notify,
}

/// A reader begins by looking.
impl Default for Bell {
    fn default() -> Self {
        Self {
            recorded: AtomicBool::new(true),
            streamed: AtomicBool::new(true),
            said: Mutex::default(),
            rung: Notify::new(),
        }
    }
}

impl Bell {
    pub(super) fn recorded(&self) {
        self.recorded.store(true, Ordering::SeqCst);
        self.rung.notify_one();
    }

    pub(super) fn streamed(&self) {
        self.streamed.store(true, Ordering::SeqCst);
        self.rung.notify_one();
    }

    pub(super) fn say(&self, name: &Arc<str>, data: &Json) {
        let mut said = self.said.lock();
        if said.len() == SAID {
            said.pop_front();
        }
        said.push_back((Arc::clone(name), data.clone()));
        drop(said);
        self.rung.notify_one();
    }

    /// Whether something was recorded since the last time.
    pub(super) fn take_recorded(&self) -> bool {
        self.recorded.swap(false, Ordering::SeqCst)
    }

    /// Whether chunks were stored since the last time.
    pub(super) fn take_streamed(&self) -> bool {
        self.streamed.swap(false, Ordering::SeqCst)
    }

    /// What was said next.
    pub(super) fn take_said(&self) -> Option<(Arc<str>, Json)> {
        self.said.lock().pop_front()
    }

    /// Until it rings, or at once if it has rung since the last time.
    pub(super) async fn rings(&self) {
        self.rung.notified().await;
    }
}
