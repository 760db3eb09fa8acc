//! `abide list`.

use clap::Args;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::{Instance, InstanceList};
use super::screen::{Screen, print, print_json};
use crate::error::Error;

/// Arguments of `abide list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// With one of these statuses, separated by commas
    #[arg(long)]
    status: Option<String>,
    /// Whose id begins with this
    #[arg(long, value_name = "TEXT")]
    id_prefix: Option<String>,
    /// With this correlation id
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    /// With this label
    #[arg(long)]
    tag: Option<String>,
    /// Children of this instance
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Created after this moment
    #[arg(long, value_name = "TIME")]
    created_after: Option<String>,
    /// Created before this moment
    #[arg(long, value_name = "TIME")]
    created_before: Option<String>,
    /// Whose input contains this text
    #[arg(short, long = "query", value_name = "TEXT")]
    q: Option<String>,
    /// How many at most
    #[arg(long, default_value = "25")]
    limit: usize,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

impl ListArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let asked = Asked::get(&["instances"])
            .query("workflow", self.workflow)
            .query("status", self.status)
            .query("idPrefix", self.id_prefix)
            .query("correlationId", self.correlation_id)
            .query("tag", self.tag)
            .query("parent", self.parent)
            .query("createdAfter", self.created_after)
            .query("createdBefore", self.created_before)
            .query("q", self.q)
            .query("limit", Some(self.limit))
            .query("cursor", self.cursor);
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let InstanceList { instances, next_cursor } = answer.read()?;
        if instances.is_empty() {
            return print("no instances");
        }
        let (screen, mut table) = (Screen::new(), Instance::table());
        instances.iter().for_each(|instance| table.row(instance.row(&screen)));
        let mut text = table.render(screen.paint);
        if let Some(cursor) = next_cursor {
            text += &screen.paint.dim(&format!("there are more: --cursor {cursor}"));
        }
        print(&text)
    }
}
