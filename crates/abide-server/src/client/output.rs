//! `abide output`.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::tell::{Cell, Iso, Table, brief};

/// Arguments of `abide output`.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The instance
    id: String,
    /// One output: its value alone
    key: Option<String>,
    /// Wait for it [default: 30s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, requires = "key")]
    #[arg(default_missing_value = "30s")]
    wait: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Deserialize)]
struct Outputs {
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    key: String,
    value: Value,
    updated_at: Iso,
}

#[derive(Deserialize)]
struct Single {
    value: Box<RawValue>,
}

impl OutputArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let mut path = vec!["instances", &self.id, "outputs"];
        path.extend(self.key.as_deref());
        let asked = Asked::get(&path).query("timeout", self.wait);
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        if self.key.is_some() {
            return print(answer.read::<Single>()?.value.get());
        }
        let Outputs { outputs } = answer.read()?;
        if outputs.is_empty() {
            return print("no outputs");
        }
        let (screen, mut table) = (Screen::new(), Table::new(&["KEY", "SET", "VALUE"]));
        for Output { key, value, updated_at } in &outputs {
            let set = Cell::dim(screen.when(*updated_at));
            table.row(vec![Cell::bold(key), set, brief(value).into()]);
        }
        print(&table.render(screen.paint))
    }
}
