//! `abide register`.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::tell::clean;

/// Arguments of `abide register`.
#[derive(Debug, Args)]
pub(crate) struct RegisterArgs {
    /// YAML or JSON documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Deserialize)]
struct Registered {
    name: String,
    version: u32,
    changed: bool,
}

impl RegisterArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        // All are checked before the first is sent.
        let mut documents = Vec::new();
        for file in &self.files {
            let shown = file.display().to_string();
            let text = fs::read_to_string(file).map_err(Error::io(shown.as_str()))?;
            let flow = abide_flow::parse(&text).map_err(|problems| {
                let report = abide_flow::report(&shown, &text, &problems);
                Error::Document(report.trim_end().to_owned())
            })?;
            documents.push((flow.name, text));
        }
        let (api, screen) = (Api::new(&self.reach)?, Screen::new());
        for (name, text) in documents {
            let answer = api.ask(Asked::put(&["workflows", &name]).yaml(text)).await?;
            if self.reach.json {
                print_json(&answer)?;
                continue;
            }
            let Registered { name, version, changed } = answer.read()?;
            let remark = if changed { "" } else { " (unchanged)" };
            let name = screen.paint.bold(&clean(&name));
            print(&format!("{name} version {version}{}", screen.paint.dim(remark)))?;
        }
        Ok(())
    }
}
