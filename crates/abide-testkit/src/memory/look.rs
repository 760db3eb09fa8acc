//! Looking at what is kept, without changing it.

use abide::history::Recorded;
use abide::metrics::Census;
use abide::store::{Due, Overview};
use abide::{
    Buffered, Error, Filter, Instance, InstanceId, InstanceKey, Listed, Output, Page, Phase,
    Result, Timestamp, WaitFilter,
};

use super::state::{Kept, State, is_numbered};

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

    /// What wants to be woken before `until`. Clocks go on under a pause; only a start waits for the
    /// resume.
    pub(super) fn due(&self, after: Due, until: Timestamp, limit: usize) -> Vec<Due> {
        let mut due: Vec<Due> = self
            .kept
            .values()
            .map(|kept| &kept.instance)
            .filter(|instance| !(instance.paused && instance.phase == Phase::Queued))
            .filter_map(|instance| Some(Due { at: instance.wake_at?, key: instance.key }))
            .filter(|due| *due > after && due.at < until)
            .collect();
        due.sort();
        due.truncate(limit);
        due
    }

    /// What an instance keeps for later, by visible time, then acceptance.
    pub(super) fn buffer(&self, id: &InstanceId) -> Result<Vec<Buffered>> {
        let pending = self.known(id)?.mailbox.pending();
        Ok(pending.into_iter().map(|mail| mail.sent.clone()).collect())
    }

    /// An instance with what belongs to it.
    pub(super) fn overview(&self, id: &InstanceId) -> Option<Overview> {
        let instance = self.instance(id)?;
        let filter = WaitFilter { instance: Some(id.clone()), ..WaitFilter::default() };
        Some(Overview {
            history: self.history(id, instance.run_seq - 1, usize::MAX).ok()?,
            waits: self.waits(&filter),
            instance,
        })
    }

    pub(super) fn outputs(&self, id: &InstanceId) -> Result<Vec<Output>> {
        Ok(self.known(id)?.outputs.values().cloned().collect())
    }

    /// Counts everything.
    pub(super) fn census(&self) -> Census {
        let mut census = Census::default();
        for kept in self.kept.values() {
            census.add(kept.instance.status(), 1);
            census.open_waits += kept.mailbox.open().len() as u64;
            census.buffered += kept.mailbox.pending().len() as u64;
        }
        census
    }

    pub(super) fn known(&self, id: &InstanceId) -> Result<&Kept> {
        let found = self.keys.get(id).and_then(|key| self.kept.get(key));
        found.ok_or_else(|| Error::InstanceNotFound { id: id.clone() })
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
        let kept = self.known(id)?;
        let wanted = |recorded: &&Recorded| is_numbered(recorded) && recorded.seq > after;
        Ok(kept.history.iter().filter(wanted).take(limit).cloned().collect())
    }
}
