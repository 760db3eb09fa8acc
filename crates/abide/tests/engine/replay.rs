//! Replay equals live: random programs, run once undisturbed and once with evictions and crashes
//! at random moments, come to the same result in the same way.

use std::time::Duration;

use abide::history::EntryKind;
use abide::prelude::*;
use abide_testkit::{Fault, FaultStore};
use futures_util::future::{BoxFuture, join_all, select_all};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::world::{World, told};

/// A workflow as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Program {
    Step(u8),
    Fails(u8),
    Flaky(u8),
    Sleep(u16),
    Random,
    Now,
    Context(u8),
    Sequence(Vec<Program>),
    Join(Vec<Program>),
    Race(Vec<Program>),
    Loop(u8, Box<Program>),
    Child(Box<Program>),
}

/// Runs a program. Every branch has a scope of its own, because the order in which branches ask
/// may vary; what they come to may not.
fn interpret(cx: Cx, program: Program) -> BoxFuture<'static, Result<u64>> {
    Box::pin(async move {
        let branches = |cx: &Cx, all: Vec<Program>| {
            let scoped = all.into_iter().enumerate();
            scoped.map(|(n, one)| interpret(cx.scope("branch", n), one)).collect::<Vec<_>>()
        };
        match program {
            Program::Step(n) => cx.step("step", || async { Ok::<_, Error>(u64::from(n)) }).await,
            Program::Fails(n) => {
                let failed = || async { Err::<u64, _>(NonRetryable::new("no")) };
                Ok(cx.step("fails", failed).await.map_or(u64::from(n), |_| 0))
            }
            Program::Flaky(n) => {
                let failed = || async { Err::<u64, _>(Error::failed("FLAKY", "no")) };
                let retry = Retry::times(2).delay(u64::from(n));
                Ok(cx.step("flaky", failed).retry(retry).await.map_or(7, |_| 0))
            }
            Program::Sleep(ms) => cx.sleep("sleep", u64::from(ms)).await.map(|()| 1),
            Program::Random => {
                let drawn = cx.random();
                let seen = cx.step("draw", || async { Ok::<_, Error>(drawn) }).await?;
                if seen == drawn { Ok(1) } else { Err(Error::failed("CHANCE", "another number")) }
            }
            Program::Now => {
                let now = cx.now();
                let seen = cx.step("look", || async { Ok::<_, Error>(now) }).await?;
                if seen == now { Ok(1) } else { Err(Error::failed("TIME", "another time")) }
            }
            Program::Context(n) => {
                cx.context().set("n", n)?;
                Ok(cx.context().get::<u64>("n")?.unwrap_or(0))
            }
            Program::Sequence(all) => {
                let mut sum = 0_u64;
                for one in all {
                    sum = sum.wrapping_mul(31).wrapping_add(interpret(cx.clone(), one).await?);
                }
                Ok(sum)
            }
            Program::Join(all) => {
                let all =
                    join_all(branches(&cx, all)).await.into_iter().collect::<Result<Vec<_>>>()?;
                Ok(all.into_iter().fold(17, |sum, n| sum * 31 % 1_000_003 + n % 1_000_003))
            }
            Program::Race(all) if all.is_empty() => Ok(0),
            Program::Race(all) => {
                let (first, winner, _) = select_all(branches(&cx, all)).await;
                let seen = cx.step("winner", || async { Ok::<_, Error>(winner) }).await?;
                if seen == winner { first } else { Err(Error::failed("RACE", "another winner")) }
            }
            Program::Loop(times, body) => {
                let mut sum = 0_u64;
                for _ in 0..times {
                    sum = sum.wrapping_add(interpret(cx.clone(), (*body).clone()).await?);
                }
                Ok(sum)
            }
            Program::Child(body) => cx.child::<u64>("program", body).await,
        }
    })
}

fn programs() -> impl Strategy<Value = Program> {
    let leaf = prop_oneof![
        4 => (0..9_u8).prop_map(Program::Step),
        1 => (0..9_u8).prop_map(Program::Fails),
        1 => (0..200_u8).prop_map(Program::Flaky),
        3 => (0..7000_u16).prop_map(Program::Sleep),
        1 => Just(Program::Random),
        1 => Just(Program::Now),
        1 => (0..9_u8).prop_map(Program::Context),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => some().prop_map(Program::Sequence),
            2 => some().prop_map(Program::Join),
            2 => some().prop_map(Program::Race),
            1 => (1..3_u8, inner.clone()).prop_map(|(n, body)| Program::Loop(n, Box::new(body))),
            1 => inner.prop_map(|body| Program::Child(Box::new(body))),
        ]
    })
}

/// What happens to the second run, and when.
#[derive(Clone, Debug)]
enum Trouble {
    Evict,
    CrashBefore(usize),
    CrashAfter(usize),
    Unknown(usize),
}

fn troubles() -> impl Strategy<Value = Vec<Trouble>> {
    let trouble = prop_oneof![
        3 => Just(Trouble::Evict),
        1 => (1..8_usize).prop_map(Trouble::CrashBefore),
        1 => (1..8_usize).prop_map(Trouble::CrashAfter),
        1 => (1..8_usize).prop_map(Trouble::Unknown),
    ];
    prop::collection::vec(trouble, 1..6)
}

