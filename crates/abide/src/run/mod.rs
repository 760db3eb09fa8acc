//! Drives one instance: polls its workflow, commits what it asked for, reveals what came of it.
//!
//! ```text
//!   hear news ─▶ land the commit in flight ─▶ tick timers ─▶ poll and reveal ─▶ commit ─▶ rest
//! ```
//!
//! At most one commit of an instance is in flight. The workflow is polled ahead of it, so that what
//! it does next gathers for the next commit; but nothing it asked for *begins* before the record of
//! it is durable.

mod agenda;
mod course;
mod ending;
mod flight;
mod past;
mod resident;
mod rest;
mod state;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tracing::Span;

use crate::cx::{self, Cx};
use crate::engine::{Env, Inner};
use crate::error::Result;
use crate::failure::Failure;
use crate::history::{Entry, EntryKind};
use crate::id::InstanceKey;
use crate::instance::{End, Instance, Park, Transition};
use crate::json::Json;
use crate::lifecycle;
use crate::status::Phase;
use crate::store::{Claimed, Epoch};
use crate::time::Timestamp;
use crate::trace::{self, Trace};
use crate::workflow::{Body, Outcome, Workflow};

use flight::{Flight, Landing};
pub(crate) use past::Past;
pub(crate) use resident::{News, Resident};
pub(crate) use state::{OpId, Revealed, State};

/// Polls of the workflow in one turn, after which other instances get theirs.
const POLLS_PER_TURN: u32 = 256;

/// An instance being run; a future that is ready when there is nothing left to run in memory.
pub(crate) struct Run {
    engine: Arc<Inner>,
    resident: Arc<Resident>,
    waker: Waker,
    key: InstanceKey,
    epoch: Epoch,
    began_at: Timestamp,
    timeout_at: Option<Timestamp>,
    /// The workflow, or what compensates it. Gone once it has returned.
    body: Option<Body>,
    /// What the instance ends with once compensation is through.
    compensating: Option<End>,
    paused: bool,
    /// What the store shows, so that only changes are written.
    shown: (Phase, Option<Timestamp>),
    flight: Option<Flight>,
    /// Operations whose records are durable but which a pause keeps from beginning.
    withheld: Vec<OpId>,
    /// The end is on its way to the store.
    ending: bool,
    /// Its own pause is on its way to the store.
    pausing: bool,
    /// The end is stored: nobody needs to look again.
    over: bool,
    reported_stuck: bool,
    /// The wake-up the engine was last asked for.
    scheduled: Option<Timestamp>,
    span: Span,
}

/// What a turn came to.
enum Turn {
    /// Until something happens.
    Rest,
    /// There is more to do, but others want a turn too.
    Yield,
    /// It is over, here at least.
    Done,
}

impl Run {
    /// A new instance, not yet in the store.
    pub(crate) fn fresh(
        engine: &Arc<Inner>,
        new: &NewRun<'_>,
        trace: Option<Trace>,
    ) -> Result<Self> {
        let mut state = engine.env.state(Past::default(), new.input.clone());
        state.trace = engine.env.of_run(trace, new.id, new.run);
        Self::build(engine, new, state, (Phase::Running, None))
    }

    /// A stored instance, to be replayed.
    pub(crate) fn replayed(
        engine: &Arc<Inner>,
        workflow: &Workflow,
        claimed: &Claimed,
    ) -> Result<Self> {
        let Instance { id, input, run, .. } = &claimed.instance;
        // Triggers, parents and earlier runs give it as it is.
        let input = &workflow.admit(input.clone())?;
        let past = Past::read(&claimed.history);
        past.met_at.iter().for_each(|at| engine.env.woken_by_event(*at));
        let began_at = past.began_at;
        let mut state = engine.env.state(past, input.clone());
        state.trace = claimed.history.iter().rev().find_map(|told| engine.env.taken_to(told, id));
        if began_at.is_none() {
            let trace = engine.env.begins_in(None, id, *run);
            state.trace = trace;
            state.record(&Entry { trace, ..lifecycle::started(input) });
        }
        let new = NewRun { workflow, id, run: *run, input };
        let shown = (claimed.instance.phase, claimed.instance.wake_at);
        let mut made = Self::build(engine, &new, state, shown)?;
        made.enter(claimed.instance.key, claimed.epoch, began_at.unwrap_or(engine.env.clock.now()));
        made.timeout_at = claimed.instance.timeout_at;
        Ok(made)
    }

    fn build(
        engine: &Arc<Inner>,
        new: &NewRun<'_>,
        state: State,
        shown: (Phase, Option<Timestamp>),
    ) -> Result<Self> {
        let env = Arc::clone(&engine.env);
        let resident = Arc::new(Resident::new(new.id.clone(), new.workflow, new.run, env, state));
        let body = new.workflow.call(Cx::new(Arc::clone(&resident)), new.input)?;
        Ok(Self {
            engine: Arc::clone(engine),
            waker: Waker::from(Arc::clone(&resident)),
            resident,
            key: InstanceKey(0),
            epoch: Epoch(0),
            began_at: Timestamp(0),
            timeout_at: None,
            body: Some(body),
            compensating: None,
            paused: false,
            shown,
            flight: None,
            withheld: Vec::new(),
            ending: false,
            pausing: false,
            over: false,
            reported_stuck: false,
            scheduled: None,
            span: span_of(new),
        })
    }

