//! `abide demo`: a workflow survives a real kill in front of the user's eyes.
//!
//! ```text
//!   process A ── runs the order ── killed in the middle of a step
//!   this one  ── shows what the database knows
//!   process B ── the same program again ── goes on, completes
//!   this one  ── one timeline from the history, one tally from the log of effects
//! ```

mod ledger;
mod order;
mod timeline;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abide::history::Recorded;
use abide::store::Store;
use abide::{InstanceId, Timestamp};
use abide_sqlite::SqliteStore;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::cli::DemoArgs;
use crate::error::Error;
use crate::paint::Paint;

use ledger::Ledger;
use timeline::{Event, Life};

pub(crate) use order::work;

/// Into the fatal step before the kill: long enough to be seen, far from the step's end.
const SUSPENSE: Duration = Duration::from_millis(500);

/// Between the kill and the second process, so that it reads as an outage.
const OUTAGE: Duration = Duration::from_millis(1000);

/// More history than the demo makes.
const PAGE: usize = 1000;

/// Runs the demo.
pub(crate) async fn run(args: DemoArgs) -> Result<(), Error> {
    let temporary = match &args.dir {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(Error::io("a temporary directory"))?),
    };
    let directory = match (&args.dir, &temporary) {
        (Some(asked), _) => asked.as_path(),
        (None, Some(temporary)) => temporary.path(),
        (None, None) => Path::new("."),
    };
    prepare(directory)?;
    let stage = Stage { directory, paint: Paint::for_stdout() };
    stage.play(args.dir.is_some()).await
}

fn prepare(directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory).map_err(Error::io(directory.display().to_string()))?;
    let database = order::database(directory);
    if database.exists() {
        let shown = database.display();
        let message = format!("{shown} exists already; remove it or choose another --dir");
        return Err(Error::Refused(message));
    }
    Ok(())
}

/// Where the demo plays.
struct Stage<'a> {
    directory: &'a Path,
    paint: Paint,
}

impl Stage<'_> {
    async fn play(&self, kept: bool) -> Result<(), Error> {
        let paint = self.paint;
        say(&paint.bold("An order is fulfilled in five steps. We kill it in the third.\n"))?;
        let mut events = Vec::new();

        let mut first = self.spawn()?;
        events.push(event(first.pid, Life::Began));
        let fatal = format!("{}: ", order::FATAL_STEP);
        if !self.follow(&mut first, Some(&fatal)).await? {
            return Err(Error::Unexpected(
                "the first process ended before it could be killed".to_owned(),
            ));
        }
        tokio::time::sleep(SUSPENSE).await;
        first.child.kill().await.map_err(Error::io("killing the first process"))?;
        events.push(event(first.pid, Life::Killed));
        say(&paint.red(&format!("\n✖ kill -9 {}\n", first.pid)))?;

        say("What the database knows now:")?;
        say(&timeline::known(&self.history().await?, paint))?;
        tokio::time::sleep(OUTAGE).await;

        say("The same program again:")?;
        let mut second = self.spawn()?;
        events.push(event(second.pid, Life::WentOn));
        self.follow(&mut second, None).await?;
        let status = second.child.wait().await.map_err(Error::io("the second process"))?;
        if !status.success() {
            return Err(Error::Process { what: "the second process".to_owned(), status });
        }
        self.conclude(&events, kept).await
    }

    /// The timeline, the proof and what to do next.
    async fn conclude(&self, events: &[Event], kept: bool) -> Result<(), Error> {
        let paint = self.paint;
        let history = self.history().await?;
        let title = format!("\nTimeline of {}, from its history:", order::ORDER);
        say(&paint.bold(&title))?;
        say(&timeline::render(&history, events, paint))?;

        let ledger = Ledger::in_directory(self.directory);
        let effects = ledger.read()?;
        say(&paint.bold("Effects on the world outside, from a plain file the steps write:"))?;
        say(&timeline::tally(&effects, paint))?;
        if !timeline::each_once(&effects) {
            let message = "a step had its effect more or less than once";
            return Err(Error::Unexpected(message.to_owned()));
        }
        say("Every step took effect exactly once. What was stored never ran again; the step")?;
        say("that the kill interrupted, and only that one, was tried again.\n")?;
        say(&paint.bold("Next:"))?;
        if kept {
            let database = order::database(self.directory);
            say(&format!("  look into {}", ledger.file().display()))?;
            let query = "SELECT * FROM execution_step_results";
            say(&format!("  sqlite3 {} '{query}'", database.display()))?;
        } else {
            say("  abide demo --dir DIR   keep the database and look into it")?;
        }
        say("  abide bench steps      see how fast this machine is at it")
    }

    fn spawn(&self) -> Result<Worker, Error> {
        let this = std::env::current_exe().map_err(Error::io("the path of this program"))?;
        let mut child = Command::new(this)
            .arg("demo-worker")
            .arg(self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(Error::io("starting a process"))?;
        let gone = || Error::Unexpected("a process was gone before it began".to_owned());
        let pid = child.id().ok_or_else(gone)?;
        let told = BufReader::new(child.stdout.take().ok_or_else(gone)?).lines();
        Ok(Worker { child, pid, told })
    }

    /// Shows what a process tells, until its end (false) or until it tells `until` (true).
    async fn follow(&self, worker: &mut Worker, until: Option<&str>) -> Result<bool, Error> {
        while let Some(line) =
            worker.told.next_line().await.map_err(Error::io("listening to a process"))?
        {
            let process = self.paint.cyan(&format!("[process {}]", worker.pid));
            say(&format!("  {process} {line}"))?;
            if until.is_some_and(|until| line.starts_with(until)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Read straight from the store: no engine runs here.
    async fn history(&self) -> Result<Vec<Recorded>, Error> {
        let store = SqliteStore::open(order::database(self.directory)).await?;
        let history = store.history(&InstanceId::new(order::ORDER)?, 0, PAGE).await?;
        store.close().await?;
        Ok(history)
    }
}

fn say(text: &str) -> Result<(), Error> {
    writeln!(std::io::stdout(), "{text}").map_err(Error::io("stdout"))
}

/// A process that runs the order.
struct Worker {
    child: Child,
    pid: u32,
    told: Lines<BufReader<ChildStdout>>,
}

fn event(pid: u32, what: Life) -> Event {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Event { at: Timestamp(i64::try_from(wall.as_millis()).unwrap_or(i64::MAX)), pid, what }
}
