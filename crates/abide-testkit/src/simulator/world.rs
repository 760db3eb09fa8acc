//! One simulated world: a disk that lasts, a clock that stands, and an engine that lives until the
//! schedule has it die.

use std::sync::Arc;
use std::time::Duration;

use abide::Clock;
use abide::prelude::*;
use abide::store::Hint;
use parking_lot::Mutex;

use super::action::{Action, Temper};
use super::choice::Chooser;
use super::invariant::{self, Scene};
use super::look;
use super::quiet::QuietRuntime;
use super::sabotage::Sabotage;
use super::scenario::{Ending, Plan, Scenario};
use super::script::Acknowledged;
use super::store::SimStore;
use super::traffic::{Traffic, Verdict, in_words};
use super::witness::Witness;
use crate::differential::View;
use crate::{ManualClock, MemoryStore};

/// When every world begins.
const BEGIN: Timestamp = Timestamp(1_700_000_000_000);
/// Crashes and unknown outcomes together: more show nothing new, and each may interrupt a step, which
/// fails at the fifth in a row (`step.maxInterruptions`).
const MAX_DISTURBANCES: usize = 4;
/// What happens after the last decision, before somebody goes round in circles.
const MAX_CALM: usize = 5_000;
/// How long after the last thing that falls due the world may still move: what a lost hint was about
/// is found when its instance has left memory and a sweep came by, and that may happen twice.
const PATIENCE: Duration = Duration::from_secs(150);

/// See the module.
pub(super) struct World {
    clock: ManualClock,
    disk: MemoryStore,
    traffic: Arc<Mutex<Traffic>>,
    witness: Witness,
    plan: Plan,
    chooser: Chooser,
    temper: Temper,
    habits: Habits,
    sabotage: Sabotage,
    life: Option<Life>,
    /// How the disk looks after the last write.
    view: View,
    acknowledged: Vec<Acknowledged>,
    trace: Vec<String>,
    crashes: usize,
    /// How often the engine was told that the outcome of a write is unknown.
    doubts: usize,
    writes: usize,
}

/// One life of an engine.
struct Life {
    /// There once it is attached to its store. Dropped before the tasks it began.
    engine: Arc<Mutex<Option<Engine>>>,
    runtime: QuietRuntime,
}

/// Settings of the engine that change which way things go.
#[derive(Clone, Copy)]
struct Habits {
    residency_idle: Duration,
    timers_horizon: Duration,
}

/// Whether a hint is lost.
enum Loss {
    Never,
    Possible,
    Certain,
}

/// How a world ended.
pub(super) struct Ended {
    pub(super) made: Vec<u32>,
    pub(super) trace: Vec<String>,
    pub(super) view: View,
    pub(super) crashes: usize,
    pub(super) writes: usize,
    pub(super) steps: usize,
    pub(super) broken: Option<String>,
}

