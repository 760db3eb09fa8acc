//! Sending and waiting. Few names, so that things meet; few ids, so that some come twice.

use std::sync::Arc;

use abide::expr::Folded;
use abide::trace::Trace;
use abide::{
    Buffer, Count, Delivery, Folding, Hears, Json, Kind, NewPublish, NewSend, NewTake, NewWait,
    OnTerminal, Timestamp, Transition, WaitEdit, WaitFilter, WaitStatus,
};

use super::super::operation::Operation;
use super::{Generator, STEPS};
use crate::fixture::{delivery, folding, json};

pub(super) const TYPES: [&str; 3] = ["e", "e.x", "e.x.y"];
pub(super) const PATTERNS: [&str; 4] = ["e", "e.x", "e.*", "**"];
const NAMES: [&str; 2] = ["s", "t"];
/// The last one fails on most events, which is no match.
pub(super) const FILTERS: [&str; 9] = [
    "event.payload.n >= 3",
    "event.payload.n === 1",
    "event.payload.user === 'ann'",
    "event.payload.user === 'ann' && event.payload.n > 1",
    "event.payload.n in [1, 2, 4]",
    "event.payload.n === 5 || event.payload.user === 'bob'",
    "event.correlationId === 'c1'",
    "event.source === 'x' && event.seq > 2",
    "event.payload.user.startsWith('b')",
];
const DISTINCT: [&str; 2] = ["event.payload.user", "event.payload.n"];
const OUTPUTS: [&str; 2] = ["p", "q"];

impl Generator {
    pub(super) fn event_operation(&mut self) -> Operation {
        match self.random.u32(..12) {
            0..7 => Operation::Deliver(self.delivery()),
            7..10 => {
                let ids = (0..self.random.usize(1..4)).map(|_| self.busy_id()).collect();
                Operation::FallDue(ids)
            }
            10 => {
                let wait = self.random.u32(..=self.waits);
                Operation::EditWait(format!("sub_{wait}"), self.edit())
            }
            _ => Operation::Waits(self.wait_filter()),
        }
    }

    fn edit(&mut self) -> WaitEdit {
        let timeout_at = self.one_in(2).then(|| self.deadline());
        let filter = self.one_in(2).then(|| self.filter_of_a_wait());
        WaitEdit { timeout_at, filter }
    }

    fn filter_of_a_wait(&mut self) -> Option<Folding> {
        self.one_in(3).then(|| expression(self.pick(&FILTERS)))
    }

    /// Sometimes what a transition has to do with events.
    pub(super) fn with_events(&mut self, mut transition: Transition) -> Transition {
        for _ in 0..self.random.usize(..4) {
            let wait = self.wait();
            transition.waits.push(wait);
        }
        if self.one_in(3) {
            self.race(&mut transition.waits);
        }
        for _ in 0..self.random.usize(..5).saturating_sub(2) {
            transition.cancels.push(Arc::from(self.pick(&STEPS)));
        }
        if self.one_in(5) {
            let value = json(self.random.u8(..));
            transition.outputs.push((Arc::from(self.pick(&OUTPUTS)), value));
        }
        if self.one_in(5) {
            let step = Arc::from(self.pick(&STEPS));
            let delivery = Delivery { source: Some(self.id().as_str().into()), ..self.delivery() };
            transition.sends.push(NewSend { step, delivery });
        }
        if self.one_in(4) {
            let step = Arc::from(self.pick(&STEPS));
            transition.publishes.push(NewPublish { step, publish: self.publish() });
        }
        if self.one_in(6) {
            let (kind, pattern) = self.pattern();
            transition.takes.push(NewTake { step: Arc::from(self.pick(&STEPS)), kind, pattern });
        }
        transition
    }

    pub(super) fn wait(&mut self) -> NewWait {
        self.waits += 1;
        let hears = if self.one_in(6) {
            Hears::Output { of: self.busy_id(), key: Arc::from(self.pick(&OUTPUTS)) }
        } else {
            let (kind, pattern) = self.pattern();
            Hears::Sent { kind, pattern }
        };
        NewWait {
            id: format!("sub_{}", self.waits).into(),
            step: Arc::from(self.pick(&STEPS)),
            filter: self.filter_of_a_wait(),
            count: self.one_in(4).then(|| self.count()).filter(|_| is_sent(&hears)),
            hears,
            race: None,
            since: self.since(),
            timeout_at: self.deadline(),
        }
    }

