//! Races with real threads and the machine's own clock, thousands of times: however two things meet,
//! there is one outcome, nobody is stuck, and no event is lost or used twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use abide::history::EntryKind;
use abide::prelude::*;
use abide::store::Store;
use abide::{Builder, Delivered, SystemClock, Wait, WaitStatus};
use abide_sqlite::SqliteStore;
use abide_testkit::MemoryStore;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::world::{HOUR, in_time, told};

/// How many instances race at a time.
const CROWD: usize = 100;
/// Within this, real threads meet often.
const SHORTLY: Duration = Duration::from_micros(400);

/// How long a parked instance stays in memory where the race is with leaving it.
const IDLE: Duration = Duration::from_millis(1);

/// A store under real time, and how often to race on it.
struct Arena {
    store: Arc<dyn Store>,
    rounds: usize,
}

impl Arena {
    fn memory() -> Self {
        Self { store: Arc::new(MemoryStore::new(Arc::new(SystemClock::default()))), rounds: 15 }
    }

    async fn sqlite() -> Self {
        Self { store: Arc::new(SqliteStore::open_temporary().await.unwrap()), rounds: 5 }
    }

    fn engine(&self) -> Builder {
        // Nobody looks for what a lost hint left out: nothing may depend on that.
        Engine::on(Arc::clone(&self.store)).configure(|c| c.sweep_interval = HOUR)
    }

    /// Runs one race for many instances at a time, and again and again.
    async fn race<Fut>(&self, engine: &Engine, one: impl Fn(Engine) -> Fut)
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        for _ in 0..self.rounds {
            let mut crowd = JoinSet::new();
            for _ in 0..CROWD {
                crowd.spawn(one(engine.clone()));
            }
            while let Some(raced) = crowd.join_next().await {
                raced.unwrap();
            }
        }
    }
}

/// Runs a race on each store.
macro_rules! raced {
    ($(async fn $name:ident($arena:ident: Arena) $body:block)*) => {
        $(mod $name {
            use super::*;
            async fn check($arena: Arena) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn memory() {
                in_time(check(Arena::memory())).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn sqlite() {
                in_time(check(Arena::sqlite().await)).await;
            }
        })*
    };
}

/// Sets off at a moment of its own: timers are too coarse for the last millisecond.
async fn hesitate(at_most: Duration) {
    let until = Instant::now() + at_most.mul_f64(fastrand::f64());
    let coarse = until.saturating_duration_since(Instant::now()).as_millis();
    if coarse > 1 {
        tokio::time::sleep_until((until - Duration::from_millis(2)).into()).await;
    }
    while Instant::now() < until {
        tokio::task::yield_now().await;
    }
}

/// Sends on a thread of its own, at a moment of its own.
async fn send(handle: &Handle, within: Duration, outgoing: Outgoing) -> Result<Delivered> {
    let handle = handle.clone();
    let sent = tokio::spawn(async move {
        hesitate(within).await;
        handle.send(outgoing).await
    });
    sent.await.unwrap()
}

/// How an instance ended. One that does not end says where it is stuck.
async fn result<T: DeserializeOwned>(handle: &Handle) -> Result<T> {
    let ended = tokio::time::timeout(Duration::from_secs(60), handle.result()).await;
    match ended {
        Ok(result) => result,
        Err(_) => panic!("{} is stuck: {}", handle.id(), everything(handle).await),
    }
}

async fn everything(handle: &Handle) -> String {
    let (waits, buffer) = (handle.waits().await, handle.buffer().await);
    format!("{}\n{waits:#?}\n{buffer:#?}", told(handle).await)
}

async fn counted(handle: &Handle, kind: EntryKind, event: &str) -> usize {
    let history = handle.history().await.unwrap();
    let about = |id: &Option<Arc<str>>| id.as_deref() == Some(event);
    history.iter().filter(|r| r.entry.entry == kind && about(&r.entry.event_id)).count()
}

/// The steps whose waits an event fulfilled in the end.
fn met<'a>(waits: &'a [Wait], event: &str) -> Vec<&'a str> {
    let by = |wait: &&Wait| wait.fulfilled_by.as_deref() == Some(event);
    let fulfilled = waits.iter().filter(|wait| wait.status == WaitStatus::Fulfilled);
    fulfilled.filter(by).map(|wait| &*wait.step).collect()
}

