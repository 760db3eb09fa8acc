//! `abide serve`: a server for as long as nobody asks it to stop.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;

use crate::config::Configuration;
use crate::documents;
use crate::error::Error;
use crate::host::Host;
use crate::stop::Stop;

/// Arguments of `abide serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Settings come from the file, then from the environment (server.maxBody is ABIDE_SERVER_MAX_BODY), then \
from these flags; the last one wins. `abide config check FILE` shows all of them.

SIGTERM and Ctrl-C stop in order: nothing more is accepted, requests are answered, running steps \
finish or are left to the next start. A second one stops at once, which loses nothing either.

Examples:
  abide serve
  abide serve --store sqlite:/var/lib/abide/abide.db workflows/
  abide serve --config abide.toml")]
pub(crate) struct ServeArgs {
    /// Workflow documents to register at the start: files, or directories to look through
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Where everything is kept [default: sqlite:abide.db]
    #[arg(long, value_name = "sqlite:FILE")]
    store: Option<String>,
    /// Address and port [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// A configuration file
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Listen on any address without tokens: whoever reaches it may do everything
    #[arg(long)]
    insecure: bool,
}

impl ServeArgs {
    fn configuration(self) -> Result<Configuration, Error> {
        let mut set = Configuration::load(self.config.as_deref())?;
        set.store = self.store.unwrap_or(set.store);
        set.listen = self.listen.unwrap_or(set.listen);
        set.server.insecure |= self.insecure;
        set.workflows.extend(self.paths.iter().map(|path| path.display().to_string()));
        Ok(set)
    }
}

/// Serves until it is asked to stop.
pub(crate) async fn run(args: ServeArgs) -> Result<(), Error> {
    let mut stop = Stop::new();
    let set = args.configuration()?;
    let paths: Vec<PathBuf> = set.workflows.iter().map(PathBuf::from).collect();
    let files = documents::find(&paths)?;
    // Before anything runs.
    documents::check(&files)?;
    let host = Host::open(&set).await?;
    for file in files {
        let registered = host.register(&file).await?;
        if registered.changed {
            let (workflow, version) = (registered.name, registered.version);
            tracing::info!(workflow, version, file = %file.display(), "registered");
        }
    }
    tell_ready(&host, &set);
    tokio::select! {
        () = stop.asked() => tracing::info!("stopping"),
        lost = host.engine().store_lost() => {
            host.shutdown().await?;
            return Err(lost.into());
        }
    }
    tokio::select! {
        stopped = host.shutdown() => stopped,
        () = stop.asked() => Err(Error::Interrupted),
    }
}

/// One line: for a person at a terminal, or for the log.
fn tell_ready(host: &Host, set: &Configuration) {
    let workflows = host.engine().workflows().len();
    let (url, store) = (host.url(), &set.store);
    if std::io::stderr().is_terminal() {
        let version = env!("CARGO_PKG_VERSION");
        eprintln!("abide {version} listens on {url} ({store}, workflows: {workflows})");
    } else {
        tracing::info!(url, store, workflows, "listening");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn served(arguments: &[&str]) -> Configuration {
        let all = ["abide", "serve"].iter().chain(arguments);
        let Command::Serve(args) = Cli::try_parse_from(all).unwrap().command else {
            panic!("it is another command")
        };
        args.configuration().unwrap()
    }

    /// Each of these is in the table of `docs/configuration.md`.
    #[test]
    fn flags_win_over_the_file_and_paths_are_added_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("abide.toml");
        let text =
            "[server]\nlisten = 'a:1'\ninsecure = false\nworkflows = ['w']\n[store]\nurl = 'x'\n";
        std::fs::write(&file, text).unwrap();
        let config = ["--config", file.to_str().unwrap()];
        let set = served(&config);
        assert_eq!((set.listen.as_str(), set.store.as_str()), ("a:1", "x"));
        let flags = ["--listen", "b:2", "--store", "y", "--insecure", "v"];
        let set = served(&[&config[..], &flags].concat());
        assert_eq!((set.listen.as_str(), set.store.as_str()), ("b:2", "y"));
        assert_eq!((set.server.insecure, set.workflows), (true, vec!["w".into(), "v".into()]));
    }
}
