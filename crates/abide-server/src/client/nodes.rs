//! `abide nodes`.

use clap::Args;
use serde::Deserialize;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::tell::{Cell, Iso, Table};

/// Arguments of `abide nodes`.
#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    #[command(flatten)]
    reach: Reach,
}

#[derive(Deserialize)]
struct Nodes {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: String,
    version: String,
    started_at: Iso,
    resident: u64,
}

impl NodesArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let answer = Api::new(&self.reach)?.ask(Asked::get(&["nodes"])).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let Nodes { nodes } = answer.read()?;
        let screen = Screen::new();
        let mut table = Table::new(&["NODE", "VERSION", "STARTED", "IN MEMORY"]);
        for node in &nodes {
            table.row(vec![
                Cell::bold(&node.id),
                node.version.as_str().into(),
                Cell::dim(screen.when(node.started_at)),
                node.resident.to_string().into(),
            ]);
        }
        print(&table.render(screen.paint))
    }
}
