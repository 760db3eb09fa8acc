//! `abide result`, and waiting for one.

use std::time::{Duration, Instant};

use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::is_good_end;
use super::screen::{print, print_json};
use super::start::duration;
use crate::error::Error;
use crate::tell::{Fault, clean};

/// Arguments of `abide result`.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// The instance
    id: String,
    /// Wait for its end [default: 30s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "30s", value_parser = duration)]
    wait: Option<Duration>,
    #[command(flatten)]
    reach: Reach,
}

impl ResultArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let api = Api::new(&self.reach)?;
        wait_for(&api, &self.id, self.wait.unwrap_or_default(), self.reach.json).await
    }
}

/// What an instance came to.
#[derive(Deserialize)]
struct Outcome {
    status: String,
    output: Option<Box<RawValue>>,
    error: Option<Fault>,
}

/// Waits for the end of an instance, and shows what it came to. An end that is not a good one is a
/// failure, and so is none.
pub(super) async fn wait_for(
    api: &Api,
    id: &str,
    patience: Duration,
    json: bool,
) -> Result<(), Error> {
    /// A request is not left waiting for longer, because something in between may hang up.
    const AT_ONCE: Duration = Duration::from_secs(60);
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let asked = Asked::get(&["instances", id, "result"]);
        let ms = left.min(AT_ONCE).as_millis();
        let answer = api.ask(asked.query("timeout", Some(format!("{ms}ms")))).await?;
        let outcome: Outcome = answer.read()?;
        let has_ended = answer.status.as_u16() == 200;
        if !has_ended && !left.is_zero() {
            continue;
        }
        if json {
            print_json(&answer)?;
        } else if let Some(output) = outcome.output.as_ref().filter(|_| has_ended) {
            print(output.get())?;
        }
        let status = clean(&outcome.status);
        return match outcome.error {
            _ if is_good_end(&status) => Ok(()),
            Some(error) => {
                let (message, code) = (clean(&error.message), clean(&error.code));
                Err(Error::Ended(format!("{id} {status}: {message} ({code})")))
            }
            None if has_ended => Err(Error::Ended(format!("{id} {status}"))),
            None => {
                let on = format!("it goes on: abide watch {id}");
                Err(Error::Ended(format!("{id} is {status} and has not ended in time; {on}")))
            }
        };
    }
}