    /// Polls ahead of the start, so that what the workflow asks for first rides in its commit.
    pub(crate) fn first_transition(&mut self) -> (Transition, Vec<OpId>) {
        let span = self.span.clone();
        let _inside = span.enter();
        self.began_at = self.engine.env.clock.now();
        while self.advance() {}
        self.transition()
    }

    /// The start is durable: `held` may begin.
    pub(crate) fn started(
        &mut self,
        key: InstanceKey,
        epoch: Epoch,
        at: Timestamp,
        held: Vec<OpId>,
    ) {
        self.enter(key, epoch, at);
        self.resident.state.lock().release(held);
    }

    pub(crate) fn set_timeout_at(&mut self, at: Option<Timestamp>) {
        self.timeout_at = at;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ending
    }

    fn enter(&mut self, key: InstanceKey, epoch: Epoch, began_at: Timestamp) {
        self.key = key;
        self.epoch = epoch;
        self.began_at = began_at;
        self.resident.set_claim(key, epoch);
    }

    pub(crate) fn resident(&self) -> &Arc<Resident> {
        &self.resident
    }

    /// Roughly what it takes in memory: its own structures and the workflow's future.
    pub(crate) fn size(&self) -> usize {
        const STRUCTURES: usize = 1024;
        STRUCTURES + self.body.as_ref().map_or(0, |body| size_of_val(&**body))
    }

    fn turn(&mut self, task: &mut Context<'_>) -> Turn {
        if self.engine.is_killed() || self.hear() {
            return Turn::Done;
        }
        match flight::land(self, task) {
            Landing::Done => return Turn::Done,
            Landing::Flying | Landing::Clear => {}
        }
        let mut more = false;
        if !self.ending && !self.pausing {
            self.check_time();
            more = self.advance();
        }
        if self.flight.is_none() {
            let (transition, held) = self.transition();
            if !transition.is_empty() {
                flight::take_off(self, transition, held);
                // Polled once so that its answer wakes this task.
                if let Landing::Done = flight::land(self, task) {
                    return Turn::Done;
                }
            }
        }
        if self.flight.is_none() {
            let broadcasts = std::mem::take(&mut self.resident.state.lock().broadcasts);
            self.say(&broadcasts);
        }
        self.rest();
        if more { Turn::Yield } else { Turn::Rest }
    }

    /// Says something to those who watch: everything before it is durable.
    fn say(&self, broadcasts: &[(Arc<str>, Json)]) {
        for (name, data) in broadcasts {
            self.engine.env.feed.say(&self.resident.id, name, data);
        }
    }

    /// Takes in what the engine has to tell. True when it is over.
    fn hear(&mut self) -> bool {
        let news = self.resident.take_news();
        let alone = news.len() == 1;
        let mut done = false;
        for news in news {
            match news {
                News::Tick => self.scheduled = None,
                News::Arrived(recorded) => {
                    self.shown = (Phase::Running, None);
                    if recorded.entry.entry == EntryKind::WaitFulfilled {
                        self.engine.env.woken_by_event(recorded.at);
                    }
                    let mut state = self.resident.state.lock();
                    let taken_to = self.engine.env.taken_to(&recorded, &self.resident.id);
                    state.trace = taken_to.or(state.trace);
                    state.arrived(&recorded);
                    drop(state);
                    if recorded.entry.entry == EntryKind::WorkflowTerminating {
                        self.paused = false;
                    }
                }
                News::Paused => self.paused = true,
                News::Resumed => {
                    self.paused = false;
                    self.shown = (Phase::Running, None);
                    let withheld = std::mem::take(&mut self.withheld);
                    let mut state = self.resident.state.lock();
                    state.release(withheld);
                    state.resumed();
                    drop(state);
                    self.resident.set_poll_due();
                }
                // Of its own end it hears by the answer, too, and says then what it has to say.
                News::Ended => (self.over, done) = (true, !self.ending || self.flight.is_none()),
                // It may have been restarted the moment it ended.
                News::Restarted => (self.over, done) = (false, true),
                News::Stuck => self.report_stuck(),
                // Something else came with it: first look at that.
                News::Evict => {
                    if alone
                        && self.is_parked()
                        && self.engine.residents.leave_if_quiet(self.key, &self.resident)
                    {
                        self.engine.store.release(self.key, self.epoch);
                        self.key = InstanceKey(0);
                        // Who asked since it was told to leave waits for it to rest.
                        self.tell_rest();
                        return true;
                    }
                }
            }
        }
        done
    }

