//! Crashes and refusals at every single write: nothing accepted is lost, nothing recorded runs
//! twice, and the result is the same.

use std::collections::BTreeMap;

use abide::history::EntryKind;
use abide::prelude::*;
use abide::{Builder, Instance};
use abide_testkit::{Fault, FaultStore};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::world::{Ran, World, on_every_store, story, told, with};

async fn sequential(cx: Cx, ran: Ran, (): ()) -> Result<u64> {
    let mut sum = 0;
    for n in 0..3 {
        sum += cx.step("s", || ran.ok("s", n)).await?;
    }
    let _failed = cx.step("fails", || ran.fail("fails")).retry(Retry::times(1)).await.is_err();
    Ok(sum)
}

async fn join(cx: Cx, ran: Ran, (): ()) -> Result<u64> {
    let (a, b) = tokio::join!(cx.step("a", || ran.ok("a", 1)), async {
        cx.step("b", || ran.ok("b", 2)).await?;
        cx.step("c", || ran.ok("c", 3)).await
    });
    Ok(a? + b?)
}

async fn unordered(cx: Cx, ran: Ran, (): ()) -> Result<Vec<u64>> {
    let naps = [30_u64, 10, 20].map(|n| {
        let (cx, ran) = (cx.scope("n", n), ran.clone());
        async move {
            cx.sleep("nap", n).await?;
            cx.step("s", || ran.ok("s", n)).await
        }
    });
    let all: Vec<_> = FuturesUnordered::from_iter(naps).collect().await;
    all.into_iter().collect()
}

async fn select(cx: Cx, ran: Ran, (): ()) -> Result<u64> {
    let first = tokio::select! {
        long = cx.sleep("long", "1 day") => { long?; 1 }
        short = async { cx.sleep("short", 50).await?; cx.step("a", || ran.ok("a", 2)).await } => short?,
    };
    cx.step("b", || ran.ok("b", first + 1)).await
}

async fn child(cx: Cx, n: u64) -> Result<u64> {
    cx.sleep("nap", 10).await?;
    cx.step("double", || async { Ok::<_, Error>(n * 2) }).await
}

async fn parent(cx: Cx, ran: Ran, (): ()) -> Result<u64> {
    let first = cx.child::<u64>("child", 1).await?;
    let (a, b) = tokio::join!(cx.child::<u64>("child", first), cx.child::<u64>("child", 10));
    let detached = cx.child::<u64>("child", 5).detached().await?;
    cx.step("s", || ran.ok("s", u64::from(!detached.as_str().is_empty()))).await?;
    Ok(a? + b?)
}

async fn sleeper(cx: Cx, ran: Ran, (): ()) -> Result<u64> {
    cx.sleep("a", 20).await?;
    let n = cx.step("s", || ran.ok("s", 1)).await?;
    cx.sleep("b", 20).await?;
    Ok(n)
}

async fn retry(cx: Cx, ran: Ran, (): ()) -> Result<u64> {
    let mut sum = 0;
    for n in 1..3 {
        let flaky = || {
            let failed = ran.times("flaky") < 2 * n;
            ran.mark("flaky");
            async move { if failed { Err(Error::failed("FLAKY", "try again")) } else { Ok(1) } }
        };
        sum += cx.step("flaky", flaky).retry(Retry::times(9).delay(10)).await?;
    }
    Ok(sum)
}

async fn saga(cx: Cx, ran: Ran, (): ()) -> Result<u64> {
    for name in ["a", "b"] {
        let undo = ran.clone();
        cx.step(name, || ran.ok(name, ())).compensate(move |()| undo.ok("undo", ())).await?;
    }
    Err(Error::failed("ENOUGH", "enough"))
}

async fn continued(cx: Cx, ran: Ran, n: Option<u64>) -> Result<u64> {
    let n = n.unwrap_or(0);
    cx.step("s", || ran.ok("s", ())).await?;
    if n < 3 { cx.continue_as_new(n + 1).await } else { Ok(n) }
}

const FLOWS: [&str; 9] = [
    "sequential",
    "join",
    "unordered",
    "select",
    "parent",
    "sleeper",
    "retry",
    "saga",
    "continued",
];

fn all(engine: Builder, ran: &Ran) -> Builder {
    engine
        .workflow("child", child)
        .workflow("sequential", with(ran, sequential))
        .workflow("join", with(ran, join))
        .workflow("unordered", with(ran, unordered))
        .workflow("select", with(ran, select))
        .workflow("parent", with(ran, parent))
        .workflow("sleeper", with(ran, sleeper))
        .workflow("retry", with(ran, retry))
        .workflow("saga", with(ran, saga))
        .workflow("continued", with(ran, continued))
}

/// What an instance came to.
fn outcome(instance: &Instance) -> String {
    let error = instance.error.as_ref().map(|error| &error.code);
    format!("{:?} {:?} {error:?} run {}", instance.phase, instance.output, instance.run)
}

