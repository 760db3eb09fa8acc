//! `abide send`, `abide signal` and `abide message`: what is addressed to one instance.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use super::{new_id, payload};
use crate::error::Error;
use crate::tell::clean;

/// What all of them take.
#[derive(Debug, Args)]
struct Sending {
    /// What comes with it
    #[arg(value_name = payload::FORM)]
    payload: Option<String>,
    /// Choose its id: sent again with the same one, it is answered as the first time
    #[arg(long = "id", value_name = "ID")]
    event_id: Option<String>,
    /// Not to be seen for so long, like "10 minutes"
    #[arg(long, value_name = "DURATION")]
    delay: Option<String>,
    /// Accept it although the instance has ended
    #[arg(long)]
    ignore_ended: bool,
    /// Answer after the instance came to rest, at most so long [default: 5s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "5s")]
    settle: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

/// Arguments of `abide send`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  abide send wf_0192 approval '{\"approved\": true}'
  abide send order-42 shipped @shipment.json --id shipment-7")]
pub(crate) struct SendArgs {
    /// The instance
    #[arg(value_name = "ID")]
    instance: String,
    /// The type of the event
    #[arg(value_name = "TYPE")]
    event_type: String,
    #[command(flatten)]
    sending: Sending,
}

/// Arguments of `abide signal`.
#[derive(Debug, Args)]
pub(crate) struct SignalArgs {
    /// The instance
    #[arg(value_name = "ID")]
    instance: String,
    /// The signal
    name: String,
    /// Store it without resuming a wait that is open
    #[arg(long)]
    no_wake: bool,
    #[command(flatten)]
    sending: Sending,
}

/// Arguments of `abide message`.
#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// The instance
    #[arg(value_name = "ID")]
    instance: String,
    /// The topic
    topic: String,
    /// The instance it is sent on behalf of
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    #[command(flatten)]
    sending: Sending,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    event_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_instance_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wake: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_terminal: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
}

impl SendArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let own = Body { event_type: Some(self.event_type), ..Body::default() };
        self.sending.send(&["instances", &self.instance, "events"], own).await
    }
}

impl SignalArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let own = Body { wake: self.no_wake.then_some(false), ..Body::default() };
        self.sending.send(&["instances", &self.instance, "signals", &self.name], own).await
    }
}

impl MessageArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let (topic, source_instance_id) = (Some(self.topic), self.from);
        let own = Body { topic, source_instance_id, ..Body::default() };
        self.sending.send(&["instances", &self.instance, "messages"], own).await
    }
}

/// What became of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delivered {
    event_id: String,
    delivered: u32,
    buffered: bool,
    status: Option<String>,
}

impl Sending {
    async fn send(self, path: &[&str], own: Body) -> Result<(), Error> {
        let body = Body {
            payload: payload::read_if_any(self.payload.as_deref())?,
            id: self.event_id.unwrap_or_else(|| new_id("evt")),
            on_terminal: self.ignore_ended.then_some("ignore"),
            delay: self.delay,
            ..own
        };
        let asked = Asked::post(path).query("settle", self.settle).json(&body)?.repeatable();
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let Delivered { event_id, delivered, buffered, status } = answer.read()?;
        let screen = Screen::new();
        let what = match (delivered, buffered) {
            (0, true) => screen.paint.yellow("kept until somebody waits for it"),
            (0, false) => screen.paint.yellow("not kept: nobody waits for it"),
            (1, _) => screen.paint.green("delivered"),
            (many, _) => screen.paint.green(&format!("delivered to {many} waits")),
        };
        let now = status.map(|status| format!("; now {}", clean(&status))).unwrap_or_default();
        print(&format!("{}  {what}{now}", screen.paint.bold(&clean(&event_id))))
    }
}
