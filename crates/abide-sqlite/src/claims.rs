//! Who runs what: the claims, in memory.
//!
//! The lock on the file makes this process the only owner, so a claim needs no row: a process that
//! died takes its claims with it. A claim also keeps what a commit would have to look up: the run,
//! the next number of the history, the id, and what there is of waits and mail to look after.
//!
//! Changes are journalled until the batch they belong to is durable, and undone if it is not.

use std::sync::Arc;

use abide::store::Epoch;
use abide::{InstanceId, InstanceKey, Wait};
use hashbrown::HashMap;

/// The right to run an instance, with what its commits need to know.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) epoch: Epoch,
    pub(crate) run: u32,
    pub(crate) next_seq: i64,
    /// The number of the last arrival since it was claimed.
    pub(crate) arrived: i64,
    pub(crate) id: InstanceId,
    pub(crate) has_parent: bool,
    /// The last published event before the run was accepted.
    pub(crate) log_from: i64,
    pub(crate) mail: Mail,
}

/// What is known of the waits and the mail of a claimed instance, so that nobody looks for what is
/// not there. What *may* be only ever becomes true.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mail {
    /// How many waits are open.
    pub(crate) open: u32,
    /// The open wait, if there is but one and it is known: most instances wait for one thing.
    pub(crate) only: Option<Arc<Wait>>,
    /// Whether one of them may have a deadline.
    pub(crate) timed: bool,
    /// Whether it may have accepted something, so that an id may be known.
    pub(crate) received: bool,
    /// Whether it may have something pending, delayed or held.
    pub(crate) kept: bool,
    /// Whether it may have something buffered that was sent without waking: every commit looks.
    pub(crate) quiet: bool,
}

impl Mail {
    /// What has to be expected of an instance that nobody claimed.
    pub(crate) const UNKNOWN: Self =
        Self { open: u32::MAX, only: None, timed: true, received: true, kept: true, quiet: true };

    /// Whether there may be anything to clear away at the end.
    pub(crate) fn is_any(&self) -> bool {
        self.open > 0 || self.kept
    }

    /// A wait is open from now on.
    pub(crate) fn opened(&mut self, wait: &Wait) {
        self.open = self.open.saturating_add(1);
        self.timed |= wait.timeout_at.is_some();
        // What a counted one holds changes while it is open.
        let is_only = self.open == 1 && wait.count.is_none();
        self.only = is_only.then(|| Arc::new(wait.clone()));
    }
}

/// Room that is kept even when hardly anything is claimed.
const ROOM: usize = 4096;

/// All claims of this process.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    current: HashMap<InstanceKey, Claim>,
    by_id: HashMap<InstanceId, InstanceKey>,
    last_epoch: i64,
    journal: Vec<Undo>,
}

/// How to take back one change. Numbers change with every commit, so they have a small one.
#[derive(Debug)]
enum Undo {
    NextSeq(InstanceKey, i64),
    Mail(InstanceKey, Mail),
    Claim(InstanceKey, Option<Claim>),
}

