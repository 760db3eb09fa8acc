//! What one run of a workflow has asked for, and what it will be shown next.
//!
//! The futures of [`crate::Cx`] and the [`super::Run`] that drives the workflow meet here, under one
//! lock. A future asks (`begin_*`), the run commits what was asked, releases what may begin, and
//! *reveals* outcomes to the workflow one at a time in a fixed order. That order is the recorded
//! one, so a replay takes the same path through `select!` and `join!` as the live run did.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use hashbrown::HashMap;

use crate::config::Config;
use crate::context::ContextMap;
use crate::cx::Compensation;
use crate::failure::Failure;
use crate::history::{Entry, EntryKind, Recorded, StepKind};
use crate::id::InstanceId;
use crate::instance::{End, NewChild, Transition};
use crate::json::Json;
use crate::retry::Retry;
use crate::time::{Clock, Timestamp};

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
    ops: HashMap<OpId, Op>,
    last_op: OpId,
    past: Past,
    line: VecDeque<Reveal>,
    /// How many of the line come from the history.
    past_left: usize,
    timers: BTreeSet<(Timestamp, OpId)>,
    /// Operations that wait for the store, by step.
    outside: HashMap<Arc<str>, OpId>,
    /// Operations that run or are about to.
    active: usize,
    steps: u32,
    bytes: usize,
    /// Whether each change was patched in, once asked for.
    patches: HashMap<Arc<str>, bool>,
    /// Operations whose `started` record is in `next`.
    held: Vec<OpId>,
    /// What the next commit will hold.
    pub(crate) next: Transition,
    pub(crate) context: ContextMap,
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
    pub(crate) fn new(past: Past, context: ContextMap, clock: Arc<dyn Clock>, c: &Config) -> Self {
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
            timers: BTreeSet::new(),
            outside: HashMap::new(),
            active: 0,
            steps: 0,
            bytes: past.bytes,
            patches: HashMap::new(),
            held: Vec::new(),
            next: Transition::default(),
            context,
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
        retry: &Retry,
        timeout_ms: Option<u64>,
    ) -> OpId {
        let (op, standing) = self.ask(name, StepKind::Step);
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
        self.patches.get(name).copied()
    }

    pub(crate) fn remember_patch(&mut self, name: &Arc<str>, patched: bool) {
        self.patches.insert(Arc::clone(name), patched);
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
        let mut op = Op {
            name: Arc::clone(name),
            kind,
            stage: Stage::Never,
            waker: None,
            attempt: 0,
            failed: 0,
            interrupted: 0,
            began_at: self.clock.now(),
            timeout_ms: None,
        };
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
        self.ops.insert(id, op);
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

    /// An operation its own future still holds: those are in the map until the future lets go.
    fn op(&mut self, id: OpId) -> &mut Op {
        self.ops.entry(id).or_insert_with(|| Op {
            name: "".into(),
            kind: StepKind::Step,
            stage: Stage::Never,
            waker: None,
            attempt: 0,
            failed: 0,
            interrupted: 0,
            began_at: Timestamp(0),
            timeout_ms: None,
        })
    }
}

/// Attempts, rests and ends.
impl State {
    fn start_attempt(&mut self, id: OpId) {
        let op = self.op(id);
        op.attempt += 1;
        op.stage = Stage::Held;
        let started = Entry {
            attempt: Some(op.attempt),
            ..Entry::of_step(EntryKind::StepStarted, &op.name, op.kind)
        };
        let timeout = op.timeout_ms.map(|ms| (ms, Arc::clone(&op.name)));
        self.record(&started);
        if let Some((ms, name)) = timeout {
            let deadline = self.clock.now().after(std::time::Duration::from_millis(ms));
            self.record(&Entry {
                deadline: Some(deadline),
                timeout_ms: Some(ms),
                ..Entry::of_step(EntryKind::TimeoutSet, &name, StepKind::Step)
            });
        }
        self.active += 1;
        self.held.push(id);
    }

