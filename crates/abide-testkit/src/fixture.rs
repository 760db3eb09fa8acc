//! Instances, transitions and entries in few words, so that a test reads like a sentence:
//! `does().completes_step("charge").waits()`.

use std::sync::Arc;

use abide::expr::{Env, Expr};
use abide::history::{Entry, EntryKind, StepKind};
use abide::{
    Buffer, Delivery, End, Failure, Folding, Hears, InstanceId, Json, Kind, NewChild, NewInstance,
    NewPublish, NewSend, NewTake, NewWait, OnTerminal, Park, Phase, Publish, Since, Timestamp,
    Transition,
};
use serde::Serialize;

mod publishing;

pub use publishing::{
    cancelling, published, published_with, starting, wait_for_many, wait_racing, wait_where,
};

/// An id that is known to be one.
#[must_use]
pub fn id(id: &str) -> InstanceId {
    InstanceId::new(id).unwrap()
}

/// A value as it is stored.
pub fn json<T: Serialize>(value: T) -> Json {
    Json::encode(&value).unwrap()
}

/// A failure of a workflow.
#[must_use]
pub fn failure(message: &str) -> Failure {
    Failure::new("BROKEN", message)
}

/// An instance of the workflow `flow` that begins now and has done nothing yet. Its input is its
/// id.
#[must_use]
pub fn instance(name: &str) -> NewInstance {
    NewInstance {
        id: id(name),
        workflow: "flow".into(),
        version: 1,
        input: json(name),
        correlation_id: None,
        tags: vec![],
        start_at: None,
        timeout: None,
        consumes: None,
        trace: None,
        first: None,
    }
}

/// An entry about a step that is a function.
#[must_use]
pub fn step(entry: EntryKind, name: &str) -> Entry {
    Entry::of_step(entry, &Arc::from(name), StepKind::Step)
}

/// Something on its way, with an id that is also its payload: an event replaces the one before,
/// anything else is queued.
#[must_use]
pub fn delivery(kind: Kind, to: &str, name: &str, event_id: &str) -> Delivery {
    Delivery {
        to: id(to),
        kind,
        name: name.into(),
        payload: Some(json(event_id)),
        id: event_id.into(),
        source: None,
        on_terminal: OnTerminal::Error,
        visible_at: None,
        wake: true,
        buffer: if kind == Kind::Event { Buffer::Latest } else { Buffer::Queue },
        trace: None,
        refused: None,
    }
}

/// An event on its way.
#[must_use]
pub fn event(to: &str, name: &str, event_id: &str) -> Delivery {
    delivery(Kind::Event, to, name, event_id)
}

/// A signal on its way.
#[must_use]
pub fn signal(to: &str, name: &str, event_id: &str) -> Delivery {
    delivery(Kind::Signal, to, name, event_id)
}

/// A message on its way.
#[must_use]
pub fn message(to: &str, topic: &str, event_id: &str) -> Delivery {
    delivery(Kind::Message, to, topic, event_id)
}

/// A wait without a deadline. Its id is that of its step behind `sub_`.
#[must_use]
pub fn wait(step: &str, kind: Kind, pattern: &str) -> NewWait {
    let hears = Hears::Sent { kind, pattern: pattern.into() };
    NewWait {
        id: format!("sub_{step}").into(),
        step: step.into(),
        hears,
        filter: None,
        race: None,
        count: None,
        since: Since::Start,
        timeout_at: None,
    }
}

/// An expression in which nothing but the event is left to be known.
#[must_use]
pub fn folding(written: &str) -> Folding {
    let expr: Expr = written.parse().unwrap();
    Folding { written: written.into(), folded: expr.fold(&Env::new()).unwrap() }
}

/// A wait for an output of another instance.
#[must_use]
pub fn wait_for_output(step: &str, of: &str, key: &str) -> NewWait {
    let hears = Hears::Output { of: id(of), key: key.into() };
    NewWait { hears, ..wait(step, Kind::Event, key) }
}

/// A transition in which nothing happened yet.
#[must_use]
pub fn does() -> Transition {
    Transition::default()
}

/// What a transition may do, one call each.
pub trait Does: Sized {
    /// Adds an entry to the history.
    fn records(self, entry: &Entry) -> Self;
    /// Parks.
    fn parks(self, phase: Phase, wake_at: Option<Timestamp>) -> Self;
    /// Starts a child.
    fn starts(self, child: &str, step: &str, awaited: bool) -> Self;
    /// Ends the run.
    fn ends(self, end: End) -> Self;
    /// Pauses itself.
    fn pauses(self) -> Self;
    /// Sets `workflow.context`.
    fn remembers<T: Serialize>(self, context: T) -> Self;

