//! A listener that remembers, so that a test can ask what was heard.

use std::sync::Arc;
use std::time::Duration;

use abide::store::{Hint, Listener};
use parking_lot::Mutex;
use tokio::sync::watch;

/// How long a test waits for a hint before it goes on without. Only a broken store is that slow.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keeps every hint until a test takes it. That something was recorded is counted apart: one may stand
/// for many.
#[derive(Debug)]
pub struct Recorder {
    hints: Mutex<Vec<Hint>>,
    heard: watch::Sender<usize>,
    recorded: watch::Sender<usize>,
}

impl Recorder {
    /// One that has heard nothing.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let (heard, recorded) = (watch::Sender::new(0), watch::Sender::new(0));
        Arc::new(Self { hints: Mutex::default(), heard, recorded })
    }

    /// Waits until at least so many hints are there to be taken. Gives up after a while: whoever
    /// compares them then says better what is missing.
    pub async fn wait_for(&self, hints: usize) {
        let mut heard = self.heard.subscribe();
        let enough = heard.wait_for(|heard| *heard >= hints);
        drop(tokio::time::timeout(PATIENCE, enough).await);
    }

    /// How often it heard that something was recorded.
    #[must_use]
    pub fn recorded(&self) -> usize {
        *self.recorded.borrow()
    }

    /// Whether it hears, more often than so, that something was recorded.
    pub async fn hears_recorded(&self, than: usize) -> bool {
        let mut recorded = self.recorded.subscribe();
        let more = recorded.wait_for(|times| *times > than);
        tokio::time::timeout(PATIENCE, more).await.is_ok()
    }

    /// Takes what was heard since the last time.
    pub fn take(&self) -> Vec<Hint> {
        let mut hints = self.hints.lock();
        self.heard.send_replace(0);
        std::mem::take(&mut *hints)
    }
}

impl Listener for Recorder {
    fn hint(&self, hint: Hint) {
        if let Hint::Recorded = hint {
            return self.recorded.send_modify(|times| *times += 1);
        }
        let mut hints = self.hints.lock();
        hints.push(hint);
        self.heard.send_replace(hints.len());
    }
}