    /// Begins anew with all attempts.
    fn start_round(&mut self, id: OpId) {
        let now = self.clock.now();
        let op = self.op(id);
        op.failed = 0;
        op.began_at = now;
        self.start_attempt(id);
    }

    /// The instance goes on: what was exhausted begins a new round.
    pub(crate) fn resumed(&mut self) {
        let exhausted = self.ops.iter().filter(|(_, op)| matches!(op.stage, Stage::Exhausted));
        let mut exhausted: Vec<OpId> = exhausted.map(|(id, _)| *id).collect();
        exhausted.sort_unstable();
        for id in exhausted {
            self.start_round(id);
        }
    }

    /// The process died in an attempt. It is tried again at once, but not for ever, and not at
    /// all when the step asked to run at most once.
    fn interrupted(&mut self, id: OpId, retry: &Retry) {
        let max = self.max_interruptions;
        let op = self.op(id);
        op.interrupted += 1;
        let (name, attempt, times) = (Arc::clone(&op.name), op.attempt, op.interrupted);
        let why_not = if retry.runs_at_most_once() {
            Some("it runs at most once".to_owned())
        } else if times >= max {
            Some(format!("{times} crashes in a row (step.maxInterruptions)"))
        } else {
            None
        };
        let message = why_not.as_deref().unwrap_or("the process stopped while it ran");
        let failure = Failure::new("STEP_INTERRUPTED", message).in_step(&name);
        self.record(&Entry {
            attempt: Some(attempt),
            will_retry: why_not.is_none(),
            error: Some(failure.clone()),
            ..Entry::of_step(EntryKind::StepFailed, &name, StepKind::Step)
        });
        match why_not {
            None => self.start_attempt(id),
            Some(_) => self.settle(id, Err(failure)),
        }
    }

    /// An attempt has its result.
    pub(crate) fn succeeded(&mut self, id: OpId, result: Json) {
        let now = self.clock.now();
        let op = self.op(id);
        let entry = Entry {
            attempt: Some(op.attempt),
            duration_ms: Some(millis(now, op.began_at)),
            payload: Some(result.clone()),
            ..Entry::of_step(EntryKind::StepCompleted, &op.name, op.kind)
        };
        self.record(&entry);
        self.active -= 1;
        self.count_bytes(result.size());
        self.settle(id, Ok(result));
    }

    /// An attempt failed: rest and try again, pause, or fail the step.
    pub(crate) fn failed(&mut self, id: OpId, failure: Failure, retry: Option<&Retry>) {
        let now = self.clock.now();
        let random = self.clock.random();
        self.active -= 1;
        let op = self.op(id);
        op.failed += 1;
        op.interrupted = 0;
        let (name, attempt, failed) = (Arc::clone(&op.name), op.attempt, op.failed);
        let began_at = op.began_at;
        let delay = retry.and_then(|retry| retry.next(failed, now.since(began_at), random));
        let pauses = retry.is_some_and(Retry::pauses_when_exhausted) && delay.is_none();
        if failure.code == "STEP_TIMEOUT" {
            self.record(&Entry {
                timeout_ms: failure.detail("timeoutMs"),
                ..Entry::of_step(EntryKind::TimeoutExceeded, &name, StepKind::Step)
            });
        }
        let message = failure.message.clone();
        let last = match retry {
            Some(_) if delay.is_none() => exhausted(&name, failed, message),
            _ => failure.clone(),
        };
        self.record(&Entry {
            attempt: Some(attempt),
            will_retry: delay.is_some() || pauses,
            error: Some(if pauses { failure } else { last.clone() }),
            ..Entry::of_step(EntryKind::StepFailed, &name, StepKind::Step)
        });
        if retry.is_some() && delay.is_none() {
            self.record(&Entry {
                attempts: Some(failed),
                ..Entry::of_step(EntryKind::RetryExhausted, &name, StepKind::Step)
            });
        }
        if let Some(delay) = delay {
            let at = now.after(delay);
            self.record(&Entry {
                attempt: Some(attempt + 1),
                next_attempt_at: Some(at),
                delay_ms: Some(millis(at, now)),
                ..Entry::of_step(EntryKind::RetryScheduled, &name, StepKind::Step)
            });
            self.rest(id, at);
        } else if pauses {
            self.op(id).stage = Stage::Exhausted;
            self.pause_for = Some(name);
        } else {
            self.settle(id, Err(last));
        }
    }

