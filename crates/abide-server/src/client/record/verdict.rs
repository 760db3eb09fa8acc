//! What became of a published event.

use serde::Deserialize;

use crate::client::screen::Screen;
use crate::tell::{Fault, Iso, clean};

/// See the module.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct Verdict {
    event_id: String,
    seq: Option<i64>,
    matched_count: u64,
    started_count: u64,
    #[serde(default)]
    cancelled_count: u64,
    matched: Vec<Matched>,
    started: Vec<ByTrigger>,
    cancelled: Vec<ByTrigger>,
    deferred: Vec<ByTrigger>,
    failed: Vec<Failed>,
    duplicate: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Matched {
    subscription_id: String,
    instance_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ByTrigger {
    trigger: String,
    instance_id: Option<String>,
    until: Option<Iso>,
}

#[derive(Debug, Deserialize)]
struct Failed {
    trigger: String,
    error: Fault,
}

impl Verdict {
    /// Who took it, whom it started and cancelled, one line each.
    pub(in crate::client) fn lines(&self, screen: &Screen) -> Vec<String> {
        let mut lines = vec![self.headline(screen)];
        for Matched { subscription_id, instance_id } in &self.matched {
            let by = screen.paint.dim(&format!("({})", clean(subscription_id)));
            lines.push(screen.paint.green(&format!("  taken by {} ", clean(instance_id))) + &by);
        }
        let told = [
            ("started", &self.started),
            ("cancelled", &self.cancelled),
            ("will start", &self.deferred),
        ];
        for (word, by) in told.iter().flat_map(|(word, list)| list.iter().map(move |by| (word, by)))
        {
            let ByTrigger { trigger, instance_id, until } = by;
            let who = clean(instance_id.as_deref().unwrap_or_default());
            let at = until.map(|at| format!(" {}", screen.when(at))).unwrap_or_default();
            let by = screen.paint.dim(&format!("(trigger {})", clean(trigger)));
            lines.push(format!("  {word} {who}{at} {by}"));
        }
        for Failed { trigger, error } in &self.failed {
            let why = format!("  trigger {} failed: {}", clean(trigger), clean(&error.message));
            lines.push(screen.paint.red(&why));
        }
        let listed = self.matched.len() + self.started.len() + self.cancelled.len();
        let all = self.matched_count + self.started_count + self.cancelled_count;
        if all > listed as u64 {
            lines.push(screen.paint.dim(&format!("  and {} more", all - listed as u64)));
        }
        lines
    }

    fn headline(&self, screen: &Screen) -> String {
        let place = match self.seq {
            Some(seq) => format!(" (number {seq} of the log)"),
            None => " (dry run: nothing was done)".to_owned(),
        };
        let again = if self.duplicate { ", which had come before" } else { "" };
        let event = screen.paint.bold(&clean(&self.event_id));
        let nobody = self.matched_count + self.started_count + self.cancelled_count == 0
            && self.deferred.is_empty();
        let what = if nobody {
            screen.paint.yellow("nobody wanted it yet; it stays in the log")
        } else {
            format!(
                "taken by {}, started {}, cancelled {}",
                self.matched_count, self.started_count, self.cancelled_count
            )
        };
        format!("{event}{place}{again}: {what}")
    }
}
