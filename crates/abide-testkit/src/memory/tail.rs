//! The history of all instances, in the order of commits.

use abide::{InstanceKey, Tail, TailRow};

use super::state::{Kept, State, is_numbered};

/// One row of the history of an instance: which of its entries.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) key: InstanceKey,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl State {
    pub(super) fn tail(&self, after: i64, limit: usize) -> Tail {
        let rows = self.rows.range(after.saturating_add(1)..);
        let rows = rows.filter_map(|(row, place)| self.shown(*row, *place)).take(limit).collect();
        Tail { rows, head: self.last_row }
    }

    /// A row as it is shown, if it has something to show and its instance is still there.
    fn shown(&self, row: i64, Row { key, from, to }: Row) -> Option<TailRow> {
        let Kept { instance, history, .. } = self.kept.get(&key)?;
        let recorded: Vec<_> =
            history[from..to].iter().filter(|recorded| is_numbered(recorded)).cloned().collect();
        let (id, workflow) = (instance.id.clone(), instance.workflow.clone());
        let status = instance.status();
        (!recorded.is_empty()).then_some(TailRow { row, key, id, workflow, status, recorded })
    }
}
