//! `abide watch`: an instance as it goes.

use std::time::Duration;

use clap::Args;
use reqwest::{Response, StatusCode};

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::{Instance, is_good_end};
use super::screen::{Screen, print};
use super::sse::{Frame, Reader};
use crate::error::Error;
use crate::tell::{Happening, Iso, clean, clock, line};

/// How long a server may be away before it is given up, in tries.
const TRIES: u32 = 20;

/// How long to wait before the first of them; later ones wait longer, up to ten times that.
const PAUSE: Duration = Duration::from_millis(300);

/// What the last frame of a stream is.
const COMPLETE: &str = "execution_complete";

/// Arguments of `abide watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Begins with what has happened already. The exit code tells how the instance ended. When the server goes \
away, it is looked for again, and nothing is shown twice.")]
pub(crate) struct WatchArgs {
    /// The instance
    id: String,
    #[command(flatten)]
    reach: Reach,
}

/// How a connection ended.
enum Left {
    /// The instance has this status, which is its last.
    Ended(String),
    /// The server went away.
    Lost,
}

impl WatchArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let api = Api::new(&self.reach)?;
        let path = ["instances", &self.id, "stream"];
        let mut watching = Watching { json: self.reach.json, screen: Screen::new(), last: None };
        let mut response = api.stream(&path, None).await?;
        let mut tries = 0;
        loop {
            if response.status() == StatusCode::NO_CONTENT {
                return self.conclude(&self.status(&api).await?);
            }
            let before = watching.last.clone();
            match watching.follow(response).await? {
                Left::Ended(status) => return self.conclude(&status),
                Left::Lost if watching.last != before => tries = 0,
                Left::Lost => {}
            }
            response = loop {
                tries += 1;
                tokio::time::sleep(PAUSE * tries.min(10)).await;
                match api.stream(&path, watching.last.as_deref()).await {
                    Ok(response) => break response,
                    Err(Error::Unreachable { .. }) if tries < TRIES => {}
                    Err(error) => return Err(error),
                }
            };
        }
    }

    async fn status(&self, api: &Api) -> Result<String, Error> {
        let answer = api.ask(Asked::get(&["instances", &self.id])).await?;
        Ok(answer.read::<Instance>()?.status)
    }

    fn conclude(&self, status: &str) -> Result<(), Error> {
        if is_good_end(status) {
            return Ok(());
        }
        Err(Error::Ended(format!("{} {}", self.id, clean(status))))
    }
}

struct Watching {
    json: bool,
    screen: Screen,
    /// The id of the last frame that was shown.
    last: Option<String>,
}

impl Watching {
    /// Shows what comes, until nothing more does.
    async fn follow(&mut self, mut response: Response) -> Result<Left, Error> {
        let mut reader = Reader::default();
        while let Ok(Some(bytes)) = response.chunk().await {
            for frame in reader.take(&bytes) {
                if let Some(status) = self.show(frame)? {
                    return Ok(Left::Ended(status));
                }
            }
        }
        Ok(Left::Lost)
    }

    /// Shows a frame; answers the status of the instance when it was the last one.
    fn show(&mut self, frame: Frame) -> Result<Option<String>, Error> {
        if self.json {
            print(&frame.data)?;
        }
        let told: Happening = serde_json::from_str(&frame.data).map_err(|wrong| {
            Error::Unexpected(format!("a frame of the stream is not what it should be: {wrong}"))
        })?;
        self.last = frame.id.or(self.last.take());
        if told.what == COMPLETE {
            return Ok(Some(told.status.unwrap_or_default()));
        }
        let paint = self.screen.paint;
        if let Some(what) = line(&told, paint).filter(|_| !self.json) {
            let at = told.time.map(|Iso(at)| clock(at)).unwrap_or_default();
            print(&format!("{}  {what}", paint.dim(&at)))?;
        }
        Ok(None)
    }
}
