//! Dies at every write of a workflow, and compares what comes of it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use abide::history::EntryKind;
use abide::store::Store;
use abide::{Filter, IfExists, Instance, InstanceId, Page, Result, Start, Status};
use serde::Serialize;

use super::builder::World;
use super::crash_report::{Counts, CrashPoint, CrashReport};
use super::replaced::Ran;
use super::{TestEngine, TestEngineBuilder, TestHandle};
use crate::{Fault, FaultStore};

/// The instance that lives again and again.
const ID: &str = "crash-everywhere";

/// A workflow with more writes than this would take too long to crash everywhere.
const MAX_WRITES: usize = 2_000;

/// What an instance came to, as far as anybody outside can tell.
#[derive(Debug, PartialEq)]
struct Outcome {
    status: Status,
    output: Option<String>,
    error: Option<String>,
    outputs: BTreeMap<String, String>,
}

/// How a life ended.
enum Life {
    Finished(Outcome),
    Crashed,
}

impl TestEngineBuilder {
    /// Runs a workflow once without a crash, then again and again in new worlds, dying before and
    /// after every single write, and going on with a new engine on what the store kept. Fails the
    /// test when the result, the failure or the outputs are not the same every time; answers how
    /// often each step ran.
    ///
    /// `script` sends what the workflow needs. It runs from the top in every life. What it sends
    /// with [`TestHandle::send_event`] and the like has the same id in every life, so that it has
    /// its effect once; what it waits for with [`TestHandle::until_wait`] or
    /// [`TestHandle::until_step`] may have come in an earlier life.
    pub async fn crash_everywhere<I, S>(self, workflow: &str, input: &I, script: S) -> CrashReport
    where
        I: Serialize + ?Sized,
        S: AsyncFn(TestHandle) -> Result<()>,
    {
        let start = Start::new(input).id(ID).if_exists(IfExists::Return);
        let play = Play { engine: self, workflow, start, script };
        let (expected, without_crash) = play.without_crash().await;
        let mut report = CrashReport::new(&without_crash);
        for write in 1..=MAX_WRITES {
            for fault in [Fault::CrashBefore, Fault::CrashAfter] {
                let point = CrashPoint { write, fault };
                match Box::pin(play.dying_at(point, &expected)).await {
                    Some(counts) => report.add(point, &counts),
                    // It has fewer writes than that.
                    None => return report,
                }
            }
        }
        panic!("{workflow:?} has more than {MAX_WRITES} writes");
    }
}

/// What is played again and again.
struct Play<'a, S> {
    engine: TestEngineBuilder,
    workflow: &'a str,
    start: Start,
    script: S,
}

impl<S: AsyncFn(TestHandle) -> Result<()>> Play<'_, S> {
    async fn without_crash(&self) -> (Outcome, Counts) {
        let world = World::new();
        let life = Some("without a crash".to_owned());
        let engine = self.engine.clone().live(&world, world.store(), life).await;
        match self.act(&engine).await {
            Life::Finished(outcome) => (outcome, counted(&engine.inner.steps.ran())),
            Life::Crashed => unreachable!("this store has no faults"),
        }
    }

    /// Two lives in one world. `None` when the first ended before it could crash.
    async fn dying_at(&self, point: CrashPoint, expected: &Outcome) -> Option<Counts> {
        let world = World::new();
        let store = world.store().at(point.write, point.fault);
        let life = Some(format!("before {point}"));
        let engine = self.engine.clone().live(&world, store, life).await;
        let first = self.act(&engine).await;
        engine.inner.engine.kill();
        let mut ran = engine.inner.steps.ran();
        let (outcome, crashed) = match first {
            Life::Finished(outcome) => (outcome, false),
            Life::Crashed => {
                let life = Some(format!("after {point}"));
                let engine = self.engine.clone().live(&world, world.store(), life).await;
                let Life::Finished(outcome) = self.act(&engine).await else {
                    unreachable!("this store has no faults")
                };
                ran.extend(engine.inner.steps.ran());
                (outcome, true)
            }
        };
        assert!(
            outcome == *expected,
            "{:?} comes to something else after {point}:\n  without a crash: {expected:?}\n  \
             after the crash: {outcome:?}\n{}",
            self.workflow,
            story(&world).await
        );
        check_runs(&world, &ran, point).await;
        crashed.then(|| counted(&ran))
    }

    /// One life, to the end or to the crash.
    async fn act(&self, engine: &TestEngine) -> Life {
        let faults = engine.inner.store.clone();
        let life = async {
            let handle = engine.start(self.workflow, self.start.clone()).await.unwrap();
            if let Err(error) = (self.script)(handle.clone()).await {
                let life = engine.inner.life.as_deref().unwrap_or_default();
                panic!("the script fails, {life}: {error}");
            }
            let what = format!("the end of {ID}");
            engine.inner.drive(&what, handle.ended()).await.unwrap();
            // Children that go on by themselves, too.
            engine.settle().await;
            outcome(&handle.instance().await.unwrap(), &faults).await
        };
        tokio::select! {
            biased;
            () = faults.crashed() => Life::Crashed,
            outcome = Box::pin(life) => Life::Finished(outcome),
        }
    }
}

async fn outcome(instance: &Instance, store: &FaultStore) -> Outcome {
    let outputs = store.outputs(&instance.id).await.unwrap();
    Outcome {
        status: instance.status(),
        output: instance.output.as_ref().map(|output| output.as_str().to_owned()),
        error: instance.error.as_ref().map(ToString::to_string),
        outputs: outputs
            .iter()
            .map(|output| (output.key.to_string(), output.value.as_str().to_owned()))
            .collect(),
    }
}

fn counted(ran: &[Ran]) -> Counts {
    let mut counts = Counts::new();
    for ran in ran {
        *counts.entry((ran.workflow.clone(), ran.step.clone())).or_default() += 1;
    }
    counts
}

/// Every attempt was recorded before it ran, and no step has two outcomes: so one ran again only
/// where the crash hit between its start and its record.
async fn check_runs(world: &World, ran: &[Ran], point: CrashPoint) {
    let mut runs: HashMap<(&InstanceId, u32, &str), usize> = HashMap::new();
    for ran in ran {
        *runs.entry((&ran.instance, ran.run, &ran.step)).or_default() += 1;
    }
    for ((id, run, step), times) in runs {
        let history = world.disk.history(id, 0, usize::MAX).await.unwrap();
        let about = || {
            let own = history.iter().filter(|recorded| recorded.run == run);
            own.filter(|recorded| recorded.entry.name.as_deref() == Some(step))
        };
        let begun = about().filter(|told| told.entry.entry == EntryKind::StepStarted).count();
        let settled = about().filter(|told| told.entry.outcome().is_some()).count();
        assert!(
            times <= begun && settled <= 1,
            "step {step:?} of {id} ran {times} times, began {begun} times and has {settled} \
             outcomes after {point}\n{}",
            story(world).await
        );
    }
}

/// The histories of all instances, for the message of a failed test.
async fn story(world: &World) -> String {
    let mut told = String::new();
    let all = Page { limit: 100, ..Page::default() };
    let listed = world.disk.instances(Filter::default(), all).await.unwrap();
    for instance in listed.instances.iter().rev() {
        write!(told, "{} ({}):", instance.id, instance.workflow).unwrap();
        for recorded in world.disk.history(&instance.id, 0, usize::MAX).await.unwrap() {
            let name = recorded.entry.name.as_deref().unwrap_or_default();
            write!(told, "\n  {} {name}", recorded.entry.entry).unwrap();
        }
        told.push('\n');
    }
    told
}
