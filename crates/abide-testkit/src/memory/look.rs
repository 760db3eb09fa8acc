//! Looking at what is kept, without changing it.

use abide::history::Recorded;
use abide::store::Due;
use abide::{
    Error, Filter, Instance, InstanceId, InstanceKey, Listed, Page, Phase, Result, Timestamp,
};

use super::state::{State, is_numbered};

impl State {
    /// What nobody runs though it should be running, or could begin at any time.
    pub(super) fn runnable(&self, after: InstanceKey, limit: usize) -> Vec<InstanceKey> {
        let should_run = |instance: &Instance| match instance.phase {
            Phase::Running => !instance.paused,
            Phase::Queued => !instance.paused && instance.wake_at.is_none(),
            _ => false,
        };
        self.kept
            .values()
            .filter(|kept| kept.claim.is_none() && should_run(&kept.instance))
            .map(|kept| kept.instance.key)
            .filter(|key| *key > after)
            .take(limit)
            .collect()
    }

    /// What wants to be woken before `until`. A pause is left in place by time, so paused
    /// instances are not among them.
    pub(super) fn due(&self, after: Due, until: Timestamp, limit: usize) -> Vec<Due> {
        let mut due: Vec<Due> = self
            .kept
            .values()
            .map(|kept| &kept.instance)
            .filter(|instance| !instance.paused)
            .filter_map(|instance| Some(Due { at: instance.wake_at?, key: instance.key }))
            .filter(|due| *due > after && due.at < until)
            .collect();
        due.sort();
        due.truncate(limit);
        due
    }

    pub(super) fn instance(&self, id: &InstanceId) -> Option<Instance> {
        let key = self.keys.get(id)?;
        self.kept.get(key).map(|kept| kept.instance.clone())
    }

    /// Newest first. A full page may have a next one.
    pub(super) fn instances(&self, filter: &Filter, page: Page) -> Listed {
        let instances: Vec<Instance> = self
            .kept
            .values()
            .rev()
            .map(|kept| &kept.instance)
            .filter(|instance| page.before.is_none_or(|before| instance.key < before))
            .filter(|instance| filter.matches(instance))
            .take(page.limit)
            .cloned()
            .collect();
        let is_full = instances.len() == page.limit;
        let next = instances.last().map(|oldest| oldest.key).filter(|_| is_full);
        Listed { instances, next }
    }

    /// The entries of all runs.
    pub(super) fn history(
        &self,
        id: &InstanceId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Recorded>> {
        let Some(kept) = self.keys.get(id).and_then(|key| self.kept.get(key)) else {
            return Err(Error::InstanceNotFound { id: id.clone() });
        };
        let wanted = |recorded: &&Recorded| is_numbered(recorded) && recorded.seq > after;
        Ok(kept.history.iter().filter(wanted).take(limit).cloned().collect())
    }
}