/// An ended instance owns nothing, and every event that was accepted has one fate.
async fn one_fate_each(handle: &Handle, sent: &[(&str, &Result<Delivered>)]) {
    let waits = handle.waits().await.unwrap();
    let open = waits.iter().any(|wait| wait.status == WaitStatus::Active);
    assert!(!open, "an ended instance waits: {}", everything(handle).await);
    assert!(handle.buffer().await.unwrap().is_empty(), "{}", everything(handle).await);
    for (event, answer) in sent {
        let received = counted(handle, EntryKind::EventReceived, event).await;
        let unused = counted(handle, EntryKind::EventDiscarded, event).await
            + counted(handle, EntryKind::EventSuperseded, event).await;
        let used = usize::from(!met(&waits, event).is_empty());
        let expected = match answer {
            Ok(answer) => {
                let one_way = (answer.delivered > 0) != answer.buffered;
                assert!(one_way, "{answer:?}: {}", everything(handle).await);
                1
            }
            Err(Error::NotRunning { .. }) => 0,
            Err(other) => panic!("{other}: {}", everything(handle).await),
        };
        let fates = unused + used;
        let once = (received, fates) == (expected, expected);
        assert!(once, "{event} {answer:?}: {received} {fates}: {}", everything(handle).await);
    }
}

fn event(name: &str, id: &str, payload: u32) -> Outgoing {
    Outgoing::event(name).id(id).payload(&payload)
}

fn signal(name: &str, id: &str, payload: u32) -> Outgoing {
    Outgoing::signal(name).id(id).payload(&payload)
}

/// Waits a few milliseconds, and if nothing came, as long as it takes.
async fn impatient(cx: Cx, ms: u64) -> Result<(String, u32)> {
    match cx.wait_for_event::<u32>("first").on("paid").timeout(ms).await {
        Ok(paid) => Ok(("first".into(), paid.payload)),
        Err(Error::EventTimeout { .. }) => {
            let paid = cx.wait_for_event::<u32>("second").on("paid").await?;
            Ok(("second".into(), paid.payload))
        }
        Err(other) => Err(other),
    }
}

async fn one_wait(cx: Cx, (): ()) -> Result<u32> {
    Ok(cx.wait_for_event::<u32>("pay").on("paid").await?.payload)
}