/// A place in the journal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl Claims {
    pub(crate) fn get(&self, key: InstanceKey) -> Option<&Claim> {
        self.current.get(&key)
    }

    /// The claimed instance of this id.
    pub(crate) fn by_id(&self, id: &InstanceId) -> Option<InstanceKey> {
        self.by_id.get(id).copied()
    }

    /// The claim of a runner, if it still holds it and speaks for the current run.
    pub(crate) fn held(&self, key: InstanceKey, epoch: Epoch, run: u32) -> Option<&Claim> {
        self.current.get(&key).filter(|claim| claim.epoch == epoch && claim.run == run)
    }

    /// Takes the next `numbered` numbers for a runner that still holds its claim; answers with the
    /// first of them.
    pub(crate) fn speak(
        &mut self,
        key: InstanceKey,
        epoch: Epoch,
        run: u32,
        numbered: u32,
    ) -> Option<i64> {
        let claim = self.current.get_mut(&key)?;
        if claim.epoch != epoch || claim.run != run {
            return None;
        }
        let first = claim.next_seq;
        self.journal.push(Undo::NextSeq(key, first));
        claim.next_seq += i64::from(numbered);
        Some(first)
    }

    /// Claims an instance, whoever had it before, under a number never used before.
    pub(crate) fn insert(
        &mut self,
        key: InstanceKey,
        id: InstanceId,
        run: u32,
        next_seq: i64,
        has_parent: bool,
        log_from: i64,
    ) -> Epoch {
        self.last_epoch += 1;
        let epoch = Epoch(self.last_epoch);
        let (arrived, mail) = (0, Mail::default());
        let claim = Claim { epoch, run, next_seq, arrived, id, has_parent, log_from, mail };
        let before = self.put(key, claim);
        self.journal.push(Undo::Claim(key, before));
        epoch
    }

    fn put(&mut self, key: InstanceKey, claim: Claim) -> Option<Claim> {
        self.by_id.insert(claim.id.clone(), key);
        self.current.insert(key, claim)
    }

    fn take(&mut self, key: InstanceKey) -> Option<Claim> {
        let claim = self.current.remove(&key)?;
        self.by_id.remove(&claim.id);
        Some(claim)
    }

    pub(crate) fn remove(&mut self, key: InstanceKey) {
        if let Some(claim) = self.take(key) {
            self.shrink();
            self.journal.push(Undo::Claim(key, Some(claim)));
        }
    }

    /// Gives room back after a crowd has left.
    fn shrink(&mut self) {
        let room = self.current.capacity();
        if room > ROOM && self.current.len() < room / 4 {
            self.current.shrink_to(room / 2);
            self.by_id.shrink_to(room / 2);
        }
    }

    /// Gives a claim back, unless someone else has taken it.
    pub(crate) fn release(&mut self, key: InstanceKey, epoch: Epoch) {
        if self.get(key).is_some_and(|claim| claim.epoch == epoch) {
            self.remove(key);
        }
    }

    /// Notes that the history of an instance has grown.
    pub(crate) fn advance(&mut self, key: InstanceKey, next_seq: i64) {
        if let Some(claim) = self.current.get_mut(&key) {
            self.journal.push(Undo::NextSeq(key, claim.next_seq));
            claim.next_seq = next_seq;
        }
    }

    /// Notes that something arrived at an instance. Not taken back with its batch: a runner that
    /// stays awake for nothing looks again and parks.
    pub(crate) fn arrived(&mut self, key: InstanceKey, seq: i64) {
        if let Some(claim) = self.current.get_mut(&key) {
            claim.arrived = seq;
        }
    }

    /// What is known of an instance's waits and mail.
    pub(crate) fn mail(&self, key: InstanceKey) -> Mail {
        self.get(key).map_or(Mail::UNKNOWN, |claim| claim.mail.clone())
    }

    /// Notes what became of an instance's waits and mail, if it is claimed.
    pub(crate) fn note(&mut self, key: InstanceKey, change: impl FnOnce(&mut Mail)) {
        if let Some(claim) = self.current.get_mut(&key) {
            self.journal.push(Undo::Mail(key, claim.mail.clone()));
            change(&mut claim.mail);
        }
    }

    /// Notes that a wait is no longer open.
    pub(crate) fn closed(&mut self, key: InstanceKey) {
        self.note(key, |mail| {
            mail.open = mail.open.saturating_sub(1);
            mail.only = None;
        });
    }

    /// Voids every claim.
    pub(crate) fn clear(&mut self) {
        self.current.clear();
        self.by_id.clear();
        self.journal.clear();
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.journal.len())
    }

    /// Takes back everything since a mark, newest first.
    pub(crate) fn undo_to(&mut self, mark: Mark) {
        while self.journal.len() > mark.0 {
            match self.journal.pop() {
                Some(Undo::NextSeq(key, next_seq)) => {
                    if let Some(claim) = self.current.get_mut(&key) {
                        claim.next_seq = next_seq;
                    }
                }
                Some(Undo::Mail(key, mail)) => {
                    if let Some(claim) = self.current.get_mut(&key) {
                        claim.mail = mail;
                    }
                }
                Some(Undo::Claim(key, Some(claim))) => {
                    self.put(key, claim);
                }
                Some(Undo::Claim(key, None)) => {
                    self.take(key);
                }
                None => return,
            }
        }
    }

    /// Forgets how to take back: the batch is durable.
    pub(crate) fn settle(&mut self) {
        self.journal.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undoing_a_batch_gives_back_claims_and_numbers() {
        let mut claims = Claims::default();
        let id = InstanceId::new("i").unwrap();
        let (kept, ended) = (InstanceKey(1), InstanceKey(2));
        let epoch = claims.insert(kept, id.clone(), 1, 5, false, 0);
        claims.insert(ended, InstanceId::new("e").unwrap(), 1, 1, false, 0);
        claims.note(kept, |mail| (mail.quiet, mail.open) = (true, 2));
        claims.settle();

        let mark = claims.mark();
        claims.advance(kept, 6);
        claims.note(kept, |mail| mail.quiet = false);
        claims.closed(kept);
        claims.insert(kept, id, 1, 6, false, 0);
        claims.remove(ended);
        claims.insert(InstanceKey(3), InstanceId::new("j").unwrap(), 1, 1, false, 0);
        claims.undo_to(mark);

        let claim = claims.held(kept, epoch, 1).unwrap();
        assert_eq!((claim.next_seq, claim.mail.quiet, claim.mail.open), (5, true, 2));
        assert!(claims.get(ended).is_some());
        assert!(claims.get(InstanceKey(3)).is_none());
        assert_eq!(claims.by_id(&InstanceId::new("j").unwrap()), None);
        assert_eq!(claims.by_id(&InstanceId::new("i").unwrap()), Some(kept));
    }

    #[test]
    fn a_stale_release_leaves_the_new_claim_alone() {
        let mut claims = Claims::default();
        let id = InstanceId::new("i").unwrap();
        let stale = claims.insert(InstanceKey(1), id.clone(), 1, 1, false, 0);
        let current = claims.insert(InstanceKey(1), id, 1, 1, false, 0);
        claims.release(InstanceKey(1), stale);
        assert!(claims.held(InstanceKey(1), current, 1).is_some());
    }
}
