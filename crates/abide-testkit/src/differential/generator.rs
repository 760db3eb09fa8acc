//! Random operations that are mostly sensible: a handful of ids, so that they meet; claims and runs
//! that are mostly current, so that something happens; and sometimes not, so that fences are met.

use std::sync::Arc;
use std::time::Duration;

use abide::history::{Entry, EntryKind, StepKind};
use abide::lifecycle::Control;
use abide::store::{Due, IfExists};
use abide::{
    ChunkFilter, End, Failure, Filter, InstanceId, InstanceKey, NewChild, NewChunk, NewInstance,
    Page, Park, Phase, Status, StreamPosition, Terminate, Timestamp, Transition,
};

use super::operation::{Operation, Speaker};
use crate::fixture::{id, instance, json};

mod events;
mod log;

const IDS: [&str; 14] =
    ["i1", "i2", "i3", "i4", "j1", "j2", "j3", "j4", "j5", "j6", "j7", "k1", "k2", "k3"];
/// Most children are begun under ids that nobody else takes, or hardly any would begin.
const CHILD_IDS: [&str; 8] = ["i1", "j1", "j2", "j3", "j4", "j5", "j6", "j7"];
const PARENT_IDS: [&str; 6] = ["i1", "i2", "i3", "i4", "j1", "j2"];
const STEPS: [&str; 4] = ["a", "b", "c", "d"];

pub(super) struct Generator {
    random: fastrand::Rng,
    /// What the clock will show at the next operation.
    now: Timestamp,
    /// How many waits were made: each has an id of its own.
    waits: u32,
    /// How many races were made: each has a name of its own.
    races: u32,
    /// The number of the last id that something was sent under.
    sent: u32,
    /// The number of the last id that something was published under.
    published: u32,
}

