//! Publishing, the log and documents. The types are those of what is sent, so that both meet the same
//! waits.

use std::time::Duration;

use abide::window::{WindowRule, Windowing};
use abide::{
    CancelBy, DocumentKind, Hears, Kind, LogFilter, LogRetention, NewInstance, NewWait,
    Publication, Publish, Since, StartBy, Timestamp, Transition, TriggerFailed,
};

use super::super::operation::{Operation, Speaker};
use super::events::{PATTERNS, TYPES};
use super::{Generator, STEPS};
use crate::fixture::{failure, id, json};

const PERIOD: Duration = Duration::from_millis(30);
/// One trigger each, so that the inputs of what waits to begin fit the rule.
const WINDOWS: [(&str, Option<WindowRule>); 5] = [
    ("plain", None),
    ("debounce", Some(WindowRule::Debounce { period: PERIOD, max_wait: None })),
    (
        "hurried",
        Some(WindowRule::Debounce { period: PERIOD, max_wait: Some(Duration::from_millis(40)) }),
    ),
    ("throttle", Some(WindowRule::Throttle { limit: 1, period: PERIOD })),
    ("batch", Some(WindowRule::Batch { max_size: 3, period: PERIOD })),
];
const NAMES: [&str; 2] = ["one", "two"];

impl Generator {
    pub(super) fn log_operation(&mut self) -> Operation {
        match self.random.u32(..32) {
            24..29 => self.reach(),
            29.. => Operation::Claim(self.busy_id()),
            0..16 => Operation::Publish(self.publish()),
            16..18 => Operation::Log(self.log_filter()),
            18 => self.prune_log(),
            19..21 => {
                let wait = self.random.u32(..=self.waits);
                Operation::Overheard(format!("sub_{wait}"), self.random.usize(1..6))
            }
            21 => {
                let body = json(self.random.u8(..3));
                Operation::PutDocument(self.document_kind(), self.pick(&NAMES), body)
            }
            22 if self.one_in(3) => {
                Operation::RemoveDocument(self.document_kind(), self.pick(&NAMES))
            }
            _ => {
                let version = self.one_in(2).then(|| self.random.u32(1..4));
                Operation::Document(self.document_kind(), self.pick(&NAMES), version)
            }
        }
    }

    /// Somebody who may speak waits for events, and may drop a wait from before.
    fn reach(&mut self) -> Operation {
        let by = Speaker { id: self.busy_id(), claims_since: 0, runs_since: 0, deaf: false };
        let mut does = Transition::default();
        for _ in 0..self.random.usize(1..4) {
            let pattern = self.pick(&PATTERNS).into();
            let hears = Hears::Sent { kind: Kind::Event, pattern };
            does.waits.push(NewWait { hears, ..self.wait() });
        }
        if self.one_in(2) {
            does.cancels.push(self.pick(&STEPS).into());
        }
        Operation::Commit(by, Box::new(does))
    }

    pub(super) fn publish(&mut self) -> Publish {
        self.published += self.random.u32(..5).min(1);
        let event = Publication {
            payload: self.payload(),
            id: Some(format!("p{}", self.published)),
            source: [None, Some("x".to_owned())][self.published as usize % 2].clone(),
            time: Some(self.moment()),
            subject: self.one_in(4).then(|| "s".to_owned()),
            correlation_id: self.one_in(2).then(|| self.pick(&["c1", "c2"]).to_owned()),
            ..Publication::new(self.pick(&TYPES))
        };
        let starts = if self.one_in(4) { self.random.usize(1..3) } else { 0 };
        let failed = TriggerFailed { trigger: "broken".into(), error: failure("no such field") };
        let mut starts: Vec<StartBy> = (0..starts).map(|_| self.start_by()).collect();
        // A trigger wants an event once.
        starts.dedup_by(|one, other| one.trigger == other.trigger);
        Publish {
            cancels: self.one_in(10).then(|| self.cancel()).into_iter().collect(),
            starts,
            failed: self.one_in(9).then_some(failed).into_iter().collect(),
            dry_run: self.one_in(9),
            refused: self.one_in(20).then(|| "not as defined".to_owned()),
            ..Publish::new(event)
        }
    }

    fn cancel(&mut self) -> CancelBy {
        let workflow = self.pick(&["order", "mail"]).into();
        let correlation_id = self.pick(&["c1", "c2"]).to_owned();
        CancelBy { trigger: "cancels".into(), workflow, correlation_id }
    }

    fn start_by(&mut self) -> StartBy {
        let (trigger, rule) = WINDOWS[self.random.usize(..WINDOWS.len())];
        let key = self.pick(&["u", "v"]).into();
        let new = if self.one_in(4) { self.id() } else { id(self.pick(&["k1", "k2", "k3"])) };
        let start_at = self.one_in(4).then(|| self.moment());
        let instance = NewInstance { id: new, start_at, first: None, ..self.instance() };
        StartBy {
            trigger: trigger.into(),
            instance,
            window: rule.map(|rule| Windowing { key, rule }),
        }
    }

    pub(super) fn since(&mut self) -> Since {
        match self.random.u32(..8) {
            0 => Since::Now,
            1 => Since::At(Timestamp(self.moment().0 - 60)),
            2 => Since::Before(Duration::from_millis(10 * self.random.u64(..12))),
            _ => Since::Start,
        }
    }

    fn log_filter(&mut self) -> LogFilter {
        LogFilter {
            id: self.one_in(6).then(|| format!("p{}", self.random.u32(..=self.published))),
            event_type: self.one_in(3).then(|| self.pick(&PATTERNS).to_owned()),
            source: self.one_in(5).then(|| "x".to_owned()),
            unwanted: self.one_in(3),
            from: self.one_in(4).then(|| Timestamp(self.moment().0 - 100)),
            to: self.one_in(4).then(|| self.moment()),
            after: self.one_in(3).then(|| self.random.i64(..20)),
            newest_first: self.one_in(2),
            limit: self.random.usize(..6),
        }
    }

    /// One rule at a time: whether what one lets go still counts for another is up to the store.
    fn prune_log(&mut self) -> Operation {
        let none = LogRetention::default();
        let retention = match self.random.u32(..3) {
            0 => LogRetention { before: Some(Timestamp(self.moment().0 - 100)), ..none },
            1 => LogRetention { max_bytes: Some(self.random.u64(..300)), ..none },
            _ => LogRetention { max_per_type: Some(self.random.u64(..5)), ..none },
        };
        // An id that is forgotten would be another event the next time.
        self.published += 1;
        Operation::PruneLog(retention, self.random.usize(1..6))
    }

    fn document_kind(&mut self) -> DocumentKind {
        DocumentKind::ALL[self.random.usize(..DocumentKind::ALL.len())]
    }
}
