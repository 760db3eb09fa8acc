//! A listener that remembers, so that a test can ask what was heard.

use std::sync::Arc;
use std::time::Duration;

use abide::store::{Hint, Listener};
use parking_lot::Mutex;
use tokio::sync::watch;

/// How long a test waits for a hint before it goes on without. Only a broken store is that slow.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keeps every hint until a test takes it.
#[derive(Debug)]
pub struct Recorder {
    hints: Mutex<Vec<Hint>>,
    heard: watch::Sender<usize>,
}

impl Recorder {
    /// One that has heard nothing.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self { hints: Mutex::default(), heard: watch::Sender::new(0) })
    }

    /// Waits until at least so many hints are there to be taken. Gives up after a while: whoever
    /// compares them then says better what is missing.
    pub async fn wait_for(&self, hints: usize) {
        let mut heard = self.heard.subscribe();
        let enough = heard.wait_for(|heard| *heard >= hints);
        drop(tokio::time::timeout(PATIENCE, enough).await);
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
        let mut hints = self.hints.lock();
        hints.push(hint);
        self.heard.send_replace(hints.len());
    }
}
