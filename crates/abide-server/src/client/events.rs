//! `abide events`.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::paint::Paint;
use crate::tell::{Cell, Iso, Table, brief};

/// Arguments of `abide events`.
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// A type, or a pattern with `*` (one segment) and `**` (one or more)
    #[arg(long = "type", value_name = "PATTERN")]
    event_type: Option<String>,
    /// From this source
    #[arg(long)]
    source: Option<String>,
    /// Only those that nobody wanted so far
    #[arg(long)]
    unmatched: bool,
    /// Accepted at this moment or later
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Accepted before this moment
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// What follows this number of the log, the oldest first
    #[arg(long, value_name = "N")]
    after: Option<i64>,
    /// How many at most
    #[arg(long, default_value = "25")]
    limit: usize,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Deserialize)]
struct Log {
    events: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    id: String,
    #[serde(rename = "type")]
    event_type: String,
    payload: Option<Value>,
    source: Option<String>,
    seq: i64,
    accepted_at: Iso,
    matched: bool,
}

impl EventsArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let is_tail = self.after.is_none();
        let asked = Asked::get(&["events"])
            .query("type", self.event_type)
            .query("source", self.source)
            .query("unmatched", self.unmatched.then_some("true"))
            .query("from", self.from)
            .query("to", self.to)
            .query("after", self.after)
            .query("order", is_tail.then_some("desc"))
            .query("limit", Some(self.limit));
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let Log { mut events } = answer.read()?;
        if events.is_empty() {
            return print("no events");
        }
        // As in every log, the newest stands last.
        events.sort_by_key(|event| event.seq);
        let screen = Screen::new();
        let mut table = Table::new(&["#", "ACCEPTED", "TYPE", "ID", "SOURCE", "WANTED", "PAYLOAD"]);
        for event in &events {
            let wanted = if event.matched {
                Cell::coloured("yes", Paint::green)
            } else {
                Cell::coloured("not yet", Paint::yellow)
            };
            table.row(vec![
                Cell::dim(event.seq.to_string()),
                Cell::dim(screen.when(event.accepted_at)),
                Cell::bold(&event.event_type),
                event.id.as_str().into(),
                Cell::dim(event.source.as_deref().unwrap_or_default()),
                wanted,
                event.payload.as_ref().map(brief).unwrap_or_default().into(),
            ]);
        }
        print(&table.render(screen.paint))
    }
}
