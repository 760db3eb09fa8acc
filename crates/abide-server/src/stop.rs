//! Being asked to stop: Ctrl-C, or the polite signal of whoever supervises this process.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears from its making on, so that nothing that comes while something begins is missed.
pub(crate) struct Stop {
    #[cfg(unix)]
    terminate: Option<Signal>,
    #[cfg(unix)]
    interrupt: Option<Signal>,
}

impl Stop {
    #[cfg(unix)]
    pub(crate) fn new() -> Self {
        let hear = |kind| signal(kind).ok();
        Self { terminate: hear(SignalKind::terminate()), interrupt: hear(SignalKind::interrupt()) }
    }

    #[cfg(not(unix))]
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Comes back once for every time it is asked.
    #[cfg(unix)]
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            () = next(&mut self.terminate) => {}
            () = next(&mut self.interrupt) => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn asked(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

#[cfg(unix)]
async fn next(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}