async fn engine(world: &World, faults: &FaultStore, idle: Duration) -> Engine {
    let engine = world.engine_with(faults).workflow("program", interpret);
    engine.configure(|c| c.residency_idle = idle).start().await.unwrap()
}

/// Moves time from one wake-up to the next until the instance has ended, or the store died.
async fn drive(world: &World, handle: &Handle, faults: &FaultStore) -> bool {
    let on = async {
        for _ in 0..100_000 {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            if world.store.instance(handle.id()).await.unwrap().unwrap().phase.is_terminal() {
                return true;
            }
            let _moved = world.clock.advance_to_next();
        }
        panic!("it does not end: {}", told(handle).await);
    };
    tokio::select! {
        biased;
        () = faults.crashed() => false,
        ended = on => ended,
    }
}

/// What a run came to: its end, and the outcome of each step by name.
async fn account(handle: &Handle) -> (String, Vec<String>) {
    let instance = handle.instance().await.unwrap();
    let mut steps = vec![];
    for recorded in handle.history().await.unwrap() {
        let entry = &recorded.entry;
        let settled = entry.outcome().filter(|_| !entry.step_kind().is_value());
        if let (Some(outcome), Some(name)) = (settled, &entry.name) {
            let code = outcome.err().map(|failure| failure.code);
            steps.push(format!("{name} {code:?}"));
        }
        assert_ne!(entry.entry, EntryKind::WorkflowPaused, "{}", told(handle).await);
    }
    steps.sort();
    let error = instance.error.as_ref().map(|failure| &failure.message);
    (format!("{:?} {:?} {error:?}", instance.phase, instance.output), steps)
}

async fn same_live_and_replayed(program: Program, troubles: Vec<Trouble>) {
    let world = World::memory();
    let start = |id: &str| Start::new(&program).id(id).if_exists(IfExists::Return);
    let calm = world.faults();
    let live = engine(&world, &calm, Duration::from_secs(3600)).await;
    let undisturbed = live.start("program", start("live")).await.unwrap();
    assert!(drive(&world, &undisturbed, &calm).await);
    live.kill();

    for trouble in troubles.iter().chain([&Trouble::Evict]) {
        let (idle, faults) = (Duration::ZERO, world.faults());
        let faults = match *trouble {
            Trouble::Evict => faults,
            Trouble::CrashBefore(n) => faults.at(n, Fault::CrashBefore),
            Trouble::CrashAfter(n) => faults.at(n, Fault::CrashAfter),
            Trouble::Unknown(n) => faults.at(n, Fault::FailAfter),
        };
        let engine = engine(&world, &faults, idle).await;
        let starting = async {
            loop {
                match engine.start("program", start("troubled")).await {
                    Ok(handle) => return handle,
                    Err(error) => assert!(error.is_retryable(), "{error}"),
                }
            }
        };
        let ended = tokio::select! {
            biased;
            () = faults.crashed() => false,
            handle = starting => drive(&world, &handle, &faults).await,
        };
        engine.kill();
        if ended {
            break;
        }
    }
    let calm = engine(&world, &world.faults(), Duration::ZERO).await;
    let troubled = calm.get(&InstanceId::new("troubled").unwrap());
    let (live, replayed) = (account(&undisturbed).await, account(&troubled).await);
    assert_eq!(live.0, replayed.0, "{}", told(&troubled).await);
    assert_eq!(live.1, replayed.1, "{}", told(&troubled).await);
}

/// Whether the result depends on who wins: interrupted work may lose a race that undisturbed work
/// wins, so two runs of such a program can't be compared.
fn has_race(program: &Program) -> bool {
    match program {
        Program::Race(_) => true,
        Program::Sequence(all) | Program::Join(all) => all.iter().any(has_race),
        Program::Loop(_, body) | Program::Child(body) => has_race(body),
        _ => false,
    }
}

fn check(program: Program, troubles: Vec<Trouble>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(same_live_and_replayed(program, troubles));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, max_shrink_time: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_random_program_comes_to_the_same_result_live_and_replayed(
        program in programs().prop_filter("a race may end in many ways", |program| !has_race(program)),
        troubles in troubles(),
    ) {
        check(program, troubles);
    }

    #[test]
    fn a_race_has_the_winner_it_had_however_often_it_is_replayed(program in programs(), evictions in 1..4_usize) {
        check_race(program, evictions);
    }
}

/// With races, what is compared is the run with itself: a replay that took another turn would ask
/// for other steps than were recorded, and pause.
fn check_race(program: Program, crashes: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let world = World::memory();
        for write in (1..=crashes).chain([100_000]) {
            let faults = world.faults().at(write, Fault::CrashAfter);
            let engine = engine(&world, &faults, Duration::ZERO).await;
            let start = Start::new(&program).id("race").if_exists(IfExists::Return);
            let ended = tokio::select! {
                biased;
                () = faults.crashed() => false,
                handle = async { engine.start("program", start).await.unwrap() } => drive(&world, &handle, &faults).await,
            };
            engine.kill();
            if ended {
                break;
            }
        }
        let engine = engine(&world, &world.faults(), Duration::ZERO).await;
        let handle = engine.get(&InstanceId::new("race").unwrap());
        let (end, _) = account(&handle).await;
        assert!(end.starts_with("Completed"), "{end} {}", told(&handle).await);
    });
}
