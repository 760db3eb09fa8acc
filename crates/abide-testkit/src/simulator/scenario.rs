//! What is simulated: a few small workflows, what the outside does, and what must have come of it.
//!
//! One file per group. A new scenario is a function that makes a [`Plan`], and a line in [`ALL`].

use abide::{Cx, Error, Event, Timestamp, Workflow};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::choice::Chooser;
use super::script::{Acknowledged, Script, Told};
use super::witness::Witness;
use crate::differential::View;

mod deadline;
mod early;
mod ending;
mod family;
mod pause;
mod program;
mod publish;
mod published;
mod queue;
mod race;
mod stream;
mod together;
mod triggered;

/// A scenario by its name.
#[derive(Clone, Copy)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) plan: fn(&Witness, &mut Chooser) -> Plan,
}

/// Every scenario there is.
pub(super) const ALL: &[Scenario] = &[
    Scenario { name: "event-vs-deadline", plan: deadline::event },
    Scenario { name: "delayed-event-vs-deadline", plan: deadline::delayed },
    Scenario { name: "delayed-event", plan: deadline::patient },
    Scenario { name: "moved-deadline", plan: deadline::moved },
    Scenario { name: "quiet-signal-vs-deadline", plan: deadline::quiet },
    Scenario { name: "caught-timeout", plan: deadline::caught },
    Scenario { name: "event-vs-reaching-the-wait", plan: early::event },
    Scenario { name: "news-vs-start", plan: early::at_once },
    Scenario { name: "event-vs-eviction", plan: early::eviction },
    Scenario { name: "two-events-latest", plan: early::two_latest },
    Scenario { name: "dropped-unless-awaited", plan: early::dropped },
    Scenario { name: "two-events-queue", plan: queue::two },
    Scenario { name: "twelve-early-events", plan: queue::twelve },
    Scenario { name: "signals-to-two-waits", plan: queue::signals },
    Scenario { name: "event-vs-terminate", plan: ending::terminate },
    Scenario { name: "event-vs-restart", plan: ending::restart },
    Scenario { name: "event-vs-restart-from-step", plan: ending::restart_from },
    Scenario { name: "continue-as-new", plan: ending::continued },
    Scenario { name: "one-event-two-waits", plan: race::one_event_two_waits },
    Scenario { name: "loser-of-a-race", plan: race::loser },
    Scenario { name: "wait-vs-sleep", plan: race::sleep },
    Scenario { name: "any-of-two", plan: together::any },
    Scenario { name: "all-of-two", plan: together::all },
    Scenario { name: "count-vs-deadline", plan: together::count },
    Scenario { name: "filter", plan: together::filter },
    Scenario { name: "pause-and-resume", plan: pause::event },
    Scenario { name: "deadline-in-a-pause", plan: pause::deadline },
    Scenario { name: "parent-and-child", plan: family::messages },
    Scenario { name: "end-of-a-family", plan: family::end },
    Scenario { name: "outputs", plan: family::outputs },
    Scenario { name: "publish-vs-reaching-the-wait", plan: publish::reaching },
    Scenario { name: "publish-vs-eviction", plan: publish::eviction },
    Scenario { name: "publish-vs-deadline", plan: publish::deadline },
    Scenario { name: "publish-vs-terminate", plan: publish::terminate },
    Scenario { name: "publish-vs-restart", plan: publish::restart },
    Scenario { name: "publish-vs-restart-from-step", plan: publish::restart_from },
    Scenario { name: "publish-vs-pause", plan: publish::pause },
    Scenario { name: "publish-vs-event", plan: publish::addressed },
    Scenario { name: "two-publishers", plan: published::two_publishers },
    Scenario { name: "published-twice", plan: published::twice },
    Scenario { name: "published-to-two-instances", plan: published::two_instances },
    Scenario { name: "published-to-a-count", plan: published::count },
    Scenario { name: "published-to-a-race", plan: published::any },
    Scenario { name: "published-to-a-loser", plan: published::loser },
    Scenario { name: "published-before-continuing", plan: published::continued },
    Scenario { name: "published-by-a-workflow", plan: published::by_a_workflow },
    Scenario { name: "trigger-starts-once", plan: triggered::once },
    Scenario { name: "trigger-collects", plan: triggered::batch },
    Scenario { name: "trigger-cancels", plan: triggered::cancel },
    Scenario { name: "streaming-step", plan: stream::crash },
    Scenario { name: "stream-vs-restart", plan: stream::restart },
    Scenario { name: "stream-vs-restart-from-step", plan: stream::restart_from },
    Scenario { name: "random-program", plan: program::random },
];

