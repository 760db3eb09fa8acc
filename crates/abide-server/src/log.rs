//! Logging to stderr: `ABIDE_LOG`, else `RUST_LOG` choose what.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

fn filter(default: &str) -> EnvFilter {
    ["ABIDE_LOG", "RUST_LOG"]
        .iter()
        .find_map(|name| EnvFilter::try_from_env(name).ok())
        .unwrap_or_else(|| EnvFilter::new(default))
}

/// For commands that a person runs: warnings only, unless asked for more.
pub(crate) fn for_people() {
    tracing_subscriber::fmt()
        .with_env_filter(filter("warn"))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
}

/// For servers: what happens to the server, as JSON unless a person looks at it.
pub(crate) fn for_machines() {
    if std::io::stderr().is_terminal() {
        return for_people();
    }
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter("info"))
        .with_writer(std::io::stderr)
        .init();
}
