//! `abide start`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::value::RawValue;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::Instance;
use super::screen::{Screen, print, print_json};
use super::{new_id, outcome, payload};
use crate::error::Error;

/// Arguments of `abide start`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  abide start approval --input '{\"document\": \"plan.pdf\"}'
  abide start order --id order-42 --input @order.json --wait
  echo '{\"n\": 1}' | abide start count --input - --wait=5m --json")]
pub(crate) struct StartArgs {
    /// The workflow
    workflow: String,
    /// Choose its id, so that starting it twice is noticed [default: a new one]
    #[arg(long)]
    id: Option<String>,
    /// What it begins with
    #[arg(long, value_name = payload::FORM)]
    input: Option<String>,
    /// What to do when the id is taken [default: error]
    #[arg(long, value_enum, value_name = "WHAT", requires = "id")]
    if_exists: Option<IfExists>,
    /// Not to begin before this moment, like 2026-03-01T12:00:00Z
    #[arg(long, value_name = "TIME")]
    start_at: Option<String>,
    /// What ties it to events and other instances
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    /// A label to find it by; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Let it fail when it takes longer, like "2 hours"
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    /// Wait for its end and show what it came to [default: 30s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "30s", value_parser = duration)]
    wait: Option<Duration>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum IfExists {
    /// Refuse
    Error,
    /// Answer the one that is there
    Return,
}

/// A duration as the server understands it.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    abide::parse_duration(text).map_err(|wrong| wrong.to_string())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    if_exists: Option<IfExists>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
}

impl StartArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let api = Api::new(&self.reach)?;
        let is_own_id = self.id.is_none();
        let body = Body {
            // Nobody else can have an id that was made just now: if it is there, it is ours.
            if_exists: self.if_exists.or(is_own_id.then_some(IfExists::Return)),
            id: self.id.unwrap_or_else(|| new_id("wf")),
            input: payload::read_if_any(self.input.as_deref())?,
            start_at: self.start_at,
            correlation_id: self.correlation_id,
            tags: self.tags,
            timeout: self.timeout,
        };
        let path = ["workflows", &self.workflow, "instances"];
        let mut asked = Asked::post(&path).json(&body)?;
        if matches!(body.if_exists, Some(IfExists::Return)) {
            asked = asked.repeatable();
        }
        let answer = api.ask(asked).await?;
        match self.wait {
            Some(patience) => {
                let id = answer.read::<Instance>()?.id;
                outcome::wait_for(&api, &id, patience, self.reach.json).await
            }
            None if self.reach.json => print_json(&answer),
            None => print(&answer.read::<Instance>()?.line(&Screen::new())),
        }
    }
}
