//! The live log: one line for everything that happens to instances and that a person wants to know.

use std::io::Write;

use abide::{Error as EngineError, Fed, WatchAll};

use crate::error::Error;
use crate::host::Host;
use crate::paint::Paint;
use crate::tell::{Happening, Iso, clock, line};

/// Reads from its making on.
pub(super) struct Follow {
    all: WatchAll,
    paint: Paint,
}

impl Follow {
    pub(super) async fn new(host: &Host, paint: Paint) -> Result<Self, Error> {
        let head = host.engine().feed_head().await?;
        Ok(Self { all: host.engine().watch_all(Some(head)), paint })
    }

    /// Tells what happens until the engine stops.
    pub(super) async fn tell(mut self) -> Result<(), Error> {
        while let Some(fed) = self.all.next().await {
            match fed {
                Ok(Fed::Entry { id, workflow, recorded, .. }) => {
                    self.entry(&Happening::new(&id, &workflow, recorded))?;
                }
                Ok(Fed::Gap { .. }) => {
                    say(&self.paint.dim("… too much happened at once; some of it is not shown"))?;
                }
                Err(EngineError::ShutDown) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn entry(&self, told: &Happening) -> Result<(), Error> {
        let Some(what) = line(told, self.paint) else { return Ok(()) };
        let at = told.time.map(|Iso(at)| clock(at)).unwrap_or_default();
        let Happening { workflow, instance_id, .. } = told;
        say(&format!("{} {workflow} {instance_id}  {what}", self.paint.dim(&at)))
    }
}

/// A line of the log.
pub(super) fn say(line: &str) -> Result<(), Error> {
    writeln!(std::io::stdout(), "{line}").map_err(Error::io("standard output"))
}
