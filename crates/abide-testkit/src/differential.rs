//! Random operations on a store and on [`MemoryStore`], which must agree after every one of them:
//! in the answer, in everything that can be seen, and in the hints.
//!
//! ```
//! # use std::sync::Arc;
//! # use abide_testkit::{ManualClock, MemoryStore};
//! # async fn fresh(clock: ManualClock) -> MemoryStore { MemoryStore::new(Arc::new(clock)) }
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! for seed in 0..4 {
//!     abide_testkit::differential::run(fresh, seed, 100).await;
//! }
//! # }
//! ```
//!
//! After every one of them both must also keep the invariants that hold between waits and what they
//! wait for.
//!
//! Epochs are compared by what they allow, not by their values: an operation names a claim by how
//! many claims of that instance came after it.

use std::fmt;
use std::sync::Arc;

use abide::store::Store;
use abide::{Clock, Timestamp};

use crate::{ManualClock, MemoryStore};

mod contender;
mod generator;
mod invariant;
mod operation;
mod shrink;
mod view;

use contender::Contender;
use generator::Generator;
pub(crate) use invariant::broken;
use operation::{Known, Operation};
pub(crate) use view::View;

/// When every sequence begins.
const BEGIN: Timestamp = Timestamp(1_700_000_000_000);

/// Makes empty stores, as often as a failing sequence is tried again.
pub trait Fresh {
    /// An empty store that takes its time from `clock`.
    fn store(&self, clock: ManualClock) -> impl Future<Output = Arc<dyn Store>>;
}

impl<S: Store, F: Future<Output = S>, M: Fn(ManualClock) -> F> Fresh for M {
    async fn store(&self, clock: ManualClock) -> Arc<dyn Store> {
        Arc::new(self(clock).await)
    }
}

/// Runs random operations on a fresh store and on a fresh [`MemoryStore`].
///
/// # Panics
/// When they differ; the message has the seed, the operation, both answers, and a sequence that is
/// as short as could be found.
pub async fn run(fresh: impl Fresh, seed: u64, operations: usize) {
    let mut generator = Generator::new(seed, BEGIN);
    let sequence: Vec<Operation> = (0..operations).map(|_| generator.operation()).collect();
    if let Some(found) = difference(&fresh, &sequence).await {
        let short = shrink::shrink(&fresh, sequence[..=found.index].to_vec()).await;
        let again = difference(&fresh, &short).await;
        let shortest = again.as_ref().unwrap_or(&found);
        let listed: Vec<String> =
            short.iter().enumerate().map(|(n, operation)| format!("{n}: {operation:?}")).collect();
        panic!(
            "seed {seed}: the stores differ after {found}\n\nshortest sequence found:\n{}\n\n\
             which differs after {shortest}",
            listed.join("\n")
        );
    }
}

/// Where two stores went apart.
struct Difference {
    index: usize,
    operation: Operation,
    what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, operation, what } = self;
        write!(f, "operation {index}: {operation:?}\n{what}")
    }
}

/// The first difference, if there is one.
async fn difference(fresh: &impl Fresh, sequence: &[Operation]) -> Option<Difference> {
    let clock = ManualClock::at(BEGIN);
    let memory = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let mut expected = Contender::attach(memory).await;
    let mut actual = Contender::attach(fresh.store(clock.clone()).await).await;
    let mut known = Known::default();
    for (index, operation) in sequence.iter().enumerate() {
        if let Operation::Advance(by) = operation {
            clock.advance(*by);
        }
        let now = clock.now();
        let answers = (
            expected.apply(operation, &known, now).await,
            actual.apply(operation, &known, now).await,
        );
        let memory = expected.view(0).await;
        let store = actual.view(memory.hints.len()).await;
        known.learn(&memory.instances);
        let what = if answers.0 == answers.1 {
            let broken = |view, of| invariant::broken(view, now).map(|it| format!("{of}: {it}"));
            memory
                .difference(&store)
                .or_else(|| broken(&memory, "in memory"))
                .or_else(|| broken(&store, "in store"))
        } else {
            Some(format!("answer in memory: {}\nanswer of store:  {}", answers.0, answers.1))
        };
        if let Some(what) = what {
            return Some(Difference { index, operation: operation.clone(), what });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap, HashSet};

    use super::*;

    /// What random sequences come to: a generator that makes nothing meet proves nothing. By seed and
    /// event, so that each counts once.
    #[derive(Default)]
    struct Reached(HashMap<&'static str, HashSet<(u64, Arc<str>)>>);

    impl Reached {
        fn note(&mut self, what: &'static str, times: usize, seed: u64, event: &str) {
            let events = self.0.entry(what).or_default();
            events.extend((times > 0).then(|| (seed, event.into())));
        }

        fn look(&mut self, seed: u64, view: &View) {
            for (logged, (_, takers)) in view.log.iter().zip(&view.takers) {
                let (published, verdict) = (&logged.published, &logged.verdict);
                let mut note = |what, times| self.note(what, times, seed, &verdict.event_id);
                note("matched", verdict.matched.len());
                note("started", verdict.started.len());
                note("deferred", verdict.deferred.len());
                note("cancelled", verdict.cancelled.len());
                let late = takers.iter().filter(|taker| taker.taken_at > published.accepted_at);
                note("found by looking back", late.count());
                let began = |key: &abide::InstanceId| {
                    let found = view.instances.iter().find(|it| it.id == *key);
                    found.map(|it| it.created_at)
                };
                let joined = verdict.deferred.iter();
                let joined = joined.filter_map(|deferred| began(&deferred.instance_id));
                note("joined", joined.filter(|began| *began < published.accepted_at).count());
            }
            let kept = view.buffers.iter().flat_map(|(_, kept)| kept);
            for kept in kept.filter(|kept| kept.log.is_some()) {
                let holding = view.waits.iter().filter_map(|wait| wait.count.as_ref());
                let is_held = holding.flat_map(|count| &count.held).any(|held| held.id == kept.id);
                self.note(if is_held { "held" } else { "let go" }, 1, seed, &kept.id);
            }
        }
    }

    #[tokio::test]
    async fn random_sequences_come_to_everything_that_can_happen_to_a_published_event() {
        let mut reached = Reached::default();
        for seed in 0..50 {
            let clock = ManualClock::at(BEGIN);
            let memory = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
            let mut contender = Contender::attach(memory).await;
            let (mut generator, mut known) = (Generator::new(seed, BEGIN), Known::default());
            for _ in 0..200 {
                let operation = generator.operation();
                if let Operation::Advance(by) = &operation {
                    clock.advance(*by);
                }
                contender.apply(&operation, &known, clock.now()).await;
                let view = contender.view(0).await;
                known.learn(&view.instances);
                reached.look(seed, &view);
            }
        }
        let times: BTreeMap<_, _> =
            reached.0.iter().map(|(what, events)| (*what, events.len())).collect();
        assert!(times.len() == 8 && times.values().all(|times| *times >= 10), "{times:?}");
    }
}
