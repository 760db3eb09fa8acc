//! One execution of a workflow.

use serde::Deserialize;
use serde_json::Value;

use super::{Step, Wait};
use crate::client::screen::Screen;
use crate::tell::{Cell, Fault, Iso, Table, brief, of_status};

/// See the module. Steps and waits are told of one, not in lists.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct Instance {
    pub(in crate::client) id: String,
    workflow: String,
    version: u32,
    run: u32,
    pub(in crate::client) status: String,
    queued_reason: Option<String>,
    input: Value,
    context: Value,
    output: Option<Value>,
    error: Option<Fault>,
    correlation_id: Option<String>,
    parent_id: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    pub(in crate::client) waits: Vec<Wait>,
    created_at: Iso,
    updated_at: Iso,
    completed_at: Option<Iso>,
    wake_at: Option<Iso>,
    timeout_at: Option<Iso>,
}

/// A page of them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct InstanceList {
    pub(in crate::client) instances: Vec<Instance>,
    pub(in crate::client) next_cursor: Option<String>,
}

impl Instance {
    /// In one line: which, what, how it is.
    pub(in crate::client) fn line(&self, screen: &Screen) -> String {
        let mut table = Table::without_heading();
        let mut row = vec![Cell::bold(&self.id), self.named().into(), of_status(&self.status)];
        row.push(Cell::dim(self.remark(screen)));
        table.row(row);
        table.render(screen.paint)
    }

    /// Why it is as it is, when there is something to say.
    fn remark(&self, screen: &Screen) -> String {
        if let Some(error) = &self.error {
            return format!("{} ({})", error.message, error.code);
        }
        if let Some(reason) = &self.queued_reason {
            return reason.clone();
        }
        let open = self.waits.iter().find(|wait| wait.is_open());
        match (self.status.as_str(), open, self.wake_at) {
            ("waiting", Some(wait), _) => wait.headline(screen),
            ("sleeping", _, Some(at)) => format!("until {}", screen.when(at)),
            ("completed", ..) => self.output.as_ref().map(brief).unwrap_or_default(),
            _ => String::new(),
        }
    }

    fn named(&self) -> String {
        let again = if self.run > 1 { format!(" run {}", self.run) } else { String::new() };
        format!("{} v{}{again}", self.workflow, self.version)
    }

    pub(in crate::client) fn table() -> Table {
        Table::new(&["ID", "WORKFLOW", "STATUS", "CREATED", "UPDATED", ""])
    }

    pub(in crate::client) fn row(&self, screen: &Screen) -> Vec<Cell> {
        vec![
            self.id.as_str().into(),
            self.named().into(),
            of_status(&self.status),
            Cell::dim(screen.when(self.created_at)),
            Cell::dim(screen.when(self.updated_at)),
            Cell::dim(self.remark(screen)),
        ]
    }

    /// Everything about it.
    pub(in crate::client) fn in_full(&self, screen: &Screen) -> String {
        let mut text = self.header(screen);
        if !self.steps.is_empty() {
            let mut table = Step::table();
            self.steps.iter().for_each(|step| table.row(step.row(screen)));
            text += &format!("\n{}", table.render(screen.paint));
        }
        let open: Vec<_> = self.waits.iter().filter(|wait| wait.is_open()).collect();
        if !open.is_empty() {
            text += &format!("\n{}\n", screen.paint.dim("WAITS FOR"));
            for line in open.iter().flat_map(|wait| wait.lines(screen)) {
                text += &format!("{line}\n");
            }
        }
        text
    }

    fn header(&self, screen: &Screen) -> String {
        let mut table = Table::without_heading();
        let mut fact = |name: &str, cell: Cell| table.row(vec![Cell::dim(name), cell]);
        fact("instance", Cell::bold(&self.id));
        fact("workflow", self.named().into());
        fact("status", of_status(&self.status));
        let mut text = |name: &str, value: Option<String>| {
            value.into_iter().for_each(|value| fact(name, value.into()));
        };
        text("because", self.queued_reason.clone());
        text("error", self.error.as_ref().map(|it| format!("{} ({})", it.message, it.code)));
        text("output", self.output.as_ref().map(Value::to_string));
        text("input", Some(self.input.to_string()));
        text("context", Some(self.context.to_string()).filter(|_| self.context != self.input));
        text("correlation", self.correlation_id.clone());
        text("parent", self.parent_id.clone());
        text("tags", Some(self.tags.join(", ")).filter(|tags| !tags.is_empty()));
        text("created", Some(screen.exactly(self.created_at)));
        text("updated", Some(screen.exactly(self.updated_at)));
        text("ended", self.completed_at.map(|at| screen.exactly(at)));
        text("fails", self.timeout_at.map(|at| screen.exactly(at)));
        table.render(screen.paint)
    }
}

/// Whether an instance that ended like this did what it should.
pub(in crate::client) fn is_good_end(status: &str) -> bool {
    status == "completed"
}
