//! Looking at what was published, and forgetting it.

use std::collections::HashMap;

use abide::publication::{Parsed, Seen};
use abide::{
    Error, Json, LogFilter, LogRetention, LogSpan, Logged, Published, Result, Taker, Wait,
    WaitFilter,
};

use super::lookback::reaches;
use super::state::State;

impl State {
    pub(super) fn log(&self, filter: &LogFilter) -> Vec<Logged> {
        let mut found: Vec<Logged> =
            self.log.values().filter(|logged| filter.matches(logged)).cloned().collect();
        if filter.newest_first {
            found.reverse();
        }
        found.truncate(filter.limit);
        found
    }

    pub(super) fn log_span(&self) -> LogSpan {
        LogSpan { oldest: self.log.keys().next().copied(), newest: self.last_published }
    }

    /// Who has it, or had it until they let it go. Nobody knows of what is no longer in the log.
    pub(super) fn takers(&self, seq: i64) -> Vec<Taker> {
        if !self.log.contains_key(&seq) {
            return Vec::new();
        }
        let taker = |kept: &super::state::Kept| {
            let taken_at = kept.mailbox.taken(seq)?.came_at;
            Some(Taker { instance_id: kept.instance.id.clone(), taken_at })
        };
        self.kept.values().filter_map(taker).collect()
    }

    /// What a wait may have been compared with, newest first.
    pub(super) fn overheard(&self, id: &str, limit: usize) -> Result<Vec<Published>> {
        let filter = WaitFilter { id: Some(id.to_owned()), ..WaitFilter::default() };
        let Some(wait) = self.waits(&filter).pop() else {
            return Err(Error::SubscriptionNotFound { id: id.to_owned() });
        };
        let newest_first = self.log.values().rev().map(|logged| &logged.published);
        let found =
            newest_first.filter(|event| reaches(&wait, event) && has_a_key_of(&wait, event));
        Ok(found.take(limit).cloned().collect())
    }

    /// Forgets events, the oldest first.
    pub(super) fn prune_log(&mut self, retention: LogRetention, limit: usize) -> usize {
        let LogRetention { before, max_bytes, max_per_type } = retention;
        let mut bytes = 0;
        let mut of_type: HashMap<&str, u64> = HashMap::new();
        let mut gone: Vec<i64> = Vec::new();
        for Logged { published, .. } in self.log.values().rev() {
            let event = &published.event;
            bytes += event.payload.as_ref().map_or(0, Json::size) as u64;
            let so_many = of_type.entry(&event.event_type).or_default();
            *so_many += 1;
            if before.is_some_and(|before| published.accepted_at < before)
                || max_bytes.is_some_and(|most| bytes > most)
                || max_per_type.is_some_and(|most| *so_many > most)
            {
                gone.push(published.seq);
            }
        }
        let gone: Vec<i64> = gone.into_iter().rev().take(limit).collect();
        gone.iter().for_each(|seq| drop(self.log.remove(seq)));
        gone.len()
    }
}

fn has_a_key_of(wait: &Wait, event: &Published) -> bool {
    let parsed = Parsed::default();
    let seen = Seen::of(&event.event, &parsed).numbered(event.seq);
    wait.entries().iter().any(|entry| entry.shape.probe(&seen).as_ref() == Some(&entry.key))
}