    /// Ends sleeps, begins retries, and fails the instance when its own time is up.
    fn check_time(&mut self) {
        if self.paused {
            return;
        }
        let mut state = self.resident.state.lock();
        let due = state.next_timer().into_iter().chain(self.timeout_at).min();
        let Some(due) = due else { return };
        let now = self.engine.env.clock.now();
        if due > now {
            return;
        }
        state.tick(now, &self.engine.env.measured);
        if self.timeout_at.is_some_and(|at| at <= now)
            && self.compensating.is_none()
            && state.is_live()
        {
            self.timeout_at = None;
            state.fatal.get_or_insert_with(|| {
                Failure::new("WORKFLOW_TIMEOUT", "the instance did not finish in its time")
            });
        }
    }

    /// Polls the workflow and reveals outcomes to it, one at a time, until it has seen them all.
    /// True when there is more to do.
    fn advance(&mut self) -> bool {
        for _ in 0..POLLS_PER_TURN {
            if self.resident.take_poll_due()
                && let Some(outcome) = self.poll_body()
            {
                self.finished(outcome);
            }
            if self.look_up() || self.ending {
                return false;
            }
            if self.resident.is_poll_due() {
                continue;
            }
            if self.paused || self.engine.is_shutting_down() {
                return false;
            }
            let revealed = self.resident.state.lock().reveal();
            match revealed {
                Revealed::Outcome => self.resident.set_poll_due(),
                // Compensation that has begun is not begun again.
                Revealed::Terminate(end) if self.compensating.is_none() => self.wind_up(end),
                Revealed::Terminate(_) => {}
                Revealed::Nothing => {
                    self.look_up();
                    return false;
                }
            }
        }
        true
    }

    /// One poll of the workflow; its outcome when it returned.
    fn poll_body(&mut self) -> Option<Outcome> {
        let body = self.body.as_mut()?;
        let mut context = Context::from_waker(&self.waker);
        let trace = self.resident.state.lock().trace;
        let poll = || catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(&mut context)));
        let polled = trace::inside(trace, || self.resident.as_current(poll));
        match polled {
            Ok(Poll::Pending) => None,
            Ok(Poll::Ready(outcome)) => Some(outcome),
            Err(panic) => Some(Err(Failure::new("WORKFLOW_PANICKED", cx::panic_message(&*panic)))),
        }
    }

    fn drop_body(&mut self) {
        self.resident.state.lock().dropping = true;
        self.body = None;
        self.resident.state.lock().let_go();
    }

    /// Everything for the next commit.
    fn transition(&mut self) -> (Transition, Vec<OpId>) {
        let standing = self.standing();
        let mut state = self.resident.state.lock();
        let changed = standing != self.shown && !self.ending && !self.pausing;
        if changed {
            state.next.park = Some(Park { phase: standing.0, wake_at: standing.1, reason: None });
            self.shown = standing;
        }
        if state.next.is_empty() {
            // Marks of what was seen ride with the next commit that is worth one.
            return (Transition::default(), Vec::new());
        }
        (std::mem::take(&mut state.next), state.take_held())
    }
}

impl Future for Run {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let span = self.span.clone();
        let _inside = span.enter();
        self.resident.begin_driving(task.waker());
        loop {
            match self.turn(task) {
                Turn::Done => return Poll::Ready(()),
                Turn::Yield => {
                    self.resident.may_rest();
                    task.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Turn::Rest if self.resident.may_rest() => return Poll::Pending,
                Turn::Rest => {}
            }
        }
    }
}

/// Whoever lets go of a run lets go of the workflow as a whole: nothing is cancelled.
impl Drop for Run {
    fn drop(&mut self) {
        self.drop_body();
        self.resident.state.lock().compensations.clear();
        if self.key != InstanceKey(0) {
            self.engine.left(self.key, &self.resident, self.over);
        }
    }
}

/// One stay in memory. A root, because it outlives whoever started it; and of a level that is off unless
/// somebody asks, because there is one for every instance.
fn span_of(new: &NewRun<'_>) -> Span {
    tracing::debug_span!(
        target: "abide::instance", parent: None, "instance",
        instance = %new.id, workflow = %new.workflow.name, run = new.run
    )
}

/// What a run is made from.
pub(crate) struct NewRun<'a> {
    pub(crate) workflow: &'a Workflow,
    pub(crate) id: &'a crate::id::InstanceId,
    pub(crate) run: u32,
    pub(crate) input: &'a Json,
}

impl Env {
    /// A workflow is about to go on with what a wait met then.
    fn woken_by_event(&self, met_at: Timestamp) {
        self.measured.event_wakes.add_time(self.clock.now().since(met_at));
    }

    fn state(&self, past: Past, input: Json) -> State {
        let context = crate::context::ContextMap::new(input);
        State::new(past, context, Arc::clone(&self.clock), &self.config)
    }
}