    fn rest(&mut self, id: OpId, until: Timestamp) {
        self.op(id).stage = Stage::Until(until);
        self.timers.insert((until, id));
    }

    fn wait_outside(&mut self, id: OpId) {
        let op = self.op(id);
        op.stage = Stage::Outside;
        let name = Arc::clone(&op.name);
        self.outside.insert(name, id);
    }

    fn settle(&mut self, id: OpId, outcome: Outcome) {
        self.op(id).stage = Stage::Settled(outcome);
        self.line.push_back(Reveal::Op(id));
    }

    /// The future of an operation was dropped. While its workflow lives, that cancels it. Answers
    /// with a result that the workflow had not seen.
    pub(crate) fn dropped(&mut self, id: OpId) -> Option<Json> {
        let op = self.ops.remove(&id)?;
        let kind = op.kind;
        match op.stage {
            Stage::Settled(outcome) | Stage::Revealed(outcome) => return outcome.ok(),
            Stage::Never => return None,
            _ if self.dropping => return None,
            Stage::Held | Stage::Attempt => self.active -= 1,
            Stage::Exhausted => {}
            Stage::Until(at) => {
                self.timers.remove(&(at, id));
            }
            Stage::Outside => {
                self.outside.remove(&op.name);
            }
        }
        self.record(&Entry::of_step(EntryKind::StepCancelled, &op.name, kind));
        None
    }
}

