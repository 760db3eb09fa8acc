//! Why an event did or did not reach an instance.

use std::sync::Arc;

use crate::envelope::Envelope;
use crate::error::{Error, Result};
use crate::expr::{Clause, Outcome};
use crate::id::InstanceId;
use crate::listing::WaitFilter;
use crate::log::{LogFilter, LogSpan, Logged, Published, Taker};
use crate::time::Timestamp;
use crate::wait::{Wait, WaitStatus};

use super::Engine;

/// How many near misses of a wait are told.
const MOST_MISSES: usize = 5;
/// How many events are looked at for them.
const LOOKED_AT: usize = 200;

/// What a published event was to one wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The wait.
    pub wait: Wait,
    /// What it was.
    pub why: Why,
    /// Every clause of the filter, with the values it saw.
    pub clauses: Vec<Clause>,
    /// Whether the wait looks back to events that the log no longer has, or did not read all that
    /// it looks back to (`lookback.maxScanned`).
    pub lookback_cut_short: bool,
}

/// What a published event was to a wait. The first of these that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It fulfilled the wait.
    Fulfilled,
    /// The wait holds it until there are enough.
    Held,
    /// Its type is not one that the pattern covers.
    OtherType,
    /// It was accepted before what the wait looks back to.
    TooEarly,
    /// The filter is false; the clauses say which part.
    FilterFalse,
    /// The filter has no value on it, which is no match.
    FilterFailed,
    /// Another wait of the instance took it.
    TakenByAnother,
    /// The wait was over before the event came, or met by something else first.
    WaitWasOver,
    /// The wait would take it, but did not get to it.
    NotReached,
}

/// An event that a wait nearly took: type and equality keys matched, another clause did not.
#[derive(Clone, Debug, PartialEq)]
pub struct NearMiss {
    /// The event.
    pub event_id: Arc<str>,
    /// Its place in the log.
    pub seq: i64,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// Every clause, with the values it saw.
    pub clauses: Vec<Clause>,
}

impl Engine {
    /// A part of the event log.
    ///
    /// # Errors
    /// The store's own.
    pub async fn events(&self, filter: LogFilter) -> Result<Vec<Logged>> {
        self.inner.store.log(filter).await
    }

    /// A published event and who took it so far. Where several sources used the id, the newest.
    ///
    /// # Errors
    /// [`Error::EventNotFound`] or the store's own.
    pub async fn event(&self, id: &str) -> Result<(Logged, Vec<Taker>)> {
        let filter = LogFilter {
            id: Some(id.to_owned()),
            newest_first: true,
            limit: 1,
            ..LogFilter::default()
        };
        let found = self.inner.store.log(filter).await?.pop();
        let logged = found.ok_or_else(|| Error::EventNotFound { id: id.to_owned() })?;
        let takers = self.inner.store.takers(logged.published.seq).await?;
        Ok((logged, takers))
    }

    /// Says for every event wait of an instance what a published event was to it.
    ///
    /// # Errors
    /// [`Error::EventNotFound`], [`Error::InstanceNotFound`] or the store's own.
    pub async fn explain(&self, event: &str, instance: &InstanceId) -> Result<Vec<Explanation>> {
        let (logged, takers) = self.event(event).await?;
        let store = &self.inner.store;
        if store.instance(instance).await?.is_none() {
            return Err(Error::InstanceNotFound { id: instance.clone() });
        }
        let filter = WaitFilter { instance: Some(instance.clone()), ..WaitFilter::default() };
        let span = store.log_span().await?;
        let took = takers.iter().any(|taker| taker.instance_id == *instance);
        let waits = store.waits(filter).await?.into_iter();
        let hears_events = |wait: &Wait| !wait.entries().is_empty() || wait.filter.is_some();
        let explained = waits.filter(hears_events);
        Ok(explained.map(|wait| explain(wait, &logged.published, span, took)).collect())
    }

    /// Waits of all instances, oldest first: by instance, pattern, status or step.
    ///
    /// # Errors
    /// The store's own.
    pub async fn waits(&self, filter: WaitFilter) -> Result<Vec<Wait>> {
        self.inner.store.waits(filter).await
    }

    /// The last events that a wait nearly took, the newest first.
    ///
    /// # Errors
    /// [`Error::SubscriptionNotFound`] or the store's own.
    pub async fn near_misses(&self, subscription: &str) -> Result<Vec<NearMiss>> {
        let store = &self.inner.store;
        let filter = WaitFilter { id: Some(subscription.to_owned()), ..WaitFilter::default() };
        let found = store.waits(filter).await?.pop();
        let wait =
            found.ok_or_else(|| Error::SubscriptionNotFound { id: subscription.to_owned() })?;
        let overheard = store.overheard(subscription, LOOKED_AT).await?;
        let misses = overheard.iter().filter_map(|published| near_miss(&wait, published));
        Ok(misses.take(MOST_MISSES).collect())
    }
}

fn near_miss(wait: &Wait, published: &Published) -> Option<NearMiss> {
    let clauses = clauses(wait, published);
    let missed = clauses.iter().any(|clause| clause.outcome != Outcome::True);
    missed.then(|| NearMiss {
        event_id: published.event.id.as_deref().unwrap_or_default().into(),
        seq: published.seq,
        accepted_at: published.accepted_at,
        clauses,
    })
}

fn clauses(wait: &Wait, published: &Published) -> Vec<Clause> {
    let sent = published.sent(0);
    let filter = wait.filter.as_ref();
    filter.map(|filter| filter.folded.expr().explain(&Envelope::of(&sent))).unwrap_or_default()
}

fn explain(wait: Wait, published: &Published, span: LogSpan, took: bool) -> Explanation {
    let clauses = clauses(&wait, published);
    let first_kept = span.oldest.unwrap_or(span.newest + 1);
    Explanation {
        why: why(&wait, published, &clauses, took),
        clauses,
        lookback_cut_short: wait.cut_short || wait.since + 1 < first_kept,
        wait,
    }
}

fn why(wait: &Wait, published: &Published, clauses: &[Clause], took: bool) -> Why {
    let id = published.event.id.as_deref();
    let holds = wait.count.iter().flat_map(|count| &count.held).any(|held| Some(&*held.id) == id);
    let failed = |clause: &Clause| matches!(clause.outcome, Outcome::Failed(_));
    if took && wait.fulfilled_by.as_deref() == id {
        Why::Fulfilled
    } else if took && holds {
        Why::Held
    } else if !crate::pattern::matches(wait.hears.pattern(), &published.event.event_type) {
        Why::OtherType
    } else if published.seq <= wait.since {
        Why::TooEarly
    } else if clauses.iter().any(|clause| clause.outcome == Outcome::False) {
        Why::FilterFalse
    } else if clauses.iter().any(failed) {
        Why::FilterFailed
    } else if took {
        Why::TakenByAnother
    } else if wait.status == WaitStatus::Active {
        Why::NotReached
    } else {
        Why::WaitWasOver
    }
}
