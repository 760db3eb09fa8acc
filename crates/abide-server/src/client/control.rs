//! `abide pause`, `resume`, `terminate`, `restart` and `wake`.

use clap::Args;
use serde_json::{Value, json};

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::Instance;
use super::screen::{Screen, print, print_json};
use super::start::duration;
use crate::error::Error;

/// Arguments of `abide pause`.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// The instance
    id: String,
    #[command(flatten)]
    reach: Reach,
}

/// Arguments of `abide resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The instance
    id: String,
    #[command(flatten)]
    reach: Reach,
}

/// Arguments of `abide terminate`.
#[derive(Debug, Args)]
pub(crate) struct TerminateArgs {
    /// The instance
    id: String,
    /// For those who look later
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Undo the steps that say how, in reverse order
    #[arg(long)]
    compensate: bool,
    /// Leave its children alone
    #[arg(long)]
    keep_children: bool,
    #[command(flatten)]
    reach: Reach,
}

/// Arguments of `abide restart`.
#[derive(Debug, Args)]
pub(crate) struct RestartArgs {
    /// The instance
    id: String,
    /// The first step to run again; what was done before it is kept
    #[arg(long, value_name = "STEP")]
    from_step: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

/// Arguments of `abide wake`.
#[derive(Debug, Args)]
pub(crate) struct WakeArgs {
    /// The instance
    id: String,
    /// In so long, like 10s [default: at once]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    delay: Option<std::time::Duration>,
    #[command(flatten)]
    reach: Reach,
}

impl PauseArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        act(&self.reach, &self.id, "pause", &json!({})).await
    }
}

impl ResumeArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        act(&self.reach, &self.id, "resume", &json!({})).await
    }
}

impl TerminateArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let mut body = json!({});
        if let Some(reason) = self.reason {
            body["reason"] = reason.into();
        }
        if self.compensate {
            body["compensate"] = true.into();
        }
        if self.keep_children {
            body["cascade"] = false.into();
        }
        act(&self.reach, &self.id, "terminate", &body).await
    }
}

impl RestartArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let body = match self.from_step {
            Some(step) => json!({ "fromStep": step }),
            None => json!({}),
        };
        act(&self.reach, &self.id, "restart", &body).await
    }
}

impl WakeArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let body = match self.delay {
            Some(delay) => {
                json!({ "delayMs": u64::try_from(delay.as_millis()).unwrap_or(u64::MAX) })
            }
            None => json!({}),
        };
        act(&self.reach, &self.id, "wake", &body).await
    }
}

/// Asks for it and shows the instance as it is then.
async fn act(reach: &Reach, id: &str, action: &str, body: &Value) -> Result<(), Error> {
    let asked = Asked::post(&["instances", id, action]).json(body)?;
    let answer = Api::new(reach)?.ask(asked).await?;
    if reach.json {
        return print_json(&answer);
    }
    match answer.read::<Instance>() {
        Ok(instance) => print(&instance.line(&Screen::new())),
        // Some actions have nothing to show.
        Err(_) => print("ok"),
    }
}
