//! `abide token`.

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{print, print_json};
use crate::error::Error;

/// Arguments of `abide token`.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token; it is shown once and stored only as a hash
    New(NewArgs),
}

#[derive(Debug, Args)]
struct NewArgs {
    /// For whom or what it is
    #[arg(long)]
    name: Option<String>,
    /// What it allows, separated by commas: read, write, admin
    #[arg(long, value_delimiter = ',', default_value = "read,write")]
    scopes: Vec<String>,
    /// How long it is good for, like "90 days" [default: for ever]
    #[arg(long, value_name = "DURATION")]
    expires_in: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    scopes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<&'a str>,
}

#[derive(Deserialize)]
struct Made {
    token: String,
}

impl TokenArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let TokenCommand::New(args) = self.command;
        let body = Body {
            name: args.name.as_deref(),
            scopes: &args.scopes,
            expires_in: args.expires_in.as_deref(),
        };
        let asked = Asked::post(&["tokens"]).json(&body)?;
        let answer = Api::new(&args.reach)?.ask(asked).await?;
        if args.reach.json {
            return print_json(&answer);
        }
        print(&answer.read::<Made>()?.token)?;
        eprintln!("keep it: it is not shown again. Use it as ABIDE_TOKEN or --token.");
        Ok(())
    }
}