/// Runs a workflow with faults, starting it again with the same id while the store refuses; with a
/// crash, on a new engine. `None` when the fault was never reached.
async fn run(
    world: &World,
    flow: &str,
    id: &str,
    faults: FaultStore,
    crash: bool,
) -> Option<(Handle, Ran)> {
    let ran = Ran::default();
    let engine = all(world.engine_with(&faults), &ran).start().await.unwrap();
    let start = || Start::new(&()).id(id).if_exists(IfExists::Return);
    let living = async {
        let handle = loop {
            match engine.start(flow, start()).await {
                Ok(handle) => break handle,
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        };
        world.run_to_end(&handle).await;
        handle
    };
    if !crash {
        return Some((Box::pin(living).await, ran));
    }
    tokio::select! {
        _handle = Box::pin(living) => return None,
        () = faults.crashed() => engine.kill(),
    }
    let engine = all(world.engine(), &ran).start().await.unwrap();
    let handle = engine.start(flow, start()).await.unwrap();
    world.run_to_end(&handle).await;
    // Kept alive until the children are through.
    world.settle().await;
    Some((handle, ran))
}

/// Every attempt was recorded before it ran, and no step ran after its outcome was recorded.
async fn check_history(handle: &Handle, ran: &Ran) {
    let mut attempts: BTreeMap<String, usize> = BTreeMap::new();
    let mut settled: BTreeMap<(u32, String), usize> = BTreeMap::new();
    for recorded in handle.history().await.unwrap() {
        let Some(name) = recorded.entry.name.clone() else { continue };
        let kind = recorded.entry.entry;
        if kind == EntryKind::StepStarted && recorded.entry.child_id.is_none() {
            let plain = name.split('#').next().unwrap_or_default();
            let plain = plain.rsplit('.').next().unwrap_or_default();
            let plain = if plain.starts_with("compensate") { "undo" } else { plain };
            *attempts.entry(plain.to_owned()).or_default() += 1;
        }
        if recorded.entry.outcome().is_some() {
            *settled.entry((recorded.run, name.to_string())).or_default() += 1;
        }
    }
    for (step, times) in settled {
        assert_eq!(times, 1, "{step:?} has several outcomes: {}", told(handle).await);
    }
    for (step, runs) in ran.counts() {
        let recorded = attempts.get(&step).copied().unwrap_or(0);
        assert!(runs <= recorded, "{step} ran {runs} times: {:#?}", story(handle).await);
    }
}

async fn at_every_write(world: &World, fault: Fault) {
    let crash = matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
    for flow in FLOWS {
        let (clean, ran) =
            run(world, flow, &format!("{flow}-clean"), world.faults(), false).await.unwrap();
        check_history(&clean, &ran).await;
        let expected = outcome(&clean.instance().await.unwrap());
        for n in 1..100 {
            let faults = world.faults().at(n, fault);
            let found = run(world, flow, &format!("{flow}-{n}"), faults.clone(), crash).await;
            let Some((handle, ran)) = found else { break };
            let came_to = outcome(&handle.instance().await.unwrap());
            assert_eq!(
                came_to,
                expected,
                "{flow}, {fault:?} at write {n}: {}",
                told(&handle).await
            );
            check_history(&handle, &ran).await;
            if faults.writes() < n && !crash {
                break;
            }
            assert!(n < 99, "{flow} has no end");
        }
    }
    // Children that go on alone end too, and nobody is left behind.
    let left = Filter {
        status: vec![Status::Running, Status::Queued, Status::Paused],
        ..Filter::default()
    };
    world.settle().await;
    let left = world.store.instances(left, Page::default()).await.unwrap().instances;
    assert!(left.is_empty(), "{left:#?}");
}

on_every_store! {
    async fn a_crash_before_any_write_loses_nothing(world: World) {
        at_every_write(&world, Fault::CrashBefore).await;
    }

    async fn a_crash_after_any_write_loses_nothing(world: World) {
        at_every_write(&world, Fault::CrashAfter).await;
    }

    async fn any_write_may_be_refused(world: World) {
        at_every_write(&world, Fault::FailBefore).await;
    }

    async fn the_outcome_of_any_write_may_be_unknown(world: World) {
        at_every_write(&world, Fault::FailAfter).await;
    }

    async fn a_refused_commit_is_tried_again_with_the_result_that_was_kept(world: World) {
        let ran = Ran::default();
        let faults = world.faults().at(2, Fault::FailBefore).at(3, Fault::FailBefore);
        let engine = all(world.engine_with(&faults), &ran).start().await.unwrap();
        let handle = engine.start("sequential", Start::new(&())).await.unwrap();
        world.run_to_end(&handle).await;
        assert_eq!((ran.times("s"), ran.times("fails")), (3, 1));
        assert!(story(&handle).await.iter().all(|entry| !entry.starts_with("step.interrupted")));
    }
}
