//! Forgetting instances that ended long ago.

use abide::{InstanceKey, Timestamp};

use super::state::State;

impl State {
    /// Deletes what ended first, first. Children of a pruned instance stay: they have their own
    /// lives.
    pub(super) fn prune(&mut self, ended_before: Timestamp, limit: usize) -> usize {
        let mut ended: Vec<(Timestamp, InstanceKey)> = self
            .kept
            .values()
            .filter_map(|kept| Some((kept.instance.completed_at?, kept.instance.key)))
            .filter(|(ended_at, _)| *ended_at < ended_before)
            .collect();
        ended.sort();
        ended.truncate(limit);
        for (_, key) in &ended {
            if let Some(kept) = self.kept.remove(key) {
                self.keys.remove(&kept.instance.id);
                self.rows.retain(|_, row| row.key != *key);
            }
        }
        ended.len()
    }
}
