//! Where what was sent and what is waited for meet.
//!
//! Whatever a verb finds out about one instance it tells in one row: it changes waits and entries
//! on the way, collects the history in a [`Tale`], and lets that happen at the end.

use std::collections::BTreeSet;

use abide::history::Entry;
use abide::meeting::{fulfilled, met_by};
use abide::{Buffered, Error, Hears, InstanceKey, Kind, Timestamp, Wait};

use super::batch::Batch;
use super::inbox::{Candidate, State};
use crate::failure::Trouble;
use crate::inbox;

/// The history of what happens to one instance in one verb.
pub(super) type Tale = Vec<Entry>;

/// Open waits that were not met yet, oldest first.
pub(super) struct Unmet(Vec<Wait>);

impl Unmet {
    pub(super) fn of(waits: &[Wait]) -> Self {
        Self(waits.to_vec())
    }

    /// Takes out those that something meets, of the ones that may have it.
    pub(super) fn meet(
        &mut self,
        kind: Kind,
        name: &str,
        may_have: impl Fn(&Wait) -> bool,
    ) -> Vec<Wait> {
        let able: Vec<Wait> = self.0.iter().filter(|wait| may_have(wait)).cloned().collect();
        let met: Vec<i64> =
            met_by(&able, kind, name).into_iter().map(|place| able[place].key).collect();
        self.0.extract_if(.., |wait| met.contains(&wait.key)).collect()
    }

    pub(super) fn into_waits(self) -> Vec<Wait> {
        self.0
    }
}

/// Whether a wait was open when something became visible.
pub(super) fn heard(wait: &Wait, visible_at: Timestamp) -> bool {
    wait.timeout_at.is_none_or(|at| at > visible_at)
}

impl Batch<'_> {
    /// Lets waits meet what is buffered and visible, the first by visible time, then acceptance.
    /// What meets one is consumed. Answers with who met what, in that order.
    ///
    /// Each looks at `at_most` so many entries. As many as there are waits are enough when every
    /// wait may have what it hears: each entry before its own went to another one.
    pub(super) fn meet_buffered(
        &mut self,
        key: InstanceKey,
        waits: &[Wait],
        at_most: usize,
        may_have: impl Fn(&Wait, &Candidate) -> bool,
    ) -> Result<Vec<(Buffered, Wait)>, Trouble> {
        let mut meetings = Vec::new();
        let mut unmet = Unmet::of(waits);
        for candidate in self.heard_by(key, waits, at_most)? {
            let Candidate { kind, name, .. } = &candidate;
            let met = unmet.meet(*kind, name, |wait| may_have(wait, &candidate));
            if met.is_empty() {
                continue;
            }
            let gone = || Error::corrupt(format!("inbox entry {} vanished", candidate.key));
            let by = inbox::entry(self.connection, candidate.key)?.ok_or_else(gone)?;
            self.move_to(by.key, State::Consumed)?;
            meetings.extend(met.into_iter().map(|wait| (by.clone(), wait)));
        }
        Ok(meetings)
    }

    /// What waits could meet, in order.
    fn heard_by(
        &self,
        key: InstanceKey,
        waits: &[Wait],
        at_most: usize,
    ) -> Result<BTreeSet<Candidate>, Trouble> {
        let mut found = BTreeSet::new();
        for wait in waits.iter().filter(|_| at_most > 0) {
            if let Hears::Sent { kind, pattern } = &wait.hears {
                found.extend(self.candidates(key, *kind, pattern, at_most)?);
            }
        }
        Ok(found)
    }

    /// A wait is met by something that was consumed for it.
    pub(super) fn fulfil(
        &mut self,
        wait: &Wait,
        by: &Buffered,
        tale: &mut Tale,
    ) -> Result<(), Trouble> {
        self.close_fulfilled(wait, Some(&by.id))?;
        tale.push(fulfilled(wait, by));
        Ok(())
    }
}
