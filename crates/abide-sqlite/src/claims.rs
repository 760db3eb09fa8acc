//! Who runs what: the claims, in memory.
//!
//! The lock on the file makes this process the only owner, so a claim needs no row: a process that
//! died takes its claims with it. A claim also keeps what a commit would have to look up: the run,
//! the next number of the history, the id, and whether there may be waits or mail to look after.
//!
//! Changes are journalled until the batch they belong to is durable, and undone if it is not.

use abide::store::Epoch;
use abide::{InstanceId, InstanceKey};
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
    /// Whether it may have open waits or something buffered. Only ever becomes true: an instance
    /// that never waited ends without looking.
    pub(crate) has_mail: bool,
    /// Whether it may have something buffered that was sent without waking: every commit looks.
    pub(crate) has_quiet: bool,
}

/// Room that is kept even when hardly anything is claimed.
const ROOM: usize = 4096;

/// All claims of this process.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    current: HashMap<InstanceKey, Claim>,
    last_epoch: i64,
    journal: Vec<Undo>,
}

/// How to take back one change. Numbers change with every commit, so they have a small one.
#[derive(Debug)]
enum Undo {
    NextSeq(InstanceKey, i64),
    Quiet(InstanceKey),
    Claim(InstanceKey, Option<Claim>),
}

/// A place in the journal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl Claims {
    pub(crate) fn get(&self, key: InstanceKey) -> Option<&Claim> {
        self.current.get(&key)
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
    ) -> Epoch {
        self.last_epoch += 1;
        let epoch = Epoch(self.last_epoch);
        let (has_mail, has_quiet) = (false, false);
        let arrived = 0;
        let claim = Claim { epoch, run, next_seq, arrived, id, has_parent, has_mail, has_quiet };
        let before = self.current.insert(key, claim);
        self.journal.push(Undo::Claim(key, before));
        epoch
    }

    pub(crate) fn remove(&mut self, key: InstanceKey) {
        if let Some(claim) = self.current.remove(&key) {
            self.shrink();
            self.journal.push(Undo::Claim(key, Some(claim)));
        }
    }

    /// Gives room back after a crowd has left.
    fn shrink(&mut self) {
        let room = self.current.capacity();
        if room > ROOM && self.current.len() < room / 4 {
            self.current.shrink_to(room / 2);
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

    /// Notes that an instance may have open waits or something buffered. Not taken back with its
    /// batch: whoever ends it then looks and finds nothing.
    pub(crate) fn note_mail(&mut self, key: InstanceKey) {
        if let Some(claim) = self.current.get_mut(&key) {
            claim.has_mail = true;
        }
    }

    /// Notes that an instance may have something that was sent without waking. Not taken back with
    /// its batch: its next commit then looks and finds nothing.
    pub(crate) fn note_quiet(&mut self, key: InstanceKey) {
        if let Some(claim) = self.current.get_mut(&key) {
            claim.has_quiet = true;
        }
    }

    /// Notes that nothing of an instance is left that was sent without waking.
    pub(crate) fn clear_quiet(&mut self, key: InstanceKey) {
        if let Some(claim) = self.current.get_mut(&key).filter(|claim| claim.has_quiet) {
            self.journal.push(Undo::Quiet(key));
            claim.has_quiet = false;
        }
    }

    /// Voids every claim.
    pub(crate) fn clear(&mut self) {
        self.current.clear();
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
                Some(Undo::Quiet(key)) => self.note_quiet(key),
                Some(Undo::Claim(key, Some(claim))) => {
                    self.current.insert(key, claim);
                }
                Some(Undo::Claim(key, None)) => {
                    self.current.remove(&key);
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
        let epoch = claims.insert(kept, id.clone(), 1, 5, false);
        claims.insert(ended, id.clone(), 1, 1, false);
        claims.note_quiet(kept);
        claims.settle();

        let mark = claims.mark();
        claims.advance(kept, 6);
        claims.clear_quiet(kept);
        claims.insert(kept, id.clone(), 1, 6, false);
        claims.remove(ended);
        claims.insert(InstanceKey(3), id, 1, 1, false);
        claims.undo_to(mark);

        let claim = claims.held(kept, epoch, 1).unwrap();
        assert_eq!((claim.next_seq, claim.has_quiet), (5, true));
        assert!(claims.get(ended).is_some());
        assert!(claims.get(InstanceKey(3)).is_none());
    }

    #[test]
    fn a_stale_release_leaves_the_new_claim_alone() {
        let mut claims = Claims::default();
        let id = InstanceId::new("i").unwrap();
        let stale = claims.insert(InstanceKey(1), id.clone(), 1, 1, false);
        let current = claims.insert(InstanceKey(1), id, 1, 1, false);
        claims.release(InstanceKey(1), stale);
        assert!(claims.held(InstanceKey(1), current, 1).is_some());
    }
}
