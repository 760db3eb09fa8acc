//! What waits look at when they look back.

use std::collections::BTreeSet;

use abide::index::Entry;
use abide::{InstanceKey, Wait};
use rusqlite::params;

use super::batch::Batch;
use crate::failure::Trouble;
use crate::log;

/// What a wait looks at, by number.
#[derive(Default)]
pub(super) struct View {
    pub(super) seqs: BTreeSet<i64>,
    /// The first that is beyond what it may ever look at.
    pub(super) beyond: Option<i64>,
    /// It looks at what comes after this another time.
    pub(super) more_after: Option<i64>,
}

/// How to find the events of a type that a wait may want.
enum Way {
    /// By their keys: the paths and the key.
    Keys(Vec<(i64, String)>),
    /// By looking at each.
    Scan,
}

impl Batch<'_> {
    /// What a wait looks at after a number. One without an equality key looks at no more than so
    /// many events in all, another one at so many at once.
    pub(super) fn view(
        &mut self,
        key: InstanceKey,
        wait: &Wait,
        after: i64,
        at_once: usize,
    ) -> Result<View, Trouble> {
        let entries = wait.entries();
        if entries.iter().any(|entry| entry.shape.paths().is_empty()) {
            let limit = self.limits.scanned;
            let mut seqs = self.covered(key, wait, after, limit.saturating_add(1))?;
            let beyond = if seqs.len() > limit { seqs.pop_last() } else { None };
            return Ok(View { seqs, beyond, more_after: None });
        }
        let at_most = i64::try_from(at_once).unwrap_or(i64::MAX);
        let mut view = View::default();
        for name in log::types(self.connection, wait.hears.pattern())? {
            if self.of_type(&name, after, key, 1)?.is_empty() {
                continue;
            }
            match self.way(&name, &entries, at_once)? {
                Way::Scan => view.add(self.of_type(&name, after, key, at_most)?, at_once),
                Way::Keys(keys) => {
                    for (path, text) in &keys {
                        let found = self.looked_up((*path, text), after, key, at_most)?;
                        view.add(found, at_once);
                    }
                }
            }
        }
        // Beyond the point up to which one of the ways was followed others are left out.
        if let Some(last) = view.more_after {
            drop(view.seqs.split_off(&(last + 1)));
        }
        Ok(view)
    }

    /// Keys serve when all that the wait is found by are there for every event.
    fn way(&mut self, event_type: &str, entries: &[Entry], few: usize) -> Result<Way, Trouble> {
        let mut keys = Vec::new();
        for entry in entries {
            self.ensure_path(event_type, &entry.shape, few)?;
            match self.caches.paths.find(event_type, entry.shape.paths()) {
                Some(indexed) if indexed.is_complete() => {
                    keys.push((indexed.id, entry.key.clone()));
                }
                _ => return Ok(Way::Scan),
            }
        }
        Ok(Way::Keys(keys))
    }

    /// The first events of a type after a number that an instance did not take.
    fn of_type(
        &self,
        event_type: &str,
        after: i64,
        by: InstanceKey,
        at_most: i64,
    ) -> Result<Vec<i64>, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT seq FROM events e WHERE type = ?1 AND seq > ?2
                AND NOT EXISTS (SELECT 1 FROM inbox WHERE log = e.seq AND instance = ?3)
              ORDER BY seq LIMIT ?4",
        )?;
        let found = select.query_map(params![event_type, after, by.0, at_most], |r| r.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// The first events that a wait reaches and the instance did not take.
    fn covered(
        &self,
        key: InstanceKey,
        wait: &Wait,
        after: i64,
        limit: usize,
    ) -> Result<BTreeSet<i64>, Trouble> {
        let at_most = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut seqs = BTreeSet::new();
        for name in log::types(self.connection, wait.hears.pattern())? {
            seqs.extend(self.of_type(&name, after, key, at_most)?);
        }
        while seqs.len() > limit {
            seqs.pop_last();
        }
        Ok(seqs)
    }
}

impl View {
    /// Adds what was found in one way; there may be more when it is as much as was asked for.
    fn add(&mut self, found: Vec<i64>, asked: usize) {
        if let Some(last) = found.last().filter(|_| found.len() >= asked) {
            self.more_after = Some(self.more_after.map_or(*last, |before| before.min(*last)));
        }
        self.seqs.extend(found);
    }
}