    fn count(&mut self) -> Count {
        let distinct_by = self.one_in(2).then(|| expression(self.pick(&DISTINCT)));
        Count { needed: self.random.u32(2..4), distinct_by, held: vec![] }
    }

    /// Lets two or three waits race. Counted ones don't.
    fn race(&mut self, waits: &mut Vec<NewWait>) {
        self.races += 1;
        let race: Arc<str> = format!("r{}", self.races).into();
        while waits.len() < self.random.usize(2..4) {
            let wait = self.wait();
            waits.push(wait);
        }
        for wait in waits.iter_mut().filter(|wait| wait.count.is_none()) {
            wait.race = Some(Arc::clone(&race));
        }
    }

    /// Mostly something that filters and distinct values look into.
    pub(super) fn payload(&mut self) -> Option<Json> {
        match self.random.u32(..5) {
            0 => None,
            1 => Some(json(self.random.u8(..))),
            _ => {
                let (n, user) = (self.random.u8(..6), self.pick(&["ann", "bob"]));
                Some(json(serde_json::json!({ "n": n, "user": user })))
            }
        }
    }

    fn deadline(&mut self) -> Option<Timestamp> {
        self.one_in(3).then(|| self.moment())
    }

    fn kind(&mut self) -> Kind {
        *self.random.choice(&[Kind::Event, Kind::Event, Kind::Signal, Kind::Message]).unwrap()
    }

    fn pattern(&mut self) -> (Kind, Arc<str>) {
        let kind = self.kind();
        let from: &[&'static str] = if kind == Kind::Event { &PATTERNS } else { &NAMES };
        (kind, Arc::from(self.pick(from)))
    }

    pub(super) fn trace(&mut self) -> Option<Trace> {
        let nth = self.one_in(3).then(|| self.random.u32(1..10))?;
        format!("00-{nth:032x}-{nth:016x}-01").parse().ok()
    }

    fn delivery(&mut self) -> Delivery {
        let kind = self.kind();
        let is_event = kind == Kind::Event;
        let name = if is_event { self.pick(&TYPES) } else { self.pick(&NAMES) };
        let policies = [Buffer::Latest, Buffer::Latest, Buffer::Queue, Buffer::None];
        let policy = policies[self.random.usize(..policies.len())];
        let on_terminal = if self.one_in(2) { OnTerminal::Ignore } else { OnTerminal::Error };
        self.sent += self.random.u32(..4).min(1);
        Delivery {
            payload: self.payload(),
            on_terminal,
            visible_at: self.one_in(4).then(|| self.moment()),
            wake: !self.one_in(5),
            buffer: if is_event { policy } else { Buffer::Queue },
            trace: self.trace(),
            refused: self.one_in(20).then(|| "not declared".to_owned()),
            ..delivery(kind, self.busy_id().as_str(), name, &format!("m{}", self.sent))
        }
    }

    fn wait_filter(&mut self) -> WaitFilter {
        let statuses = [WaitStatus::Active, WaitStatus::Fulfilled, WaitStatus::Cancelled];
        WaitFilter {
            id: self.one_in(4).then(|| format!("sub_{}", self.random.u32(..=self.waits))),
            instance: self.one_in(3).then(|| self.id()),
            pattern: self.one_in(3).then(|| self.pick(&PATTERNS).to_owned()),
            status: self.one_in(2).then(|| statuses[self.random.usize(..statuses.len())]),
            step: self.one_in(4).then(|| self.pick(&STEPS).to_owned()),
            // Keys are a store's own.
            after: None,
            limit: self.one_in(4).then(|| self.random.usize(..4)),
        }
    }
}

fn is_sent(hears: &Hears) -> bool {
    matches!(hears, Hears::Sent { .. })
}

/// An expression as it looks when it was read back: answers are compared in words, which would tell
/// the two apart.
fn expression(written: &str) -> Folding {
    let Folding { written, folded } = folding(written);
    Folding { written, folded: Folded::parse(&folded.to_string()).unwrap() }
}
