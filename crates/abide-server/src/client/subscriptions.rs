//! `abide subscriptions`.

use clap::Args;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::{Wait, WaitList};
use super::screen::{Screen, print, print_json};
use crate::error::Error;

/// Arguments of `abide subscriptions`.
#[derive(Debug, Args)]
pub(crate) struct SubscriptionsArgs {
    /// Of this instance
    #[arg(long, value_name = "ID")]
    instance: Option<String>,
    /// That hear exactly this pattern, name, topic or key
    #[arg(long)]
    pattern: Option<String>,
    /// active, fulfilled, expired or cancelled
    #[arg(long)]
    status: Option<String>,
    /// Of this step
    #[arg(long)]
    step: Option<String>,
    /// How many at most
    #[arg(long, default_value = "100")]
    limit: usize,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

impl SubscriptionsArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let asked = Asked::get(&["subscriptions"])
            .query("instance", self.instance)
            .query("pattern", self.pattern)
            .query("status", self.status)
            .query("step", self.step)
            .query("limit", Some(self.limit))
            .query("cursor", self.cursor);
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let WaitList { subscriptions, next_cursor } = answer.read()?;
        if subscriptions.is_empty() {
            return print("nobody waits");
        }
        let (screen, mut table) = (Screen::new(), Wait::table());
        subscriptions.iter().for_each(|wait| table.row(wait.row(&screen)));
        let mut text = table.render(screen.paint);
        if let Some(cursor) = next_cursor {
            text += &screen.paint.dim(&format!("there are more: --cursor {cursor}"));
        }
        print(&text)
    }
}
