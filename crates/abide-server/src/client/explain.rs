//! `abide explain`.

use clap::Args;
use serde::Deserialize;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::record::{Clause, Verdict, Wait};
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::tell::{Iso, clean};

/// Arguments of `abide explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The published event
    event_id: String,
    /// The instance; without one, who took the event
    instance_id: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Deserialize)]
struct Explained {
    matched: bool,
    verdict: Verdict,
    #[serde(default)]
    takers: Vec<Taker>,
    explanations: Option<Vec<Explanation>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Taker {
    instance_id: String,
    taken_at: Option<Iso>,
}

/// What the event was to one wait.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Explanation {
    subscription: Wait,
    message: String,
    clauses: Vec<Clause>,
    #[serde(default)]
    lookback_cut_short: bool,
}

impl ExplainArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        let asked = Asked::get(&["events", &self.event_id, "explain"])
            .query("instance", self.instance_id.as_ref());
        let answer = Api::new(&self.reach)?.ask(asked).await?;
        if self.reach.json {
            return print_json(&answer);
        }
        let (screen, explained): (_, Explained) = (Screen::new(), answer.read()?);
        let lines = match (&explained.explanations, &self.instance_id) {
            (Some(explanations), Some(instance)) => {
                of_one(&screen, instance, explained.matched, explanations)
            }
            _ => of_all(&screen, &explained),
        };
        print(&lines.join("\n"))
    }
}

fn of_one(
    screen: &Screen,
    instance: &str,
    matched: bool,
    explanations: &[Explanation],
) -> Vec<String> {
    let instance = screen.paint.bold(instance);
    let mut lines = vec![if matched {
        screen.paint.green(&format!("{instance} took it"))
    } else {
        screen.paint.yellow(&format!("{instance} did not take it"))
    }];
    if explanations.is_empty() {
        lines.push("it has never waited for a published event".to_owned());
    }
    for explanation in explanations {
        let Explanation { subscription, message, clauses, lookback_cut_short } = explanation;
        lines.push(String::new());
        lines.push(subscription.headline(screen));
        lines.push(format!("  {}", clean(message)));
        lines.extend(clauses.iter().map(|clause| format!("    {}", clause.line(screen))));
        if *lookback_cut_short {
            let short = "  it looks back further than the log goes, or than lookback.maxScanned";
            lines.push(screen.paint.yellow(short));
        }
    }
    lines
}

fn of_all(screen: &Screen, explained: &Explained) -> Vec<String> {
    let mut lines = explained.verdict.lines(screen);
    if !explained.takers.is_empty() {
        lines.push(format!("\n{}", screen.paint.dim("TAKEN SO FAR BY")));
    }
    for Taker { instance_id, taken_at } in &explained.takers {
        let when = taken_at.map(|at| screen.when(at)).unwrap_or_default();
        lines.push(format!("{}  {}", clean(instance_id), screen.paint.dim(&when)));
    }
    lines
}