impl Generator {
    pub(super) fn new(seed: u64, now: Timestamp) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { random, now, waits: 0, races: 0, sent: 0, published: 0 }
    }

    pub(super) fn operation(&mut self) -> Operation {
        match self.random.u32(..302) {
            296.. => self.look_at_chunks(),
            290.. => Operation::Append(self.speaker(), self.chunk()),
            180.. => self.log_operation(),
            100.. => self.event_operation(),
            0..10 => self.advance(),
            10 => Operation::Attach,
            11..25 => self.start(),
            25..58 => Operation::Commit(self.speaker(), Box::new(self.transition())),
            58..70 => Operation::Claim(self.busy_id()),
            70..74 => Operation::Release(self.speaker()),
            74..86 => Operation::Control(self.id(), self.control()),
            86..91 => {
                let ago = Duration::from_millis(10 * self.random.u64(..10));
                Operation::Prune(ago, self.random.usize(1..6))
            }
            _ => self.look(),
        }
    }

    fn advance(&mut self) -> Operation {
        let by = Duration::from_millis(10 * self.random.u64(1..5));
        self.now = self.now.after(by);
        Operation::Advance(by)
    }

    /// A start, and children, messages and events only in a batch of one: where the keys of children lie
    /// among those of a batch, and what its members see of each other, is up to the store.
    fn start(&mut self) -> Operation {
        let if_exists = if self.one_in(3) { IfExists::Return } else { IfExists::Error };
        let mut batch: Vec<NewInstance> =
            (0..self.random.usize(1..4)).map(|_| self.instance()).collect();
        if batch.len() > 1 {
            let firsts = batch.iter_mut().filter_map(|new| new.first.as_mut());
            firsts.for_each(|first| {
                first.children.clear();
                first.sends.clear();
                first.publishes.clear();
            });
        }
        Operation::Start(batch, if_exists)
    }

    fn instance(&mut self) -> NewInstance {
        NewInstance {
            workflow: Arc::from(self.pick(&["order", "mail"])),
            correlation_id: self.one_in(3).then(|| self.pick(&["c1", "c2"]).to_owned()),
            tags: (0..self.random.usize(..3)).map(|_| self.pick(&STEPS).to_owned()).collect(),
            start_at: self.one_in(4).then(|| self.moment()),
            timeout: self.one_in(3).then(|| Duration::from_millis(self.random.u64(1..99))),
            trace: self.trace(),
            consumes: self.one_in(8).then(|| self.random.i64(1..20)),
            first: self.one_in(2).then(|| self.transition()),
            ..instance(self.pick(&PARENT_IDS))
        }
    }

    fn transition(&mut self) -> Transition {
        let mut transition = Transition::default();
        for _ in 0..self.random.usize(..4) {
            transition.entries.push(&self.entry());
        }
        transition.park = self.one_in(2).then(|| self.park());
        transition.pause = self.one_in(10);
        transition.chunks = (0..self.random.usize(..6) / 5).map(|_| self.chunk()).collect();
        transition.context = self.one_in(6).then(|| json(self.random.u8(..)));
        transition.end = self.one_in(9).then(|| self.end());
        for _ in 0..self.random.usize(..8).saturating_sub(5) {
            transition.children.push(self.child());
        }
        if self.one_in(2) {
            transition = self.with_events(transition);
        }
        if transition.is_empty() {
            transition.entries.push(&self.entry());
        }
        transition
    }

    fn chunk(&mut self) -> NewChunk {
        let (attempt, index) = (self.random.u32(1..4), self.random.u32(..3));
        let bytes = vec![self.random.alphanumeric() as u8; self.random.usize(..4)];
        NewChunk { step: self.pick(&STEPS).into(), attempt, index, bytes: bytes.into() }
    }

    fn look_at_chunks(&mut self) -> Operation {
        let filter = if self.one_in(2) {
            ChunkFilter::All { after: self.random.i64(..20) }
        } else {
            let (run, attempt) = (self.random.u32(..3), self.random.u32(..4));
            let from = StreamPosition { run, attempt, index: self.random.u32(..3) };
            ChunkFilter::Step { step: self.pick(&STEPS).into(), from }
        };
        Operation::Chunks(self.busy_id(), filter, self.random.usize(1..5))
    }

    fn entry(&mut self) -> Entry {
        let kind = *self.random.choice(STEP_ENTRIES).unwrap_or(&EntryKind::StepCompleted);
        let step_kind = match self.random.u32(..6) {
            0 => StepKind::Child,
            1 => StepKind::Detached,
            _ => StepKind::Step,
        };
        let mut entry = Entry::of_step(kind, &Arc::from(self.pick(&STEPS)), step_kind);
        entry.will_retry = kind == EntryKind::StepFailed && self.one_in(2);
        entry.payload = self.one_in(2).then(|| json(self.random.u8(..)));
        entry
    }

    fn park(&mut self) -> Park {
        let phases = [Phase::Running, Phase::Waiting, Phase::Sleeping, Phase::Queued];
        let phase = phases[self.random.usize(..phases.len())];
        let reason = (phase == Phase::Queued).then(|| "limit".to_owned());
        Park { phase, wake_at: self.one_in(2).then(|| self.moment()), reason }
    }

    fn end(&mut self) -> End {
        let failure = Failure::new("BROKEN", self.pick(&STEPS));
        match self.random.u32(..4) {
            0 => End::Completed(json(self.random.u8(..))),
            1 => End::Errored(failure),
            2 => End::Terminated(failure),
            _ => End::Continued(json(self.random.u8(..))),
        }
    }

    fn child(&mut self) -> NewChild {
        let id = id(self.pick(&CHILD_IDS));
        let new = NewInstance { id, start_at: None, first: None, ..self.instance() };
        let step = Arc::from(self.pick(&STEPS));
        NewChild { instance: new, step, awaited: !self.one_in(3) }
    }

    fn control(&mut self) -> Control {
        match self.random.u32(..10) {
            0..3 => Control::Pause,
            3..6 => Control::Resume,
            6..8 => Control::Terminate(Terminate {
                reason: self.pick(&STEPS).to_owned(),
                compensate: self.one_in(2),
                cascade: !self.one_in(3),
            }),
            8 => Control::Restart { from_step: None },
            _ => Control::Restart { from_step: Some(self.pick(&STEPS).to_owned()) },
        }
    }

    fn look(&mut self) -> Operation {
        let limit = self.random.usize(1..5);
        let key = InstanceKey(self.random.i64(0..20));
        match self.random.u32(..4) {
            0 => Operation::Runnable(key, limit),
            1 => {
                let after =
                    if self.one_in(2) { Due::FIRST } else { Due { at: self.moment(), key } };
                Operation::Due(after, self.moment(), limit)
            }
            2 => Operation::History(self.id(), self.random.i64(..6).max(0), limit),
            _ => {
                let before = self.one_in(2).then_some(key);
                Operation::List(self.filter(), Page { limit, before })
            }
        }
    }

    fn filter(&mut self) -> Filter {
        let statuses = (0..self.random.usize(..3))
            .map(|_| Status::ALL[self.random.usize(..Status::ALL.len())])
            .collect();
        Filter {
            workflow: self.one_in(4).then(|| self.pick(&["order", "mail"]).to_owned()),
            status: statuses,
            id_prefix: self.one_in(4).then(|| self.pick(&["i", "j", "j1"]).to_owned()),
            correlation_id: self.one_in(4).then(|| self.pick(&["c1", "c2"]).to_owned()),
            tag: self.one_in(4).then(|| self.pick(&STEPS).to_owned()),
            parent: self.one_in(4).then(|| self.id()),
            created_after: self.one_in(4).then(|| Timestamp(self.moment().0 - 100)),
            created_before: self.one_in(4).then(|| self.moment()),
            text: self.one_in(4).then(|| self.pick(&["i", "1", "\"j"]).to_owned()),
        }
    }

    fn speaker(&mut self) -> Speaker {
        Speaker {
            id: self.busy_id(),
            claims_since: usize::from(self.one_in(8)),
            runs_since: u32::from(self.one_in(10)),
            deaf: self.one_in(4),
        }
    }

    /// An instance, mostly one of a few: waits and what is sent meet only where much happens.
    fn busy_id(&mut self) -> InstanceId {
        if self.one_in(3) { self.id() } else { id(self.pick(&["i1", "i2"])) }
    }

    fn id(&mut self) -> InstanceId {
        id(self.pick(&IDS))
    }

    /// A moment not far from now, mostly to come. All times are coarse, so that moments coincide.
    fn moment(&mut self) -> Timestamp {
        Timestamp(self.now.0 + 10 * self.random.i64(-2..10))
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.random.usize(..from.len())]
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.random.u32(..n) == 0
    }
}

const STEP_ENTRIES: &[EntryKind] = &[
    EntryKind::StepStarted,
    EntryKind::StepCompleted,
    EntryKind::StepCompleted,
    EntryKind::StepFailed,
    EntryKind::SleepStarted,
    EntryKind::SleepCompleted,
    EntryKind::Seen,
];
