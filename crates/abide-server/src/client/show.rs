//! `abide show`.

use clap::Args;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::{Instance, WaitList};
use super::screen::{Screen, print, print_json};
use crate::error::Error;

/// Arguments of `abide show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The instance
    id: String,
    #[command(flatten)]
    reach: Reach,
}

impl ShowArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let api = Api::new(&self.reach)?;
        let answer = api.ask(Asked::get(&["instances", &self.id])).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let mut instance: Instance = answer.read()?;
        if instance.waits.iter().any(|wait| wait.is_open() && wait.near_misses.is_none()) {
            // What waits nearly took is told where waits are asked for.
            let asked = Asked::get(&["subscriptions"])
                .query("instance", Some(&self.id))
                .query("status", Some("active"));
            let WaitList { subscriptions, .. } = api.ask(asked).await?.read()?;
            instance.waits = subscriptions;
        }
        print(&instance.in_full(&Screen::new()))
    }
}
