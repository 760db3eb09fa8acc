//! Why a command failed, in one line.

use std::io;
use std::net::SocketAddr;
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
    /// The configuration has something wrong with it.
    #[error("the configuration is not acceptable:\n{0}")]
    Configuration(String),
    /// A workflow document has something wrong with it.
    #[error("a document is not acceptable:\n{0}")]
    Document(String),
    /// The address can't be had.
    #[error("can't listen on {address}: {source}{}", hint(source, *address))]
    Listen { address: SocketAddr, source: io::Error },
    /// The server refused.
    #[error("{message} ({code})")]
    Api { code: String, message: String },
    /// Nobody answers where the server should be.
    #[error(
        "no server answers at {url}: {why}; start one with `abide dev` or `abide serve`, or say where it is \
         with --url or ABIDE_URL"
    )]
    Unreachable { url: String, why: String },
    /// The connection broke and the outcome is unknown.
    #[error("the connection to {url} broke: {why}; {advice}")]
    Lost { url: String, why: String, advice: &'static str },
    /// What was awaited did not come to a good end.
    #[error("{0}")]
    Ended(String),
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

/// What to do about an address that can't be had.
fn hint(error: &io::Error, address: SocketAddr) -> String {
    if error.kind() != io::ErrorKind::AddrInUse {
        return String::new();
    }
    let other = SocketAddr::new(address.ip(), address.port().wrapping_add(1).max(1024));
    format!("; something listens there already: choose another with --listen {other}")
}
