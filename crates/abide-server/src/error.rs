//! Why a command failed, in one line.

use std::io;
use std::process::ExitStatus;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The arguments ask for something that can't be done. Change them.
    #[error("{0}")]
    Refused(String),
    /// A process of ours ended badly; it has said why on stderr.
    #[error("{what} failed ({status})")]
    Process { what: String, status: ExitStatus },
    /// What was measured or shown is not what it should be.
    #[error("{0}")]
    Unexpected(String),
    /// A file, a pipe or a process could not be used.
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    /// The engine or its store.
    #[error(transparent)]
    Engine(#[from] abide::Error),
    /// Plain SQLite, in the yardsticks.
    #[error("the yardstick on plain SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// What one of our processes told another.
    #[error("unreadable answer of a process of our own: {0}")]
    Json(#[from] serde_json::Error),
    /// Workflow documents have something wrong with them; it was told.
    #[error("{problems} {}", if *problems == 1 { "problem" } else { "problems" })]
    Invalid { problems: usize },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// For `map_err`: says what was being done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}