impl World {
    pub(super) fn new(
        scenario: Scenario,
        seed: u64,
        sabotage: Sabotage,
        schedule: Option<Vec<u32>>,
    ) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let clock = ManualClock::at(BEGIN).with_seed(random.u64(..));
        let disk = MemoryStore::new(Arc::new(clock.clone()));
        let witness = Witness::new(&disk, random.fork());
        let temper = Temper::random(&mut random);
        let mut chooser = match schedule {
            Some(given) => Chooser::replay(given),
            None => Chooser::random(random),
        };
        let habits = Habits {
            residency_idle: Duration::from_secs([5, 1, 40][chooser.below(3)]),
            timers_horizon: Duration::from_secs([10, 3600][chooser.below(2)]),
        };
        let plan = (scenario.plan)(&witness, &mut chooser);
        Self {
            clock,
            disk,
            traffic: Arc::default(),
            witness,
            plan,
            chooser,
            temper,
            habits,
            sabotage,
            life: None,
            view: View::default(),
            acknowledged: Vec::new(),
            trace: Vec::new(),
            crashes: 0,
            doubts: 0,
            writes: 0,
        }
    }

    /// Lets it run: as the schedule has it, then without any fault until nothing is left to happen.
    pub(super) fn run(mut self) -> Ended {
        let broken = self.live().err();
        self.end_life();
        Ended {
            made: self.chooser.into_made(),
            trace: self.trace,
            view: self.view,
            crashes: self.crashes,
            writes: self.writes,
            steps: self.witness.ran(),
            broken,
        }
    }

    fn live(&mut self) -> Result<(), String> {
        self.begin_life();
        self.settle()?;
        while !self.chooser.is_spent() && !self.is_over() {
            let actions = self.possible();
            let weights: Vec<u32> = actions.iter().map(|a| self.temper.weight(*a)).collect();
            let choice = self.chooser.pick(&weights);
            self.perform(actions[choice])?;
        }
        self.trace.push("-- from here on nothing goes wrong".to_owned());
        self.calm_down()?;
        let ending = Ending { view: &self.view, acknowledged: &self.acknowledged };
        invariant::nothing_is_stuck(&self.view, self.clock.now())?;
        (self.plan.expect)(&ending)
    }

    /// Nothing goes wrong from here on.
    fn calm_down(&mut self) -> Result<(), String> {
        let mut until = self.clock.now().after(PATIENCE);
        for _ in 0..MAX_CALM {
            if self.is_over() {
                return Ok(());
            }
            let action = self.possible()[0];
            if action == Action::Wake && self.clock.next_wakeup().is_none_or(|at| at > until) {
                return Ok(());
            }
            let happened = look::happened(&self.view);
            self.perform(action)?;
            if look::happened(&self.view) > happened {
                let last = look::last_moment(&self.view).unwrap_or(self.clock.now());
                until = last.max(self.clock.now()).after(PATIENCE);
            }
        }
        Err("11: it goes round in circles and never comes to rest".to_owned())
    }

    /// Whether nothing can happen any more.
    fn is_over(&self) -> bool {
        self.plan.script.is_over()
            && self.traffic.lock().is_idle()
            && self.view.instances.iter().all(|instance| instance.phase.is_terminal())
    }

    fn begin_life(&mut self) {
        let life = self.traffic.lock().begin_life();
        let store = SimStore { traffic: Arc::clone(&self.traffic), life, sabotage: self.sabotage };
        let habits = self.habits;
        let mut engine =
            Engine::builder(store).clock(Arc::new(self.clock.clone())).configure(|config| {
                config.residency_idle = habits.residency_idle;
                config.timers_horizon = habits.timers_horizon;
                // What ended and what was published stays, so that it can be looked at.
                config.instances_retention = None;
                config.stream_group_interval = Duration::ZERO;
                config.events_retention = None;
                config.events_max_bytes = None;
            });
        for workflow in &self.plan.workflows {
            engine = engine.register(workflow.clone());
        }
        let runtime = QuietRuntime::new();
        let slot = Arc::<Mutex<Option<Engine>>>::default();
        let ready = Arc::clone(&slot);
        runtime.spawn(async move {
            *ready.lock() = engine.start().await.ok();
        });
        self.life = Some(Life { engine: slot, runtime });
    }

    /// As a crash does: nothing on its way arrives, and nobody says goodbye.
    fn end_life(&mut self) {
        self.traffic.lock().begin_life();
        self.witness.forget_works();
        self.plan.script.crash();
        if let Some(life) = self.life.take() {
            // Not while the lock is held: an engine that goes has much to do.
            let engine = life.engine.lock().take();
            drop(engine);
        }
    }

    /// What may happen next, the tame first.
    fn possible(&self) -> Vec<Action> {
        let mut tame = Vec::new();
        let mut wild = Vec::new();
        let may_disturb = self.crashes + self.doubts < MAX_DISTURBANCES;
        let traffic = self.traffic.lock();
        if let Some((hint, _)) = traffic.hints.front() {
            match self.may_be_lost(hint, &traffic) {
                Loss::Never => tame.push(Action::Hear),
                Loss::Possible => {
                    tame.push(Action::Hear);
                    wild.push(Action::Lose);
                }
                Loss::Certain => tame.push(Action::Lose),
            }
        }
        tame.extend((0..traffic.answers.len()).map(Action::Answer));
        for (place, call) in traffic.calls.iter().enumerate() {
            tame.push(Action::Execute(place, Verdict::Done));
            if call.writes {
                wild.push(Action::Execute(place, Verdict::Refused));
                wild.extend(may_disturb.then_some(Action::Execute(place, Verdict::Unknown)));
            }
        }
        drop(traffic);
        tame.extend((0..self.witness.works().len()).map(Action::Finish));
        let is_up = self.life.as_ref().is_some_and(|life| life.engine.lock().is_some());
        if is_up {
            let exists = |id: &str| self.view.instances.iter().any(|found| found.id.as_str() == id);
            let calls = self.plan.script.possible(exists);
            tame.extend(calls.into_iter().map(|(client, _)| Action::Call(client)));
        }
        tame.push(Action::Wake);
        if let Some(due) = look::next_moment(&self.view, self.clock.now()) {
            wild.push(Action::Due);
            wild.extend((due.0 - self.clock.now().0 > 1).then_some(Action::NearlyDue));
        }
        wild.extend(may_disturb.then_some(Action::Crash));
        tame.append(&mut wild);
        tame
    }

    /// Which hints may be lost, as far as a store may lose them. A pause or a resume that is not
    /// heard of is more than a delay. Of the arrivals at an instance all after the first one that
    /// was lost are lost too, until it is read again: an engine that hears a later one takes the
    /// earlier ones for heard.
    fn may_be_lost(&self, hint: &Hint, traffic: &Traffic) -> Loss {
        if self.sabotage == Sabotage::LosesAnyHint {
            return Loss::Possible;
        }
        match hint {
            Hint::Paused(_) => Loss::Never,
            Hint::Runnable(key) => {
                let mut begun = self.view.instances.iter().filter(|found| found.key == *key);
                if begun.any(|found| found.parent.is_none()) { Loss::Never } else { Loss::Possible }
            }
            Hint::Arrived(key, _) if traffic.deaf.contains(key) => Loss::Certain,
            _ => Loss::Possible,
        }
    }

    fn perform(&mut self, action: Action) -> Result<(), String> {
        let what = match action {
            Action::Hear => self.hear(),
            Action::Lose => self.lose(),
            Action::Answer(place) => self.answer(place),
            Action::Execute(place, verdict) => self.execute(place, verdict)?,
            Action::Finish(place) => {
                let work = self.witness.take_work(place);
                let what = format!("step {} is through", work.what);
                work.finish();
                what
            }
            Action::Call(client) => self.call(client),
            Action::Wake => self.pass_to(self.clock.next_wakeup()),
            Action::Due => self.pass_to(look::next_moment(&self.view, self.clock.now())),
            Action::NearlyDue => {
                let due = look::next_moment(&self.view, self.clock.now());
                self.pass_to(due.map(|due| Timestamp(due.0 - 1)))
            }
            Action::Crash => {
                self.crashes += 1;
                self.end_life();
                self.begin_life();
                "CRASH, and another process takes over".to_owned()
            }
        };
        self.trace.push(what);
        self.settle()
    }

    fn hear(&self) -> String {
        let heard = self.traffic.lock().hints.pop_front();
        let Some((hint, listener)) = heard else { return String::new() };
        let what = format!("hear: {}", in_words(&hint));
        listener.hint(hint);
        what
    }

    fn lose(&self) -> String {
        let lost = self.traffic.lock().lose();
        lost.map_or_else(String::new, |hint| format!("LOST: {}", in_words(&hint)))
    }

    fn answer(&self, place: usize) -> String {
        let reply = self.traffic.lock().answers.remove(place);
        let what = format!("answer: {}", reply.what);
        reply.deliver();
        what
    }

    fn execute(&mut self, place: usize, verdict: Verdict) -> Result<String, String> {
        let call = self.traffic.lock().calls.remove(place);
        let what = match verdict {
            Verdict::Done => format!("execute: {}", call.what),
            Verdict::Refused => format!("REFUSE: {}", call.what),
            Verdict::Unknown => format!("execute, and LOSE THE OUTCOME of: {}", call.what),
        };
        self.doubts += usize::from(verdict == Verdict::Unknown);
        let changes = call.writes && verdict != Verdict::Refused;
        // Not while traffic is locked: hints join it.
        let reply = call.execute(&self.disk, verdict);
        self.traffic.lock().answers.push(reply);
        if changes {
            self.writes += 1;
            if let Err(broken) = self.check() {
                self.trace.push(what);
                return Err(broken);
            }
        }
        Ok(what)
    }

    fn call(&mut self, client: usize) -> String {
        let calls = self.plan.script.possible(|_| true);
        let what = calls.into_iter().find(|(place, _)| *place == client);
        if let Some(life) = &self.life
            && let Some(engine) = life.engine.lock().clone()
        {
            let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
            life.runtime.spawn(self.plan.script.make(client, engine, clock));
        }
        format!("call: {}", what.map_or_else(String::new, |(_, what)| what))
    }

    fn pass_to(&self, moment: Option<Timestamp>) -> String {
        moment.into_iter().for_each(|at| self.clock.set(at));
        format!("the clock moves to {} ms", self.clock.now().0 - BEGIN.0)
    }

    /// Everybody runs as far as they can.
    fn settle(&mut self) -> Result<(), String> {
        if let Some(life) = &self.life {
            life.runtime.settle();
        }
        self.acknowledged.extend(self.plan.script.acknowledged());
        self.witness.broken().map_or(Ok(()), Err)
    }

    /// A restart disturbs too: one that is heard of late has the next run read twice.
    fn is_undisturbed(&self) -> bool {
        let restarted = self.view.instances.iter().any(|instance| instance.run > 1);
        self.crashes + self.doubts == 0 && !restarted
    }

    /// Whether everything that must always hold does, after a write.
    fn check(&mut self) -> Result<(), String> {
        let before = std::mem::replace(&mut self.view, look::at(&self.disk));
        let scene = Scene {
            before: &before,
            view: &self.view,
            now: self.clock.now(),
            undisturbed: self.is_undisturbed(),
            acknowledged: &self.acknowledged,
        };
        invariant::broken(&scene).map_or(Ok(()), Err)
    }
}
