//! What an instance waits for.

use serde::Deserialize;

use super::NearMiss;
use crate::client::screen::Screen;
use crate::tell::{Cell, Iso, Table, clean, of_status};

/// A subscription.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct Wait {
    pub(in crate::client) id: String,
    workflow_instance_id: String,
    kind: Option<String>,
    event_pattern: String,
    filter_condition: Option<String>,
    timeout_at: Option<Iso>,
    status: String,
    wait_step_id: String,
    timeout_handler_step_id: Option<String>,
    count: Option<u32>,
    held: Option<usize>,
    #[serde(default)]
    pub(in crate::client) near_misses: Option<Vec<NearMiss>>,
}

/// Several.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct WaitList {
    pub(in crate::client) subscriptions: Vec<Wait>,
    pub(in crate::client) next_cursor: Option<String>,
}

impl Wait {
    pub(in crate::client) fn is_open(&self) -> bool {
        self.status == "active"
    }

    /// What it hears, for how long, what its filter is.
    pub(in crate::client) fn headline(&self, screen: &Screen) -> String {
        let kind = self.kind.as_deref().unwrap_or("event");
        let step = screen.paint.bold(&clean(&self.wait_step_id));
        let until = self.timeout_at.filter(|_| self.is_open()).map(|at| {
            let then = self.timeout_handler_step_id.as_deref().map(clean);
            let then = then.map(|step| format!(", then {step}")).unwrap_or_default();
            format!(" until {}{then}", screen.exactly(at))
        });
        let count = self.count.map(|count| format!(", {} of {count} came", self.held.unwrap_or(0)));
        let (until, count) = (until.unwrap_or_default(), count.unwrap_or_default());
        let status = if self.is_open() { String::new() } else { format!(" ({})", self.status) };
        format!("{step}: {kind} {}{count}{until}{status}", clean(&self.event_pattern))
    }

    /// Everything about it: the headline, the filter, what it nearly took clause by clause.
    pub(in crate::client) fn lines(&self, screen: &Screen) -> Vec<String> {
        let mut lines = vec![self.headline(screen)];
        if let Some(filter) = &self.filter_condition {
            lines.push(format!("  if {}", clean(filter)));
        }
        for miss in self.near_misses.iter().flatten() {
            lines.extend(miss.lines(screen).into_iter().map(|line| format!("  {line}")));
        }
        lines
    }

    pub(in crate::client) fn row(&self, screen: &Screen) -> Vec<Cell> {
        vec![
            self.id.as_str().into(),
            self.workflow_instance_id.as_str().into(),
            self.wait_step_id.as_str().into(),
            self.kind.as_deref().unwrap_or("event").into(),
            self.event_pattern.as_str().into(),
            of_status(&self.status),
            Cell::dim(self.timeout_at.map(|at| screen.when(at)).unwrap_or_default()),
            Cell::dim(self.filter_condition.as_deref().unwrap_or_default()),
        ]
    }

    pub(in crate::client) fn table() -> Table {
        Table::new(&["ID", "INSTANCE", "STEP", "KIND", "HEARS", "STATUS", "TIMEOUT", "FILTER"])
    }
}
