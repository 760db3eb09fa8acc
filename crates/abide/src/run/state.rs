//! What one run of a workflow has asked for, and what it will be shown next.
//!
//! The futures of [`crate::Cx`] and the [`super::Run`] that drives the workflow meet here, under one
//! lock. A future asks (`begin_*`), the run commits what was asked, releases what may begin, and
//! *reveals* outcomes to the workflow one at a time in a fixed order. That order is the recorded
//! one, so a replay takes the same path through `select!` and `join!` as the live run did.

mod attempt;
mod mail;
mod reveal;
mod warning;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use hashbrown::HashMap;

use crate::config::Config;
use crate::context::ContextMap;
use crate::cx::Compensation;
use crate::failure::Failure;
use crate::history::{Entry, EntryKind, StepKind};
use crate::id::InstanceId;
use crate::instance::{End, NewChild, Transition};
use crate::json::Json;
use crate::retry::Retry;
use crate::time::{Clock, Timestamp};
use crate::trace::Trace;

use super::agenda::Agenda;
use super::past::{Past, PastReveal, Standing};

/// Names one operation of this life of the run; not stored.
pub(crate) type OpId = u64;

type Outcome = Result<Json, Failure>;

/// Something the workflow asked for and has not seen the end of.
pub(crate) struct Op {
    pub(crate) name: Arc<str>,
    pub(crate) kind: StepKind,
    pub(crate) stage: Stage,
    /// Whoever polled it last, a `FuturesUnordered` perhaps: it must be told of a reveal.
    pub(crate) waker: Option<Waker>,
    attempt: u32,
    failed: u32,
    interrupted: u32,
    began_at: Timestamp,
    timeout_ms: Option<u64>,
    /// When the store is to be asked what became of a wait.
    deadline: Option<Timestamp>,
}

impl Op {
    fn new(name: &Arc<str>, kind: StepKind, began_at: Timestamp) -> Self {
        Self {
            name: Arc::clone(name),
            kind,
            stage: Stage::Never,
            waker: None,
            attempt: 0,
            failed: 0,
            interrupted: 0,
            began_at,
            timeout_ms: None,
            deadline: None,
        }
    }
}

/// Where an operation stands.
pub(crate) enum Stage {
    /// Its `started` record is on the way to the store; it may not begin before that is durable.
    Held,
    /// Its attempt may run, or runs.
    Attempt,
    /// It rests: a sleep, or the delay before a retry.
    Until(Timestamp),
    /// It waits for something that the store will record.
    Outside,
    /// It is over, and in line to be revealed.
    Settled(Outcome),
    /// The next poll takes the outcome.
    Revealed(Outcome),
    /// All attempts failed and the instance pauses; a new round begins when it is resumed.
    Exhausted,
    /// It will never come: cancelled in an earlier life, or asked for in vain.
    Never,
}

/// What is in line to be revealed.
enum Reveal {
    Op(OpId),
    Past(PastReveal),
}

/// What revealing the next thing came to.
pub(crate) enum Revealed {
    /// The workflow has something new to see: poll it.
    Outcome,
    /// Stop the workflow and compensate.
    Terminate(End),
    /// Nothing is in line.
    Nothing,
}

/// The state of one run in memory. See the module.
pub(crate) struct State {
    clock: Arc<dyn Clock>,
    max_steps: u32,
    max_bytes: usize,
    max_interruptions: u32,
    /// How often each name was used; the nth use is `name#n`.
    uses: HashMap<Arc<str>, u32>,
    /// Boxed, because a map keeps room for more than it holds and most runs ask for one thing at
    /// a time.
    ops: HashMap<OpId, Box<Op>>,
    last_op: OpId,
    past: Past,
    line: VecDeque<Reveal>,
    /// How many of the line come from the history.
    past_left: usize,
    timers: Agenda,
    /// Deadlines of waits. The store decides what they mean; here they only say when to look.
    deadlines: Agenda,
    /// Operations that wait for the store, by step.
    outside: HashMap<Arc<str>, OpId>,
    /// How often each output was set in an earlier life and not yet in this one.
    told_left: HashMap<(EntryKind, Arc<str>), u32>,
    /// Operations that run or are about to.
    active: usize,
    steps: u32,
    bytes: usize,
    /// Whether each change was patched in, once asked for. A list, because there are few.
    patches: Vec<(Arc<str>, bool)>,
    /// Operations whose `started` record is in `next`.
    held: Vec<OpId>,
    /// What the next commit will hold.
    pub(crate) next: Transition,
    /// What to say to those who watch, once everything before it is durable.
    pub(crate) broadcasts: Vec<(Arc<str>, Json)>,
    pub(crate) context: ContextMap,
    /// The trace of what started it or woke it last.
    pub(crate) trace: Option<Trace>,
    pub(crate) compensations: Vec<Compensation>,
    /// The input of the next run, once the workflow asked for one.
    pub(crate) continue_with: Option<Json>,
    /// A limit was hit: the run is over, whatever the workflow does with the error.
    pub(crate) fatal: Option<Failure>,
    /// The workflow and its history don't fit.
    pub(crate) mismatch: Option<String>,
    /// The instance shall pause with the next commit, for this step.
    pub(crate) pause_for: Option<Arc<str>>,
    /// The workflow is being dropped as a whole, so the drop of a future means nothing.
    pub(crate) dropping: bool,
}

