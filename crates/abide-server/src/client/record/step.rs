//! A step of a run.

use serde::Deserialize;
use serde_json::Value;

use crate::client::screen::Screen;
use crate::tell::{Cell, Fault, Iso, Table, brief_of_event, for_how_long, of_status};

/// See the module.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct Step {
    name: String,
    kind: String,
    status: String,
    attempts: u32,
    output: Option<Value>,
    error: Option<Fault>,
    started_at: Iso,
    completed_at: Option<Iso>,
    wake_at: Option<Iso>,
    child_id: Option<String>,
    #[serde(default)]
    cached: bool,
}

impl Step {
    pub(in crate::client) fn table() -> Table {
        Table::new(&["STEP", "KIND", "STATUS", "TRIES", "BEGAN", "TOOK", "RESULT"])
    }

    pub(in crate::client) fn row(&self, screen: &Screen) -> Vec<Cell> {
        let took = self.completed_at.map(|at| for_how_long(at.0.since(self.started_at.0)));
        let until = || self.wake_at.map(|at| format!("wakes {}", screen.when(at)));
        vec![
            self.name.as_str().into(),
            Cell::dim(&self.kind),
            of_status(&self.status),
            Cell::dim(self.tries()),
            Cell::dim(screen.when(self.started_at)),
            Cell::dim(took.or_else(until).unwrap_or_default()),
            self.result(),
        ]
    }

    /// Waits have none.
    fn tries(&self) -> String {
        if self.attempts == 0 { String::new() } else { self.attempts.to_string() }
    }

    fn result(&self) -> Cell {
        if let Some(error) = &self.error {
            return Cell::coloured(format!("{} ({})", error.message, error.code), |paint, text| {
                paint.red(text)
            });
        }
        let kept = if self.cached { Some("kept from an earlier run".to_owned()) } else { None };
        let child = self.child_id.as_ref().map(|id| format!("child {id}"));
        let output = self.output.as_ref().filter(|value| !value.is_null()).map(brief_of_event);
        let parts: Vec<String> = [kept, child, output].into_iter().flatten().collect();
        parts.join(", ").into()
    }
}
