//! `abide sinks`.

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Answer, Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::paint::Paint;
use crate::tell::{Cell, Table};

/// Arguments of `abide sinks`.
#[derive(Debug, Args)]
#[command(after_help = "\
Sinks are the [tracker] sections of the server's configuration. Only durable ones can be paused, \
resumed or replayed.

Examples:
  abide sinks
  abide sinks pause audit
  abide sinks replay audit --from 1200")]
pub(crate) struct SinksArgs {
    #[command(subcommand)]
    command: Option<SinksCommand>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Debug, Subcommand)]
enum SinksCommand {
    /// Stop telling a sink, also over restarts; nothing is lost meanwhile
    Pause {
        /// The sink
        name: String,
    },
    /// Let a paused sink be told again, from where it was
    Resume {
        /// The sink
        name: String,
    },
    /// Tell a sink again what it was told before
    Replay {
        /// The sink
        name: String,
        /// The first row of the history to tell: the first part of the ids of /v1/stream
        #[arg(long, value_name = "ROW", default_value = "0")]
        from: u64,
    },
}

#[derive(Deserialize)]
struct Sinks {
    sinks: Vec<Sink>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sink {
    name: String,
    url: String,
    status: String,
    durable: bool,
    sent: u64,
    dropped: u64,
    pending: u64,
    lag: Option<u64>,
    last_error: Option<String>,
}

impl SinksArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        match &self.command {
            None => self.list().await,
            Some(SinksCommand::Pause { name }) => self.act(name, "pause", json!({})).await,
            Some(SinksCommand::Resume { name }) => self.act(name, "resume", json!({})).await,
            Some(SinksCommand::Replay { name, from }) => {
                self.act(name, "replay", json!({ "fromSeq": from })).await
            }
        }
    }

    async fn list(&self) -> Result<(), Error> {
        let answer = Api::new(&self.reach)?.ask(Asked::get(&["sinks"])).await?;
        self.show(&answer, |answer| Ok(answer.read::<Sinks>()?.sinks))
    }

    /// Asks for it and shows the sink as it is then.
    async fn act(&self, name: &str, action: &str, body: Value) -> Result<(), Error> {
        let asked = Asked::post(&["sinks", name, action]).json(&body)?.repeatable();
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        self.show(&answer, |answer| Ok(vec![answer.read()?]))
    }

    fn show(
        &self,
        answer: &Answer,
        read: impl FnOnce(&Answer) -> Result<Vec<Sink>, Error>,
    ) -> Result<(), Error> {
        if self.reach.json {
            return print_json(answer);
        }
        let sinks = read(answer)?;
        if sinks.is_empty() {
            return print("no sinks; [tracker] in the server's configuration makes one");
        }
        let mut table = Sink::table();
        sinks.iter().for_each(|sink| table.row(sink.row()));
        print(&table.render(Screen::new().paint))
    }
}

impl Sink {
    fn table() -> Table {
        Table::new(&[
            "SINK",
            "STATUS",
            "DURABLE",
            "SENT",
            "DROPPED",
            "PENDING",
            "LAG",
            "URL",
            "LAST ERROR",
        ])
    }

    /// Unlike a wait, one that is active needs nobody.
    fn state(&self) -> Cell {
        let colour = if self.status == "paused" { Paint::yellow } else { Paint::green };
        Cell::coloured(&self.status, colour)
    }

    fn row(&self) -> Vec<Cell> {
        let dropped = self.dropped.to_string();
        vec![
            Cell::bold(&self.name),
            self.state(),
            if self.durable { "yes" } else { "no" }.into(),
            self.sent.to_string().into(),
            if self.dropped > 0 { Cell::coloured(dropped, Paint::red) } else { dropped.into() },
            self.pending.to_string().into(),
            self.lag.map_or_else(|| "-".to_owned(), |lag| lag.to_string()).into(),
            Cell::dim(&self.url),
            Cell::coloured(self.last_error.as_deref().unwrap_or_default(), Paint::red),
        ]
    }
}