impl State {
    pub(crate) fn new(
        mut past: Past,
        context: ContextMap,
        clock: Arc<dyn Clock>,
        c: &Config,
    ) -> Self {
        let mut state = Self {
            clock,
            max_steps: c.run_max_steps,
            max_bytes: c.instance_max_bytes,
            max_interruptions: c.step_max_interruptions,
            uses: HashMap::new(),
            ops: HashMap::new(),
            last_op: 0,
            past_left: past.order.len(),
            line: VecDeque::new(),
            timers: Agenda::default(),
            deadlines: Agenda::default(),
            outside: HashMap::new(),
            told_left: std::mem::take(&mut past.told),
            active: 0,
            steps: 0,
            bytes: past.bytes,
            patches: Vec::new(),
            held: Vec::new(),
            next: Transition::default(),
            broadcasts: Vec::new(),
            context,
            trace: None,
            compensations: Vec::new(),
            continue_with: None,
            fatal: None,
            mismatch: None,
            pause_for: None,
            dropping: false,
            past,
        };
        state.line = std::mem::take(&mut state.past.order).into_iter().map(Reveal::Past).collect();
        for mark in std::mem::take(&mut state.past.seen_now) {
            state.record(&mark);
        }
        state
    }

    /// The name of the next use of a step: `name`, then `name#2`, …
    pub(crate) fn use_name(&mut self, name: &str) -> Arc<str> {
        if let Some(uses) = self.uses.get_mut(name) {
            *uses += 1;
            return format!("{name}#{uses}").into();
        }
        let name: Arc<str> = name.into();
        self.uses.insert(Arc::clone(&name), 1);
        name
    }

    /// Whether everything recorded has been asked for and seen.
    pub(crate) fn is_live(&self) -> bool {
        self.past.unasked == 0 && self.past_left == 0
    }

    /// Asks for a step that runs a function.
    pub(crate) fn begin_step(
        &mut self,
        name: &Arc<str>,
        kind: StepKind,
        retry: &Retry,
        timeout_ms: Option<u64>,
    ) -> OpId {
        let (op, standing) = self.ask(name, kind);
        self.op(op).timeout_ms = timeout_ms;
        match standing {
            None => self.start_attempt(op),
            Some(Standing::Begun) => self.interrupted(op, retry),
            Some(Standing::Exhausted) => self.start_round(op),
            Some(Standing::Until(at)) => self.rest(op, at),
            Some(Standing::Settled(outcome)) => self.op(op).stage = Stage::Settled(outcome),
            Some(Standing::Cancelled) => {}
        }
        op
    }

    /// Asks for a sleep.
    pub(crate) fn begin_sleep(
        &mut self,
        name: &Arc<str>,
        until: impl FnOnce(Timestamp) -> Timestamp,
    ) -> OpId {
        let (op, standing) = self.ask(name, StepKind::Sleep);
        match standing {
            None => {
                let now = self.clock.now();
                let resume_at = until(now);
                self.record(&Entry {
                    duration_ms: Some(millis(resume_at, now)),
                    resume_at: Some(resume_at),
                    ..Entry::of_step(EntryKind::SleepStarted, name, StepKind::Sleep)
                });
                self.rest(op, resume_at);
            }
            Some(Standing::Until(at)) => self.rest(op, at),
            Some(Standing::Settled(outcome)) => self.op(op).stage = Stage::Settled(outcome),
            Some(Standing::Begun | Standing::Exhausted | Standing::Cancelled) => {}
        }
        op
    }

    /// Whether an earlier life recorded a step that this one has not asked for yet.
    pub(crate) fn is_recorded(&self, name: &str) -> bool {
        self.past.steps.get(name).is_some_and(|step| step.asked.is_none())
    }