raced! {
    async fn an_event_and_a_deadline_have_one_winner_and_the_event_is_used_once(arena: Arena) {
        let engine = arena.engine().workflow("impatient", impatient).start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let ms = fastrand::u64(1..6);
            let handle = engine.start("impatient", Start::new(&ms)).await.unwrap();
            let deadline = Duration::from_millis(ms);
            let answer = send(&handle, deadline * 2, event("paid", "e", 7)).await;
            let (by, payload): (String, u32) = result(&handle).await.unwrap();
            let waits = handle.waits().await.unwrap();
            assert_eq!((met(&waits, "e"), payload), (vec![&*by], 7));
            let first = if by == "first" { WaitStatus::Fulfilled } else { WaitStatus::Expired };
            assert_eq!(waits[0].status, first, "{}", everything(&handle).await);
            one_fate_each(&handle, &[("e", &answer)]).await;
        }).await;
    }

    async fn an_event_and_reaching_its_wait_always_meet(arena: Arena) {
        let late = async |cx: Cx, (): ()| -> Result<u32> {
            let work = async || {
                hesitate(SHORTLY).await;
                Ok::<_, Error>(())
            };
            cx.step("work", work).await?;
            Ok(cx.wait_for_event::<u32>("pay").on("paid").await?.payload)
        };
        let engine = arena.engine().workflow("late", late).start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let handle = engine.start("late", Start::new(&())).await.unwrap();
            let answer = send(&handle, SHORTLY * 2, event("paid", "e", 7)).await;
            assert_eq!(result::<u32>(&handle).await.unwrap(), 7);
            let kept = counted(&handle, EntryKind::EventBuffered, "e").await == 1;
            assert_eq!(answer.as_ref().unwrap().buffered, kept, "{}", everything(&handle).await);
            one_fate_each(&handle, &[("e", &answer)]).await;
        }).await;
    }

    async fn an_event_and_a_termination_never_both_decide_the_end(arena: Arena) {
        let engine = arena.engine().workflow("one", one_wait).start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let handle = engine.start("one", Start::new(&())).await.unwrap();
            let terminate = async {
                hesitate(SHORTLY).await;
                handle.terminate(Terminate::default()).await
            };
            let (answer, terminated) =
                tokio::join!(send(&handle, SHORTLY, event("paid", "e", 7)), terminate);
            let ended = result::<u32>(&handle).await;
            match (&answer, &terminated, &ended) {
                (Ok(_), Err(Error::InvalidTransition { .. }), Ok(7))
                | (_, Ok(_), Err(Error::InstanceTerminated { .. })) => {}
                other => panic!("{other:?}: {}", everything(&handle).await),
            }
            let status = handle.status().await.unwrap();
            let waits = handle.waits().await.unwrap();
            let expected = if answer.is_ok() { WaitStatus::Fulfilled } else { WaitStatus::Cancelled };
            assert_eq!(waits[0].status, expected, "{status}: {}", everything(&handle).await);
            let ends = [EntryKind::WorkflowCompleted, EntryKind::WorkflowTerminated];
            let history = handle.history().await.unwrap();
            let ends = history.iter().filter(|recorded| ends.contains(&recorded.entry.entry));
            assert_eq!(ends.count(), 1, "{}", everything(&handle).await);
            one_fate_each(&handle, &[("e", &answer)]).await;
        }).await;
    }

    async fn an_event_belongs_to_the_run_before_a_restart_or_to_the_one_after(arena: Arena) {
        // Queued, or the second event might replace the first before the new run is looked at.
        let workflow = Workflow::new("one", one_wait).event::<serde_json::Value>("paid", Buffer::Queue);
        let engine = arena.engine().register(workflow).start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let handle = engine.start("one", Start::new(&())).await.unwrap();
            let restart = async {
                hesitate(SHORTLY).await;
                handle.restart().await
            };
            let (answer, restarted) =
                tokio::join!(send(&handle, SHORTLY, event("paid", "e1", 1)), restart);
            answer.unwrap();
            assert_eq!(restarted.unwrap().run, 2);
            let second = handle.send(event("paid", "e2", 2).ignore_terminal()).await.unwrap();
            let by = result::<u32>(&handle).await.unwrap();
            let history = handle.history().await.unwrap();
            let fulfilled: Vec<(u32, &str)> = history
                .iter()
                .filter(|recorded| recorded.entry.entry == EntryKind::WaitFulfilled)
                .map(|recorded| (recorded.run, recorded.entry.event_id.as_deref().unwrap()))
                .collect();
            let expected: &[(u32, &str)] = if by == 1 { &[(2, "e1")] } else { &[(1, "e1"), (2, "e2")] };
            assert_eq!(fulfilled, expected, "{second:?}: {}", everything(&handle).await);
            assert!(by == 2 || second.delivered == 0, "{}", everything(&handle).await);
            assert!(handle.buffer().await.unwrap().is_empty());
        }).await;
    }

    async fn of_two_events_for_one_wait_one_is_its_and_the_other_is_kept_or_refused(arena: Arena) {
        let workflow = Workflow::new("one", one_wait).event::<serde_json::Value>("paid", Buffer::Queue);
        let engine = arena.engine().register(workflow).start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let handle = engine.start("one", Start::new(&())).await.unwrap();
            let (one, two) = tokio::join!(
                send(&handle, SHORTLY, event("paid", "e1", 1)),
                send(&handle, SHORTLY, event("paid", "e2", 2)),
            );
            let got = result::<u32>(&handle).await.unwrap();
            let waits = handle.waits().await.unwrap();
            assert_eq!((met(&waits, "e1").len(), met(&waits, "e2").len()), if got == 1 { (1, 0) } else { (0, 1) });
            let delivered = |answer: &Result<Delivered>| answer.as_ref().map_or(0, |a| a.delivered);
            let by_answer = (delivered(&one), delivered(&two));
            assert_eq!(by_answer, if got == 1 { (1, 0) } else { (0, 1) });
            one_fate_each(&handle, &[("e1", &one), ("e2", &two)]).await;
        }).await;
    }

    async fn one_event_serves_each_of_two_waits_or_leaves_the_later_one_open(arena: Arena) {
        let both = async |cx: Cx, (): ()| -> Result<(u32, u32)> {
            let late = async {
                let work = async || {
                    hesitate(SHORTLY).await;
                    Ok::<_, Error>(())
                };
                cx.step("work", work).await?;
                cx.wait_for_event::<u32>("b").on("tick").await
            };
            let (a, b) = tokio::join!(cx.wait_for_event::<u32>("a").on("tick"), late);
            Ok((a?.payload, b?.payload))
        };
        let engine = arena.engine().workflow("both", both).start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let handle = engine.start("both", Start::new(&())).await.unwrap();
            let one = send(&handle, SHORTLY * 2, event("tick", "e1", 1)).await;
            let two = handle.send(event("tick", "e2", 2)).await;
            let got: (u32, u32) = result(&handle).await.unwrap();
            let expected = match one.as_ref().unwrap().delivered {
                1 => (1, 2),
                2 => (1, 1),
                _ => panic!("{}", everything(&handle).await),
            };
            assert_eq!(got, expected, "{}", everything(&handle).await);
            one_fate_each(&handle, &[("e1", &one), ("e2", &two)]).await;
        }).await;
    }

    async fn one_signal_reaches_exactly_one_of_two_waits(arena: Arena) {
        let both = async |cx: Cx, (): ()| -> Result<(u32, u32)> {
            let (a, b) = tokio::join!(
                cx.wait_for_signal::<u32>("a").on("tick"),
                cx.wait_for_signal::<u32>("b").on("tick"),
            );
            Ok((a?.payload, b?.payload))
        };
        let engine = arena.engine().workflow("both", both).start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let handle = engine.start("both", Start::new(&())).await.unwrap();
            let (one, two) = tokio::join!(
                send(&handle, SHORTLY, signal("tick", "s1", 1)),
                send(&handle, SHORTLY, signal("tick", "s2", 2)),
            );
            let got: (u32, u32) = result(&handle).await.unwrap();
            assert!(got == (1, 2) || got == (2, 1), "{got:?}: {}", everything(&handle).await);
            let delivered = [&one, &two].map(|answer| answer.as_ref().unwrap().delivered);
            assert_eq!(delivered, [1, 1]);
            one_fate_each(&handle, &[("s1", &one), ("s2", &two)]).await;
        }).await;
    }

    async fn an_event_and_an_eviction_never_miss_each_other(arena: Arena) {
        let five = async |cx: Cx, (): ()| -> Result<Vec<u32>> {
            let mut got = Vec::new();
            for _ in 0..5 {
                got.push(cx.wait_for_signal::<u32>("next").await?.payload);
            }
            Ok(got)
        };
        let engine = arena.engine().configure(|c| c.residency_idle = IDLE).workflow("five", five);
        let engine = engine.start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let handle = engine.start("five", Start::new(&())).await.unwrap();
            let mut answers = Vec::new();
            for n in 0..5_u32 {
                answers.push(send(&handle, IDLE * 3, signal("next", &format!("s{n}"), n)).await);
            }
            let got: Vec<u32> = result(&handle).await.unwrap();
            assert_eq!(got, [0, 1, 2, 3, 4], "{}", everything(&handle).await);
            let names: Vec<String> = (0..5).map(|n| format!("s{n}")).collect();
            let sent: Vec<_> = names.iter().map(|name| &**name).zip(&answers).collect();
            one_fate_each(&handle, &sent).await;
        }).await;
    }

    async fn the_loser_of_a_race_takes_nothing_from_the_wait_after_it(arena: Arena) {
        let race = async |cx: Cx, (): ()| -> Result<(u32, u32)> {
            let (won, other) = tokio::select! {
                yes = cx.wait_for_event::<u32>("yes") => (yes?, "no"),
                no = cx.wait_for_event::<u32>("no") => (no?, "yes"),
            };
            let next = cx.wait_for_event::<u32>("then").on(other).await?;
            Ok((won.payload, next.payload))
        };
        let engine = arena.engine().workflow("race", race).start().await.unwrap();
        arena.race(&engine, async |engine: Engine| {
            let handle = engine.start("race", Start::new(&())).await.unwrap();
            let (yes, no) = tokio::join!(
                send(&handle, SHORTLY, event("yes", "yes", 1)),
                send(&handle, SHORTLY, event("no", "no", 2)),
            );
            let got: (u32, u32) = result(&handle).await.unwrap();
            assert!(got == (1, 2) || got == (2, 1), "{got:?}: {}", everything(&handle).await);
            let waits = handle.waits().await.unwrap();
            let cancelled = waits.iter().filter(|wait| wait.status == WaitStatus::Cancelled);
            assert_eq!(cancelled.count(), 1, "{}", everything(&handle).await);
            one_fate_each(&handle, &[("yes", &yes), ("no", &no)]).await;
        }).await;
    }
}
