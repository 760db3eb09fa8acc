//! Ways to break the world on purpose, to show that the simulator would notice.

use std::future::ready;
use std::sync::Arc;

use abide::history::EntryKind;
use abide::store::{Answer, Claimed, Commit, Store};
use abide::{Delivered, Delivery, InstanceKey, Publication, Publish, Since, Verdict};

use super::traffic::at_once;
use crate::MemoryStore;

/// What is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sabotage {
    /// Nothing.
    #[default]
    None,
    /// Deliveries are answered and not written.
    AnswersBeforeWriting,
    /// A wait that was dropped is not cancelled, and keeps what met it unseen.
    LosersStayOpen,
    /// What a replay is given ends before the last completed step.
    ForgetsACompletion,
    /// Deadlines that fall due are not looked at.
    ForgetsDeadlines,
    /// What is sent arrives twice, under two ids.
    DeliversTwice,
    /// Waits don't look back to what was published.
    NeverLooksBack,
    /// What is published is accepted twice, under two ids.
    PublishesTwice,
    /// A park is stored though something arrived that the runner had not heard of.
    ParksOverNews,
    /// Any hint may be lost, also those that an engine can't do without: that of a pause or a
    /// resume, and one of several arrivals of which it hears a later one.
    LosesAnyHint,
}

impl Sabotage {
    pub(super) fn commit(self, mut commit: Commit) -> Commit {
        match self {
            Self::LosersStayOpen => Arc::make_mut(&mut commit.transition).cancels.clear(),
            Self::ParksOverNews => commit.heard = i64::MAX,
            Self::NeverLooksBack => {
                let waits = &mut Arc::make_mut(&mut commit.transition).waits;
                waits.iter_mut().for_each(|wait| wait.since = Since::Now);
            }
            _ => {}
        }
        commit
    }

    pub(super) fn claim(self, answer: Answer<Option<Claimed>>) -> Answer<Option<Claimed>> {
        if self != Self::ForgetsACompletion {
            return answer;
        }
        let mut answer = at_once(answer);
        if let Ok(Some(claimed)) = &mut answer {
            let history = &mut claimed.history;
            let is_completed = |kind| kind == EntryKind::StepCompleted;
            let last = history.iter().rposition(|it| is_completed(it.entry.entry));
            history.truncate(last.unwrap_or(history.len()));
        }
        Box::pin(ready(answer))
    }

    pub(super) fn deliver(self, disk: &MemoryStore, delivery: Delivery) -> Answer<Delivered> {
        match self {
            Self::AnswersBeforeWriting => {
                let told = Delivered { event_id: delivery.id, delivered: 0, buffered: true };
                Box::pin(ready(Ok(told)))
            }
            Self::DeliversTwice => {
                let id = format!("{} again", delivery.id).into();
                drop(disk.deliver(Delivery { id, ..delivery.clone() }));
                disk.deliver(delivery)
            }
            _ => disk.deliver(delivery),
        }
    }

    pub(super) fn publish(self, disk: &MemoryStore, publish: Publish) -> Answer<Verdict> {
        if self == Self::PublishesTwice {
            let id = publish.event.id.as_ref().map(|id| format!("{id} again"));
            let again = Publication { id, ..(*publish.event).clone() };
            drop(disk.publish(Publish { event: Arc::new(again), ..publish.clone() }));
        }
        disk.publish(publish)
    }

    pub(super) fn fall_due(self, disk: &MemoryStore, keys: Vec<InstanceKey>) -> Answer<()> {
        if self == Self::ForgetsDeadlines { Box::pin(ready(Ok(()))) } else { disk.fall_due(keys) }
    }
}
