//! `abide dev`: a server for the one who writes workflows. It reads documents again when they change
//! and shows what happens as it happens.

mod banner;
mod follow;
mod sample;
mod shelf;
mod watched;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::time::{MissedTickBehavior, interval};

use crate::config::Configuration;
use crate::error::Error;
use crate::host::Host;
use crate::paint::Paint;
use crate::stop::Stop;
use shelf::Shelf;
use watched::Watched;

/// How often files are looked at. Soon enough for whoever saves one and looks up.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Where the database is kept by default.
const STORE: &str = ".abide/dev.db";

/// Arguments of `abide dev`.
#[derive(Debug, Args)]
#[command(after_help = "\
Documents are read again when they change. One that has something wrong with it is told, and its last \
good version stays. Instances that run keep the version they began with.

Examples:
  abide dev examples/flows
  abide dev order.yaml --fresh
  abide dev --listen 127.0.0.1:7900")]
pub(crate) struct DevArgs {
    /// Workflow documents, or directories to look through
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Where everything is kept [default: sqlite:.abide/dev.db]
    #[arg(long, value_name = "sqlite:FILE", conflicts_with = "fresh")]
    store: Option<String>,
    /// Begin with nothing, and keep nothing
    #[arg(long)]
    fresh: bool,
    /// Address and port [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
}

/// Serves, watches and tells until it is asked to stop.
pub(crate) async fn run(args: DevArgs) -> Result<(), Error> {
    let mut stop = Stop::new();
    let paint = Paint::for_stdout();
    let mut set = Configuration::load(None)?;
    set.listen = args.listen.unwrap_or(set.listen);
    let mut files = Watched::new(args.paths);
    let changes = files.changes()?;
    let host = if args.fresh {
        set.store = "temporary".to_owned();
        Host::on(&set, set.store_options().open_temporary().await?).await?
    } else {
        set.store = match args.store {
            Some(store) => store,
            None => own_store()?,
        };
        Host::open(&set).await?
    };
    let follow = follow::Follow::new(&host, paint).await?;
    let mut shelf = Shelf::new(&host, paint);
    shelf.fill(&changes).await?;
    banner::print(&host, &set, shelf.read(), paint)?;
    tokio::select! {
        ended = watch(&mut files, &mut shelf) => ended?,
        ended = follow.tell() => ended?,
        () = stop.asked() => {}
    }
    tokio::select! {
        stopped = host.shutdown() => stopped,
        () = stop.asked() => Err(Error::Interrupted),
    }
}

/// The database in the working directory, which git does not see.
fn own_store() -> Result<String, Error> {
    let directory = Path::new(STORE).parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(Error::io(directory.display().to_string()))?;
    let ignore = directory.join(".gitignore");
    if !ignore.exists() {
        std::fs::write(&ignore, "*\n").map_err(Error::io(ignore.display().to_string()))?;
    }
    Ok(format!("sqlite:{STORE}"))
}

async fn watch(files: &mut Watched, shelf: &mut Shelf<'_>) -> Result<(), Error> {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // A directory that can't be read now may be there the next time.
        for change in files.changes().unwrap_or_default() {
            shelf.take(&change).await?;
        }
    }
}