/// What the run asks of its state.
impl State {
    /// Polls an operation: its outcome once revealed, otherwise where it stands.
    pub(crate) fn poll(&mut self, id: OpId, waker: &Waker) -> Option<Outcome> {
        let op = self.op(id);
        if let Stage::Revealed(_) = op.stage
            && let Some(op) = self.ops.remove(&id)
            && let Stage::Revealed(outcome) = op.stage
        {
            return Some(outcome);
        }
        let op = self.op(id);
        if !op.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            op.waker = Some(waker.clone());
        }
        None
    }

    pub(crate) fn may_run(&self, id: OpId) -> bool {
        self.ops.get(&id).is_some_and(|op| matches!(op.stage, Stage::Attempt))
    }

    /// The operations whose `started` record the next commit holds.
    pub(crate) fn take_held(&mut self) -> Vec<OpId> {
        std::mem::take(&mut self.held)
    }

    /// Their records are durable: they may begin.
    pub(crate) fn release(&mut self, held: Vec<OpId>) {
        for id in held {
            if let Some(op) = self.ops.get_mut(&id)
                && let Stage::Held = op.stage
            {
                op.stage = Stage::Attempt;
                wake(op);
            }
        }
    }

    /// Ends sleeps and begins retries that are due.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        while let Some(&(at, id)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            let op = self.op(id);
            if op.kind == StepKind::Step {
                self.start_attempt(id);
                continue;
            }
            let entry = Entry {
                duration_ms: Some(millis(now, op.began_at)),
                ..Entry::of_step(EntryKind::SleepCompleted, &op.name, StepKind::Sleep)
            };
            self.record(&entry);
            self.settle(id, Ok(Json::null()));
        }
    }

    /// The store recorded something for this run.
    pub(crate) fn arrived(&mut self, recorded: &Recorded) {
        if recorded.seq <= self.past.last_seq {
            // Replay has it already: the hint and the read crossed.
            return;
        }
        self.past.last_seq = recorded.seq;
        let entry = &recorded.entry;
        if entry.entry == EntryKind::WorkflowTerminating {
            self.record(&entry.seen());
            self.past_left += 1;
            self.line.push_back(Reveal::Past(PastReveal::terminating(entry)));
        } else if let Some(outcome) = entry.outcome()
            && let Some(name) = &entry.name
        {
            let size = outcome.as_ref().map_or(0, Json::size);
            if let Some(id) = self.outside.remove(name) {
                self.settle(id, outcome);
            } else if self.past.steps.get_mut(name).is_some_and(|step| step.arrived(outcome)) {
                // The workflow has not come that far in this life.
                self.past_left += 1;
                self.line.push_back(Reveal::Past(PastReveal::Step(Arc::clone(name))));
            } else {
                return;
            }
            self.record(&entry.seen());
            self.count_bytes(size);
        }
    }

    /// The number of the last arrival that was heard of.
    pub(crate) fn heard(&self) -> i64 {
        self.past.last_seq
    }

    /// Shows the workflow the next outcome in line.
    pub(crate) fn reveal(&mut self) -> Revealed {
        while let Some(next) = self.line.front() {
            let id = match next {
                Reveal::Op(id) => *id,
                Reveal::Past(PastReveal::Terminating(end)) => {
                    let end = end.clone();
                    self.line.pop_front();
                    self.past_left = self.past_left.saturating_sub(1);
                    return Revealed::Terminate(end);
                }
                Reveal::Past(PastReveal::Step(name)) => {
                    match self.past.steps.get(name).and_then(|step| step.asked) {
                        Some(id) => id,
                        None => {
                            let name = Arc::clone(name);
                            self.not_asked_for(&name);
                            return Revealed::Nothing;
                        }
                    }
                }
            };
            if let Some(Reveal::Past(_)) = self.line.pop_front() {
                self.past_left = self.past_left.saturating_sub(1);
            }
            // What was dropped in the meantime is skipped.
            if let Some(op) = self.ops.get_mut(&id)
                && let Stage::Settled(_) = op.stage
                && let Stage::Settled(outcome) = std::mem::replace(&mut op.stage, Stage::Never)
            {
                op.stage = Stage::Revealed(outcome);
                wake(op);
                return Revealed::Outcome;
            }
        }
        Revealed::Nothing
    }

    fn not_asked_for(&mut self, name: &str) {
        let waiting: Vec<&str> = self.ops.values().map(|op| &*op.name).collect();
        let waiting = if waiting.is_empty() { "nothing".to_owned() } else { waiting.join(", ") };
        self.mismatch.get_or_insert_with(|| {
            format!(
                "step {name:?} was recorded, but the workflow does not ask for it; it waits for {waiting}"
            )
        });
    }

    /// The workflow returned; did it ask for everything that was recorded?
    pub(crate) fn check_all_asked(&mut self) {
        let mut unasked = self
            .past
            .steps
            .iter()
            .filter(|(_, step)| step.asked.is_none() && !step.kind.is_value());
        if let Some((name, _)) = unasked.next() {
            self.mismatch.get_or_insert_with(|| {
                format!("step {name:?} was recorded, but the workflow ended without asking for it")
            });
        }
    }

    /// Forgets the operations and what they hold: their wakers point back at the instance.
    pub(crate) fn let_go(&mut self) {
        self.ops.clear();
        self.timers.clear();
        self.outside.clear();
        self.active = 0;
    }

    /// Whether an attempt runs, is about to, or something is in line to be seen.
    pub(crate) fn is_active(&self) -> bool {
        self.active > 0 || !self.line.is_empty()
    }

    pub(crate) fn has_attempts(&self) -> bool {
        self.active > 0
    }

    pub(crate) fn waits_outside(&self) -> bool {
        !self.outside.is_empty()
    }

    pub(crate) fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }
}

fn wake(op: &mut Op) {
    if let Some(waker) = op.waker.take() {
        waker.wake();
    }
}

fn millis(later: Timestamp, earlier: Timestamp) -> u64 {
    u64::try_from(later.since(earlier).as_millis()).unwrap_or(u64::MAX)
}

fn exhausted(step: &str, attempts: u32, message: String) -> Failure {
    crate::Error::StepRetryExhausted { step: step.to_owned(), attempts, message }.to_failure()
}
