//! `abide workflows`.

use clap::Args;
use serde::Deserialize;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::tell::{Cell, Table};

/// Arguments of `abide workflows`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowsArgs {
    #[command(flatten)]
    reach: Reach,
}

#[derive(Deserialize)]
struct Workflows {
    workflows: Vec<Workflow>,
}

#[derive(Deserialize)]
struct Workflow {
    name: String,
    version: u32,
}

impl WorkflowsArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let answer = Api::new(&self.reach)?.ask(Asked::get(&["workflows"])).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let Workflows { workflows } = answer.read()?;
        if workflows.is_empty() {
            return print("no workflows; register one with `abide register FILE`");
        }
        let mut table = Table::new(&["WORKFLOW", "VERSION"]);
        for Workflow { name, version } in &workflows {
            table.row(vec![Cell::bold(name), version.to_string().into()]);
        }
        print(&table.render(Screen::new().paint))
    }
}
