//! Publishing and the event log in the words of a test.

use abide::{LogFilter, Logged, Publish, Result, Verdict};

use super::{Lab, Seen};

impl Lab {
    /// Publishes something, whatever becomes of it.
    pub async fn publish(&self, publish: Publish) -> Result<Verdict> {
        self.store.publish(publish).await
    }

    /// Publishes something that must be accepted: what came of it, in words.
    pub async fn published(&self, publish: Publish) -> Vec<String> {
        outcome(&self.publish(publish).await.unwrap())
    }

    /// The whole log, oldest first.
    pub async fn log(&self) -> Vec<Logged> {
        self.logged(LogFilter::default()).await
    }

    /// A part of the log, however long.
    pub async fn logged(&self, filter: LogFilter) -> Vec<Logged> {
        let filter = LogFilter { limit: 100_000, ..filter };
        self.store.log(filter).await.unwrap()
    }

    /// The ids of what is in the log, oldest first.
    pub async fn log_ids(&self) -> Vec<String> {
        ids(&self.log().await)
    }

    /// Who took the event with this id.
    pub async fn takers(&self, event_id: &str) -> Vec<String> {
        let all = self.log().await;
        let found =
            all.iter().find(|logged| logged.published.event.id.as_deref() == Some(event_id));
        let seq = found.unwrap_or_else(|| panic!("no event {event_id}")).published.seq;
        let takers = self.store.takers(seq).await.unwrap();
        takers.iter().map(|taker| taker.instance_id.to_string()).collect()
    }

    /// What a wait, named by its step, may have been compared with, newest first.
    pub async fn overheard(&self, step: &str) -> Vec<String> {
        let found = self.store.overheard(&format!("sub_{step}"), 1000).await.unwrap();
        found.iter().map(|found| found.event.id.clone().unwrap()).collect()
    }

    /// Everything that can be seen from outside, the log included.
    pub async fn everything_and_log(&self) -> (Vec<Seen>, Vec<Logged>) {
        (self.everything().await, self.log().await)
    }
}

/// The ids of events in the log.
pub(crate) fn ids(logged: &[Logged]) -> Vec<String> {
    logged.iter().map(|logged| logged.published.event.id.clone().unwrap()).collect()
}

/// What came of an event, in words and in the order of the rules: `t cancels a`, `w of a`, `t starts
/// b`, `t defers c`.
pub(crate) fn outcome(verdict: &Verdict) -> Vec<String> {
    let Verdict { matched, started, cancelled, deferred, .. } = verdict;
    let mut told = Vec::new();
    told.extend(cancelled.iter().map(|it| format!("{} cancels {}", it.trigger, it.instance_id)));
    told.extend(matched.iter().map(|it| {
        let id = &it.subscription_id;
        format!("{} of {}", id.strip_prefix("sub_").unwrap_or(id), it.instance_id)
    }));
    told.extend(started.iter().map(|it| format!("{} starts {}", it.trigger, it.instance_id)));
    told.extend(deferred.iter().map(|it| format!("{} defers {}", it.trigger, it.instance_id)));
    told
}