/// What a scenario is made of.
pub(super) struct Plan {
    pub(super) workflows: Vec<Workflow>,
    pub(super) script: Script,
    pub(super) expect: Expect,
}

/// Whether it came out as it must.
pub(super) type Expect = Box<dyn Fn(&Ending<'_>) -> Result<(), String>>;

impl Plan {
    pub(super) fn new(
        workflows: impl IntoIterator<Item = Workflow>,
        script: Script,
        expect: impl Fn(&Ending<'_>) -> Result<(), String> + 'static,
    ) -> Self {
        Self { workflows: workflows.into_iter().collect(), script, expect: Box::new(expect) }
    }
}

/// How it came out.
pub(super) struct Ending<'a> {
    pub(super) view: &'a View,
    pub(super) acknowledged: &'a [Acknowledged],
}

impl Ending<'_> {
    /// The result of an instance that must have completed.
    pub(super) fn result<T: DeserializeOwned>(&self, id: &str) -> Result<T, String> {
        let instance = self.view.instances.iter().find(|instance| instance.id.as_str() == id);
        let instance = instance.ok_or_else(|| format!("{id} was never started"))?;
        let output = instance.output.as_ref();
        let output = output.ok_or_else(|| format!("{id} is {}", instance.status()))?;
        output.decode().map_err(|refused: Error| refused.to_string())
    }

    /// Whether an instance was terminated.
    pub(super) fn is_terminated(&self, id: &str) -> bool {
        let mut instances = self.view.instances.iter();
        instances.any(|found| found.id.as_str() == id && found.phase == abide::Phase::Terminated)
    }

    /// Whether what was sent by this id was accepted, and by whom it was met then.
    pub(super) fn delivered(&self, event: &str) -> Option<u32> {
        self.acknowledged.iter().find_map(|acknowledged| match &acknowledged.told {
            Told::Delivered(told) if *told.event_id == *event => Some(told.delivered),
            _ => None,
        })
    }

    /// The ids of what was published, in the order of the log.
    pub(super) fn published(&self) -> Vec<String> {
        self.view.log.iter().map(|logged| logged.verdict.event_id.to_string()).collect()
    }

    /// What the first wait of an instance for anything published may have got: the oldest since its
    /// run was accepted that came before its deadline, or before it was reached; else a timeout. What
    /// came in the millisecond in which it was reached past its deadline may have come first or not.
    pub(super) fn first_published(&self, id: &str) -> [String; 2] {
        let mut instances = self.view.instances.iter();
        let from = instances.find(|it| it.id.as_str() == id).map_or(0, |it| it.log_from);
        let mut waits = self.view.waits.iter().filter(|wait| wait.instance_id.as_str() == id);
        let last = waits.next_back();
        let first = |at_the_latest: i64| {
            let in_time = |at: Timestamp| {
                last.is_none_or(|wait| {
                    wait.timeout_at.is_none_or(|deadline| at < deadline)
                        || at.0 <= wait.created_at.0 + at_the_latest
                })
            };
            let mut log = self.view.log.iter();
            let first = log.find(|logged| {
                logged.published.seq > from && in_time(logged.published.accepted_at)
            });
            first.map_or_else(|| "timeout".to_owned(), |it| it.verdict.event_id.to_string())
        };
        [first(-1), first(0)]
    }

    /// Whether what was sent by this id was accepted.
    pub(super) fn accepted(&self, event: &str) -> bool {
        self.delivered(event).is_some()
    }
}

/// A workflow that a witness looks at.
fn workflow<F, Fut, O>(name: &'static str, witness: &Witness, function: F) -> Workflow
where
    F: Fn(Cx, Witness) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = abide::Result<O>> + Send + 'static,
    O: Serialize,
{
    let witness = witness.clone();
    Workflow::new(name, move |cx, (): ()| function(cx, witness.clone()))
}

/// What a wait got: the payload, which is the event's id, or that its time was up.
fn got(met: abide::Result<Event<String>>) -> abide::Result<String> {
    match met {
        Ok(event) => Ok(event.payload),
        Err(Error::EventTimeout { .. }) => Ok("timeout".to_owned()),
        Err(error) => Err(error),
    }
}

/// Fails with a description unless it holds.
pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