    /// Drops a wait.
    fn drops(self, step: &str) -> Self;
    /// Sets an output.
    fn sets<T: Serialize>(self, key: &str, value: T) -> Self;
    /// Sends a message in a step.
    fn sends(self, step: &str, delivery: Delivery) -> Self;
    /// Publishes an event in a step.
    fn publishes(self, step: &str, publish: Publish) -> Self;
    /// Takes what is there.
    fn takes(self, step: &str, kind: Kind, pattern: &str) -> Self;
    /// Reaches a wait.
    fn reaches(self, wait: NewWait) -> Self;

    /// Reaches a wait for an event.
    fn hears(self, step: &str, pattern: &str) -> Self {
        self.reaches(wait(step, Kind::Event, pattern))
    }
    /// Reaches a wait for a signal.
    fn hears_signal(self, step: &str, name: &str) -> Self {
        self.reaches(wait(step, Kind::Signal, name))
    }
    /// Reaches a wait for an event that gives up at a moment.
    fn hears_until(self, step: &str, pattern: &str, at: Timestamp) -> Self {
        self.reaches(NewWait { timeout_at: Some(at), ..wait(step, Kind::Event, pattern) })
    }
    /// Records the result of a step.
    fn completes_step(self, name: &str) -> Self {
        self.records(&step(EntryKind::StepCompleted, name))
    }
    /// Waits for something outside.
    fn waits(self) -> Self {
        self.parks(Phase::Waiting, None)
    }
    /// Waits for something outside, but not for ever.
    fn waits_until(self, at: Timestamp) -> Self {
        self.parks(Phase::Waiting, Some(at))
    }
    /// Sleeps.
    fn sleeps_until(self, at: Timestamp) -> Self {
        self.parks(Phase::Sleeping, Some(at))
    }
    /// Starts a child and waits for its end in a step.
    fn awaits(self, child: &str, step: &str) -> Self {
        self.starts(child, step, true)
    }
    /// Starts a child in a step and lets it go.
    fn detaches(self, child: &str, step: &str) -> Self {
        self.starts(child, step, false)
    }
    /// Returns a result.
    fn completes<T: Serialize>(self, output: T) -> Self {
        self.ends(End::Completed(json(output)))
    }
    /// Fails.
    fn errs(self, message: &str) -> Self {
        self.ends(End::Errored(failure(message)))
    }
    /// Hands over to the next run.
    fn continues<T: Serialize>(self, input: T) -> Self {
        self.ends(End::Continued(json(input)))
    }
}

impl Does for Transition {
    fn records(mut self, entry: &Entry) -> Self {
        self.entries.push(entry);
        self
    }

    fn parks(mut self, phase: Phase, wake_at: Option<Timestamp>) -> Self {
        let reason = (phase == Phase::Queued).then(|| "limit".to_owned());
        self.park = Some(Park { phase, wake_at, reason });
        self
    }

    fn starts(mut self, child: &str, step: &str, awaited: bool) -> Self {
        self.children.push(NewChild { instance: instance(child), step: step.into(), awaited });
        self
    }

    fn ends(mut self, end: End) -> Self {
        self.end = Some(end);
        self
    }

    fn pauses(mut self) -> Self {
        self.pause = true;
        self
    }

    fn remembers<T: Serialize>(mut self, context: T) -> Self {
        self.context = Some(json(context));
        self
    }

    fn drops(mut self, step: &str) -> Self {
        self.cancels.push(step.into());
        self
    }

    fn sets<T: Serialize>(mut self, key: &str, value: T) -> Self {
        self.outputs.push((key.into(), json(value)));
        self
    }

    fn sends(mut self, step: &str, delivery: Delivery) -> Self {
        self.sends.push(NewSend { step: step.into(), delivery });
        self
    }

    fn publishes(mut self, step: &str, publish: Publish) -> Self {
        self.publishes.push(NewPublish { step: step.into(), publish });
        self
    }

    fn takes(mut self, step: &str, kind: Kind, pattern: &str) -> Self {
        self.takes.push(NewTake { step: step.into(), kind, pattern: pattern.into() });
        self
    }

    fn reaches(mut self, wait: NewWait) -> Self {
        self.waits.push(wait);
        self
    }
}
