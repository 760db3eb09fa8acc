//! `abide publish`.

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::Verdict;
use super::screen::{Screen, print, print_json};
use super::{new_id, payload};
use crate::error::Error;

/// Arguments of `abide publish`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  abide publish payment.received '{\"orderId\": \"o-1\", \"amount\": 120}'
  abide publish order.placed @order.json --dry-run")]
pub(crate) struct PublishArgs {
    /// The type of the event
    #[arg(value_name = "TYPE")]
    event_type: String,
    /// What comes with it
    #[arg(value_name = payload::FORM)]
    payload: Option<String>,
    /// Only tell who would take it
    #[arg(long)]
    dry_run: bool,
    /// Choose its id: published again with the same one and the same source, it changes nothing
    #[arg(long)]
    id: Option<String>,
    /// Where it comes from
    #[arg(long)]
    source: Option<String>,
    /// What it is about
    #[arg(long)]
    subject: Option<String>,
    /// What ties it to instances
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(rename = "type")]
    event_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
}

impl PublishArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let body = Body {
            event_type: self.event_type,
            payload: payload::read_if_any(self.payload.as_deref())?,
            id: self.id.unwrap_or_else(|| new_id("evt")),
            source: self.source,
            subject: self.subject,
            correlation_id: self.correlation_id,
        };
        let dry = self.dry_run.then_some("true");
        let asked = Asked::post(&["events"]).query("dryRun", dry).json(&body)?.repeatable();
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        print(&answer.read::<Verdict>()?.lines(&Screen::new()).join("\n"))
    }
}
