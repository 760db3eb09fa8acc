//! `abide buffer`.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::tell::{Cell, Iso, Table, brief};

/// Arguments of `abide buffer`.
#[derive(Debug, Args)]
pub(crate) struct BufferArgs {
    /// The instance
    id: String,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Deserialize)]
struct Buffer {
    events: Vec<Kept>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    id: String,
    kind: String,
    #[serde(rename = "type")]
    name: String,
    payload: Option<Value>,
    received_at: Iso,
    visible_at: Option<Iso>,
}

impl BufferArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let asked = Asked::get(&["instances", &self.id, "buffer"]);
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let Buffer { events } = answer.read()?;
        if events.is_empty() {
            return print("nothing is kept");
        }
        let screen = Screen::new();
        let mut table = Table::new(&["KIND", "TYPE", "ID", "CAME", "VISIBLE", "PAYLOAD"]);
        for kept in &events {
            table.row(vec![
                Cell::dim(&kept.kind),
                Cell::bold(&kept.name),
                kept.id.as_str().into(),
                Cell::dim(screen.when(kept.received_at)),
                Cell::dim(kept.visible_at.map(|at| screen.when(at)).unwrap_or_default()),
                kept.payload.as_ref().map(brief).unwrap_or_default().into(),
            ]);
        }
        print(&table.render(screen.paint))
    }
}
