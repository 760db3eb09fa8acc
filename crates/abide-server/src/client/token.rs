//! `abide token`.

use std::time::Duration;

use abide::{Clock, SystemClock};
use abide_server::{NewToken, Scope, TokenTerms, make_token};
use abide_sqlite::SqliteStore;
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{print, print_json};
use super::start::duration;
use crate::error::Error;
use crate::store_at::StoreAt;

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
    #[arg(long, value_delimiter = ',', default_value = "admin", value_parser = scope)]
    scopes: Vec<Scope>,
    /// How long it is good for, like "90 days" [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires_in: Option<Duration>,
    /// Put it into this store, which no server has open, instead of asking a server
    #[arg(long, value_name = "sqlite:FILE")]
    store: Option<StoreAt>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    scopes: &'a [Scope],
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<u64>,
}

fn scope(word: &str) -> Result<Scope, String> {
    let known = [Scope::Read, Scope::Write, Scope::Admin];
    let found = known.into_iter().find(|scope| scope.as_str() == word);
    found.ok_or_else(|| "write read, write or admin".to_owned())
}

#[derive(Deserialize)]
struct Made {
    token: String,
}

impl TokenArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let TokenCommand::New(args) = self.command;
        match &args.store {
            Some(at) => args.make_in(at).await,
            None => args.ask_for().await,
        }
    }
}

impl NewArgs {
    async fn ask_for(&self) -> Result<(), Error> {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let body = Body {
            name: self.name.as_deref(),
            scopes: &self.scopes,
            expires_in: self.expires_in.map(ms),
        };
        let asked = Asked::post(&["tokens"]).json(&body)?;
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        show(&answer.read::<Made>()?.token)
    }

    async fn make_in(&self, at: &StoreAt) -> Result<(), Error> {
        let store = SqliteStore::open(&at.file).await?;
        let now = SystemClock::default().now();
        let terms = TokenTerms {
            name: self.name.clone(),
            scopes: self.scopes.clone(),
            now,
            expires_at: self.expires_in.map(|span| now.after(span)),
        };
        let made = make_token(&store, terms).await;
        store.close().await?;
        let (id, NewToken { secret, .. }) = made?;
        if self.reach.json {
            return print(&json!({ "id": id, "token": secret }).to_string());
        }
        show(&secret)
    }
}

/// The token alone, so that a script can take it.
fn show(token: &str) -> Result<(), Error> {
    print(token)?;
    eprintln!("keep it: it is not shown again. Use it as ABIDE_TOKEN or --token.");
    Ok(())
}
