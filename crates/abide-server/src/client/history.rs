//! `abide history`.

use clap::Args;
use serde::Deserialize;

use super::api::{Api, Asked};
use super::reach::Reach;
use super::screen::{Screen, print, print_json};
use crate::error::Error;
use crate::tell::{Cell, Happening, Iso, Table, brief, clock, day_and_clock};

/// Arguments of `abide history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The instance
    id: String,
    /// Behind this number
    #[arg(long, value_name = "N")]
    after: Option<i64>,
    /// How many at most [default: all; with --json, a page of 100]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    events: Vec<Numbered>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Numbered {
    seq: i64,
    #[serde(flatten)]
    told: Happening,
}

impl HistoryArgs {
    pub(super) async fn run(self) -> Result<(), Error> {
        const MOST_AT_ONCE: usize = 1000;
        let api = Api::new(&self.reach)?;
        let mut after = self.after.map(|after| after.to_string());
        let (screen, mut shown, mut day) = (Screen::new(), 0, None);
        loop {
            let left = self.limit.map(|limit| limit.saturating_sub(shown).min(MOST_AT_ONCE));
            let asked = Asked::get(&["instances", &self.id, "history"])
                .query("after", after)
                .query("limit", left);
            let answer = api.ask(asked).await?;
            if self.reach.json {
                return print_json(&answer);
            }
            let Page { events, next_cursor } = answer.read()?;
            if shown == 0
                && let Some(Iso(at)) = events.first().and_then(|first| first.told.time)
            {
                print(&screen.paint.dim(&day_and_clock(at)))?;
                day = Some(at);
            }
            shown += events.len();
            print(&table(&events).render(screen.paint))?;
            after = next_cursor.filter(|_| self.limit.is_none_or(|limit| shown < limit));
            if after.is_none() || day.is_none() {
                return Ok(());
            }
        }
    }
}

fn table(events: &[Numbered]) -> Table {
    let mut table = Table::new(&["#", "TIME", "WHAT", "NAME", ""]);
    for Numbered { seq, told } in events {
        let failed = told.error.as_ref().map(|it| format!("{} ({})", it.message, it.code));
        let value = told.payload.as_ref().map(brief);
        let hears = told.pattern.as_ref().map(|pattern| format!("hears {pattern}"));
        let rest = [failed, told.reason.clone(), hears, value].into_iter().flatten();
        table.row(vec![
            Cell::dim(seq.to_string()),
            Cell::dim(told.time.map(|Iso(at)| clock(at)).unwrap_or_default()),
            told.what.as_str().into(),
            Cell::bold(told.name.as_deref().unwrap_or_default()),
            rest.collect::<Vec<_>>().join(", ").into(),
        ]);
    }
    table
}