    /// Asks for a child, which is there unless it was recorded. Answers with its id as well.
    pub(crate) fn begin_child(
        &mut self,
        name: &Arc<str>,
        kind: StepKind,
        child: Option<NewChild>,
    ) -> (OpId, Option<InstanceId>) {
        let recorded = self.past.steps.get(name).and_then(|step| step.child_id.clone());
        let (op, standing) = self.ask(name, kind);
        match standing {
            None => {
                let Some(child) = child else { return (op, None) };
                let id = child.instance.id.clone();
                self.record(&Entry {
                    child_id: Some(id.clone()),
                    attempt: Some(1),
                    ..Entry::of_step(EntryKind::StepStarted, name, kind)
                });
                self.next.children.push(child);
                self.wait_outside(op);
                return (op, Some(id));
            }
            Some(Standing::Begun) => self.wait_outside(op),
            Some(Standing::Settled(outcome)) => self.op(op).stage = Stage::Settled(outcome),
            Some(Standing::Until(_) | Standing::Exhausted | Standing::Cancelled) => {}
        }
        (op, recorded)
    }

    /// What [`crate::Cx::patched`] said of a change before.
    pub(crate) fn patch(&self, name: &str) -> Option<bool> {
        self.patches.iter().find(|(known, _)| **known == *name).map(|(_, patched)| *patched)
    }

    pub(crate) fn remember_patch(&mut self, name: &Arc<str>, patched: bool) {
        self.patches.push((Arc::clone(name), patched));
    }

    /// A value that is taken once and then always the same.
    pub(crate) fn value(
        &mut self,
        name: &Arc<str>,
        kind: StepKind,
        make: impl FnOnce() -> Json,
    ) -> Json {
        let recorded = self.recorded_value(name, kind);
        recorded.unwrap_or_else(|| {
            let value = make();
            self.record(&Entry {
                payload: Some(value.clone()),
                ..Entry::of_step(EntryKind::StepCompleted, name, kind)
            });
            self.count_bytes(value.size());
            value
        })
    }

    /// A value that was recorded in an earlier life.
    pub(crate) fn recorded_value(&mut self, name: &Arc<str>, kind: StepKind) -> Option<Json> {
        let recorded = self.past.steps.remove(name)?;
        self.past.unasked -= 1;
        match recorded.standing {
            Standing::Settled(Ok(value)) if recorded.kind == kind => Some(value),
            _ => {
                self.mismatched(name, kind, recorded.kind);
                None
            }
        }
    }

    /// Registers an operation, and tells where it stood in an earlier life.
    fn ask(&mut self, name: &Arc<str>, kind: StepKind) -> (OpId, Option<Standing>) {
        self.last_op += 1;
        let id = self.last_op;
        let mut op = Op::new(name, kind, self.clock.now());
        self.steps += 1;
        let mut standing = None;
        if let Some(step) = self.past.steps.get_mut(name) {
            self.past.unasked -= usize::from(step.asked.is_none());
            step.asked = Some(id);
            op.attempt = step.attempt;
            op.failed = step.failed;
            op.interrupted = step.interrupted;
            op.began_at = step.began_at;
            // What was recorded is moved out: an operation is asked for once.
            standing = Some(std::mem::replace(&mut step.standing, Standing::Cancelled));
            let recorded = step.kind;
            if recorded != kind {
                self.mismatched(name, kind, recorded);
                standing = Some(Standing::Cancelled);
            }
        } else if self.steps > self.max_steps {
            self.over_limit("run.maxSteps", self.max_steps as usize);
            standing = Some(Standing::Cancelled);
        }
        self.ops.insert(id, Box::new(op));
        (id, standing)
    }

    fn mismatched(&mut self, name: &str, asked: StepKind, recorded: StepKind) {
        self.mismatch.get_or_insert_with(|| {
            format!("the workflow asks for {name:?} as a {asked}, it was recorded as a {recorded}")
        });
    }

    fn over_limit(&mut self, limit: &str, max: usize) {
        self.fatal.get_or_insert_with(|| {
            let message = format!("the run went over {limit} ({max}); use continue_as_new");
            Failure::new("LIMIT_EXCEEDED", message)
                .with_details(&serde_json::json!({ "limit": limit, "max": max }))
        });
    }

    /// What was done is undone however much that takes.
    pub(crate) fn lift_limits(&mut self) {
        self.max_steps = u32::MAX;
        self.max_bytes = usize::MAX;
    }

    fn count_bytes(&mut self, size: usize) {
        self.bytes += size;
        if self.bytes > self.max_bytes {
            self.over_limit("instance.maxBytes", self.max_bytes);
        }
    }

    /// Adds to what the next commit will hold.
    pub(crate) fn record(&mut self, entry: &Entry) {
        self.next.entries.push(entry);
    }

    /// An operation. Its future holds it in the map until it lets go, so a missing one can't be
    /// asked for; should that ever happen, the answer is one that never comes to anything.
    fn op(&mut self, id: OpId) -> &mut Op {
        self.ops
            .entry(id)
            .or_insert_with(|| Box::new(Op::new(&"".into(), StepKind::Step, Timestamp(0))))
    }
}

fn millis(later: Timestamp, earlier: Timestamp) -> u64 {
    u64::try_from(later.since(earlier).as_millis()).unwrap_or(u64::MAX)
}
