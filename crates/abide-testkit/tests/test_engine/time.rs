//! Time jumps when nothing else is left to happen, and never before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide::prelude::*;
use abide_testkit::TestEngine;
use tokio::sync::Notify;

use crate::failing;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn monthly(cx: Cx, months: u32) -> Result<Vec<Timestamp>> {
    let mut moments = Vec::new();
    for _ in 0..months {
        cx.sleep("a month", "30 days").await?;
        moments.push(cx.now());
    }
    Ok(moments)
}

#[tokio::test]
async fn a_sleep_of_years_is_over_at_once_and_takes_exactly_its_time() {
    let engine = TestEngine::builder().workflow("monthly", monthly).start().await;
    let began = engine.now();
    let handle = engine.start("monthly", Start::new(&24)).await.unwrap();
    let moments: Vec<Timestamp> = handle.result().await.unwrap();
    let months = (1..=24).map(|n| began.after(30 * n * DAY));
    assert_eq!(moments, months.collect::<Vec<_>>());
    assert_eq!(engine.now(), began.after(720 * DAY));
}

#[tokio::test]
async fn instances_wake_in_the_order_of_their_timers() {
    let engine = TestEngine::builder().workflow("monthly", monthly).start().await;
    let long = engine.start("monthly", Start::new(&3)).await.unwrap();
    let short = engine.start("monthly", Start::new(&1)).await.unwrap();
    short.result::<Vec<Timestamp>>().await.unwrap();
    assert_eq!(long.status().await.unwrap(), Status::Sleeping);
    assert_eq!(long.steps().await.unwrap().iter().filter(|s| s.completed_at.is_some()).count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_oversleeps_among_many_on_several_threads() {
    /// Sleeps so many times so many hours; true when it woke at the very moment, every time.
    async fn punctual(cx: Cx, (times, hours): (u32, u32)) -> Result<bool> {
        let hours = hours * DAY / 24;
        let mut expected = cx.now();
        for _ in 0..times {
            cx.sleep("nap", hours).await?;
            expected = expected.after(hours);
            if cx.now() != expected {
                return Ok(false);
            }
            cx.step("think", || async { Ok::<_, Error>(()) }).await?;
        }
        Ok(true)
    }
    let engine = TestEngine::builder().workflow("punctual", punctual).frozen().start().await;
    let mut handles = Vec::new();
    for hours in 1..=30 {
        let start = Start::new(&(60 / hours, hours));
        handles.push(engine.start("punctual", start).await.unwrap());
    }
    engine.thaw();
    for handle in handles {
        assert!(handle.result::<bool>().await.unwrap(), "{} overslept", handle.id());
    }
}

#[tokio::test]
async fn a_retry_rests_in_virtual_time() {
    async fn flaky(cx: Cx, (): ()) -> Result<u32> {
        cx.step("flaky", || async { Ok::<_, Error>(0) })
            .retry(Retry::times(3).delay("30 seconds"))
            .await
    }
    let engine = TestEngine::builder()
        .workflow("flaky", flaky)
        .replace_step("flaky", |attempt| if attempt < 3 { Err("down".into()) } else { Ok(attempt) })
        .start()
        .await;
    let began = engine.now();
    let handle = engine.start("flaky", Start::new(&())).await.unwrap();
    assert_eq!(handle.result::<u32>().await.unwrap(), 3);
    // Twice thirty seconds, give or take a tenth.
    let rested = engine.now().since(began).as_secs();
    assert!((54..=66).contains(&rested), "{rested}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_stands_still_while_a_step_runs() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (begun.clone(), go_on.clone());
    let workflow = move |cx: Cx, (): ()| {
        let (tell, wait) = (tell.clone(), wait.clone());
        async move {
            let slow = cx.step("slow", || async {
                tell.notify_one();
                wait.notified().await;
                Ok::<_, Error>("finished".to_owned())
            });
            tokio::select! {
                slow = slow => slow,
                late = cx.sleep("patience", "1 hour") => late.map(|()| "gave up".to_owned()),
            }
        }
    };
    let engine = TestEngine::builder().workflow("race", workflow).start().await;
    let began = engine.now();
    let handle = engine.start("race", Start::new(&())).await.unwrap();
    let release = async {
        begun.notified().await;
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(engine.now(), began, "an hour passed although a step was running");
        go_on.notify_one();
    };
    let (result, ()) = tokio::join!(handle.result::<String>(), release);
    assert_eq!(result.unwrap(), "finished");
}

#[tokio::test]
async fn a_frozen_clock_moves_by_hand_alone_and_stops_at_every_timer() {
    let engine = TestEngine::builder().workflow("monthly", monthly).frozen().start().await;
    let began = engine.now();
    let handle = engine.start("monthly", Start::new(&3)).await.unwrap();
    let said = failing(handle.result::<Vec<Timestamp>>()).await;
    assert!(said.contains("the clock is frozen") && said.contains("\"a month\" sleeps"), "{said}");

    engine.advance("75 days").await;
    handle.until_step("a month#2").await;
    handle.until_step_started("a month#3").await;
    assert_eq!(engine.now(), began.after(75 * DAY));

    engine.thaw();
    let moments: Vec<Timestamp> = handle.result().await.unwrap();
    assert_eq!(moments, [30, 60, 90].map(|days| began.after(days * DAY)));
}

#[tokio::test]
async fn a_step_that_hangs_reaches_its_timeout_by_hand() {
    async fn hanging(cx: Cx, (): ()) -> Result<()> {
        let hang = std::future::pending::<Result<()>>;
        cx.step("hang", hang).timeout("10 seconds").retry(Retry::times(1)).await
    }
    let engine = TestEngine::builder().workflow("hanging", hanging).start().await;
    let handle = engine.start("hanging", Start::new(&())).await.unwrap();
    handle.until_step_started("hang").await;
    engine.advance("9 seconds").await;
    assert_eq!(handle.status().await.unwrap(), Status::Running);
    engine.advance("1 second").await;
    assert!(handle.failure().await.message.contains("took longer than 10s"));
}

#[tokio::test]
async fn a_test_that_waits_for_ever_fails_at_once_and_says_for_what() {
    async fn lost(cx: Cx, (): ()) -> Result<()> {
        let paid = cx.wait_for_event::<()>("payment").on("payment.*");
        let (paid, child) = tokio::join!(paid, cx.child::<()>("lost child", ()));
        paid.map(drop).and(child)
    }
    async fn lost_child(cx: Cx, (): ()) -> Result<()> {
        cx.wait_for_signal::<()>("approve").await.map(drop)
    }
    let engine =
        TestEngine::builder().workflow("lost", lost).workflow("lost child", lost_child).start();
    let engine = engine.await;
    let handle = engine.start("lost", Start::new(&()).id("l-1")).await.unwrap();
    engine.withhold("approve");
    handle.signal("approve", &()).await.unwrap();

    let said = failing(handle.result::<()>()).await;
    for part in [
        "waiting for the result of l-1: nothing runs and no timer is left",
        "l-1 (lost) is waiting",
        "step \"payment\" waits for event \"payment.*\"",
        "step \"lost child\" waits for the end of child",
        "step \"approve\" waits for signal \"approve\"",
        "withheld and not released: \"approve\" for l-1",
    ] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
    let said = failing(handle.until_step("payed")).await;
    assert!(said.contains("waiting for step \"payed\" of l-1"), "{said}");
    let said = failing(engine.get("nobody").until_status(Status::Waiting)).await;
    assert!(said.contains("waiting for status waiting of nobody"), "{said}");
}

#[tokio::test]
async fn what_runs_without_end_fails_the_test_after_a_while() {
    async fn foreign(_: Cx, (): ()) -> Result<()> {
        std::future::pending().await
    }
    async fn hanging(cx: Cx, (): ()) -> Result<()> {
        cx.step("hang", std::future::pending::<Result<()>>).await
    }
    let engine = TestEngine::builder().workflow("foreign", foreign).workflow("hanging", hanging);
    let engine = engine.patience(Duration::from_millis(1)).start().await;
    for (workflow, part) in [
        ("foreign", "no step runs: it awaits something that is not a Cx future"),
        ("hanging", "step \"hang\" runs"),
    ] {
        let handle = engine.start(workflow, Start::new(&())).await.unwrap();
        let said = failing(handle.result::<()>()).await;
        assert!(said.contains("although something runs") && said.contains(part), "{said}");
    }
}

#[tokio::test]
async fn an_instance_that_paused_itself_says_why() {
    let lives = Arc::new(AtomicU32::new(0));
    let changing = move |cx: Cx, (): ()| {
        let first = lives.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            cx.step(if first { "a" } else { "b" }, || async { Ok::<_, Error>(()) }).await?;
            cx.sleep("night", "8 hours").await
        }
    };
    let engine = TestEngine::builder().workflow("changing", changing).start().await;
    let handle = engine.start("changing", Start::new(&())).await.unwrap();
    let said = failing(handle.result::<()>()).await;
    assert!(said.contains("no timer is left"), "{said}");
    assert!(said.contains("is paused: NON_DETERMINISTIC"), "{said}");
}
