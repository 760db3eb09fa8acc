//! Creating instances, from outside and as children.

use std::collections::HashSet;

use abide::history::Entries;
use abide::lifecycle::{begins_later, begun, child_detached, child_refused};
use abide::store::{Hint, IfExists, Started};
use abide::{Error, Instance, InstanceKey, NewChild, NewInstance, Parent, Phase, Result};

use super::state::{Kept, State};

impl State {
    /// Creates a batch, or refuses all of it before anything is written.
    ///
    /// The ids of the batch are taken before any of it acts, so a child that a `first` starts
    /// under one of them is refused like any other.
    pub(super) fn start(
        &mut self,
        new: &[NewInstance],
        if_exists: IfExists,
    ) -> Result<Vec<Started>> {
        if if_exists == IfExists::Error {
            let mut ids = HashSet::new();
            for NewInstance { id, .. } in new {
                if self.keys.contains_key(id) || !ids.insert(id) {
                    return Err(Error::AlreadyExists { id: id.clone() });
                }
            }
        }
        let answers: Vec<Started> = new.iter().map(|new| self.create_or_find(new)).collect();
        for (new, answer) in new.iter().zip(&answers) {
            if let Started::Running { key, .. } = *answer {
                self.begin(key, new)?;
            }
        }
        Ok(answers)
    }

    fn create_or_find(&mut self, new: &NewInstance) -> Started {
        if let Some(key) = self.keys.get(&new.id) {
            return Started::Existing(*key);
        }
        let key = self.create(new, None);
        if self.is_queued(key) {
            return Started::Queued(key);
        }
        let epoch = self.next_epoch();
        self.kept.entry(key).and_modify(|kept| kept.claim = Some(epoch));
        Started::Running { key, epoch, created_at: self.now }
    }

    /// The first row of what begins now, and whatever its function already did.
    fn begin(&mut self, key: InstanceKey, new: &NewInstance) -> Result<()> {
        let first = new.first.clone().unwrap_or_default();
        self.record(key, &first.entries.after(&begun(new)).text())?;
        self.apply(key, &first, i64::MAX)
    }

    /// The first row of what begins now, for whoever runs it.
    pub(super) fn begin_unclaimed(&mut self, key: InstanceKey, new: &NewInstance) -> Result<()> {
        self.record(key, &Entries::of(&[begun(new)]).text())?;
        self.hints.push(Hint::Runnable(key));
        Ok(())
    }

    /// Starts a child of `parent`, who hears at once when it was refused or is not awaited.
    pub(super) fn start_child(&mut self, parent: InstanceKey, child: &NewChild) -> Result<()> {
        let new = &child.instance;
        if self.keys.contains_key(&new.id) {
            let refused = Error::AlreadyExists { id: new.id.clone() };
            return self.arrive(parent, &child_refused(child, &refused));
        }
        let by = &self.kept(parent)?.instance;
        let tie = Parent {
            key: parent,
            id: by.id.clone(),
            run: by.run,
            step: child.step.clone(),
            awaited: child.awaited,
        };
        let key = self.create(new, Some(tie));
        if !self.is_queued(key) {
            self.begin_unclaimed(key, new)?;
        }
        child_detached(child).map_or(Ok(()), |entry| self.arrive(parent, &entry))
    }

    /// A new instance without history: `running`, or `queued` when it begins later.
    pub(super) fn create(&mut self, new: &NewInstance, parent: Option<Parent>) -> InstanceKey {
        self.last_key += 1;
        let key = InstanceKey(self.last_key);
        let later = new.start_at.filter(|start| *start > self.now);
        let begins_at = later.unwrap_or(self.now);
        let consumed = new.consumes.filter(|seq| self.log.contains_key(seq));
        let instance = Instance {
            key,
            id: new.id.clone(),
            workflow: new.workflow.clone(),
            version: new.version,
            run: 1,
            phase: if later.is_some() { Phase::Queued } else { Phase::Running },
            paused: false,
            queued_reason: later.map(begins_later),
            input: new.input.clone(),
            context: None,
            output: None,
            error: None,
            correlation_id: new.correlation_id.clone(),
            parent,
            tags: new.tags.clone(),
            created_at: self.now,
            updated_at: self.now,
            completed_at: None,
            wake_at: later,
            timeout: new.timeout,
            timeout_at: new.timeout.map(|timeout| begins_at.after(timeout)),
            run_seq: 1,
            next_seq: 1,
            log_from: consumed.unwrap_or(self.last_published),
        };
        self.keys.insert(new.id.clone(), key);
        self.kept.insert(key, Kept::new(instance));
        consumed.into_iter().for_each(|seq| self.consume(key, seq));
        key
    }

    pub(super) fn is_queued(&self, key: InstanceKey) -> bool {
        self.kept.get(&key).is_some_and(|kept| kept.instance.phase == Phase::Queued)
    }
}
