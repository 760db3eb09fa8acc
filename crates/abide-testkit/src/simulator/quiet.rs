//! A runtime that is run until nobody in it has anything left to do.
//!
//! With one thread and no timers, a thread that is about to park has polled every task that was
//! woken: what happens next is only up to whoever moves the world from outside.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

/// See the module.
pub(super) struct QuietRuntime {
    runtime: Runtime,
    watcher: Arc<Mutex<Watcher>>,
}

/// Who wants to know that all is quiet.
#[derive(Default)]
struct Watcher {
    waker: Option<Waker>,
    is_quiet: bool,
}

impl QuietRuntime {
    pub(super) fn new() -> Self {
        let watcher = Arc::<Mutex<Watcher>>::default();
        let told = Arc::clone(&watcher);
        let runtime = Builder::new_current_thread()
            .on_thread_park(move || {
                let mut watcher = told.lock();
                watcher.is_quiet = true;
                let waker = watcher.waker.take();
                drop(watcher);
                waker.into_iter().for_each(Waker::wake);
            })
            .build()
            .unwrap();
        Self { runtime, watcher }
    }

    /// Runs every task as far as it goes.
    pub(super) fn settle(&self) {
        self.watcher.lock().is_quiet = false;
        self.runtime.block_on(poll_fn(|task| {
            let mut watcher = self.watcher.lock();
            if watcher.is_quiet {
                return Poll::Ready(());
            }
            watcher.waker = Some(task.waker().clone());
            Poll::Pending
        }));
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(task));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn settling_runs_everything_that_was_woken_and_what_that_woke() {
        let runtime = QuietRuntime::new();
        let (tell, told) = mpsc::unbounded_channel();
        let count = Arc::<Mutex<u32>>::default();
        for first in [false, true] {
            let (count, tell) = (Arc::clone(&count), tell.clone());
            runtime.spawn(async move {
                for _ in 0..500 {
                    tokio::task::yield_now().await;
                }
                *count.lock() += 1;
                if first {
                    tell.send(()).unwrap();
                }
            });
        }
        let mut told = told;
        let after = Arc::clone(&count);
        runtime.spawn(async move {
            told.recv().await;
            *after.lock() += 10;
        });
        runtime.settle();
        assert_eq!(*count.lock(), 12);
        runtime.settle();
        assert_eq!(*count.lock(), 12);
    }
}
