//! Dying at every write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use abide::prelude::*;
use abide_testkit::{Fault, TestEngine};

use crate::failing;

async fn order(cx: Cx, item: String) -> Result<String> {
    let charge = cx.step("charge", || async { Ok::<_, Error>("ch_1".to_owned()) }).await?;
    let paid: Event<u32> = cx.wait_for_event("paid").timeout("1 day").await?;
    cx.sleep("cooling off", "14 days").await?;
    let parcel = cx.child::<String>("ship", &item).await?;
    Ok(format!("{charge}, {} paid, {parcel}", paid.payload))
}

async fn ship(cx: Cx, item: String) -> Result<String> {
    cx.sleep("pack", "1 hour").await?;
    cx.step("post", || async { Ok::<_, Error>(format!("{item} sent")) }).await
}

#[tokio::test]
async fn a_sound_workflow_comes_to_the_same_wherever_it_dies() {
    let engine = TestEngine::builder().workflow("order", order).workflow("ship", ship);
    let report = engine
        .crash_everywhere("order", "lamp", async |order| {
            order.until_wait("paid").await;
            order.send_event("paid", &30).await?;
            Ok(())
        })
        .await;
    assert!(report.writes >= 8, "{report:?}");
    assert_eq!(report.crashes, 2 * report.writes);
    assert_eq!(report.repeated(), ["charge", "post"]);
    assert_eq!((report.most_runs("charge"), report.most_runs("post")), (2, 2));
    for step in report.steps() {
        // One crash in the middle of it: before its record was written.
        assert_eq!(step.without_crash, 1, "{step:?}");
        assert!(step.repeated_at.iter().all(|at| at.fault == Fault::CrashBefore), "{step:?}");
        assert_eq!(step.repeated_at.len(), 1, "{step:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dying_on_several_threads_comes_to_the_same() {
    let engine = TestEngine::builder().workflow("order", order).workflow("ship", ship);
    let report = engine
        .crash_everywhere("order", "lamp", async |order| {
            order.send_event("paid", &30).await?;
            Ok(())
        })
        .await;
    assert!(report.steps().all(|step| step.most <= 2), "{report:?}");
}

#[tokio::test]
async fn a_failure_is_a_result_like_any_other() {
    async fn unpaid(cx: Cx, (): ()) -> Result<()> {
        cx.step("charge", || async { Ok::<_, Error>(()) }).compensate(|()| refund()).await?;
        cx.wait_for_event::<()>("paid").timeout("1 day").await.map(drop)
    }
    async fn refund() -> Result<()> {
        Ok(())
    }
    let engine = TestEngine::builder().workflow("unpaid", unpaid);
    let report = engine.crash_everywhere("unpaid", &(), async |_| Ok(())).await;
    assert_eq!(report.most_runs("compensate charge"), 2);
}

#[tokio::test]
async fn a_step_that_runs_at_most_once_is_caught_to_fail_instead() {
    async fn once(cx: Cx, (): ()) -> Result<()> {
        cx.step("once", || async { Ok::<_, Error>(()) }).retry(Retry::times(1)).await
    }
    let engine = TestEngine::builder().workflow("once", once);
    let said = failing(engine.crash_everywhere("once", &(), async |_| Ok(()))).await;
    assert!(said.contains("STEP_INTERRUPTED"), "{said}");
}

#[tokio::test]
async fn a_result_that_depends_on_something_outside_a_step_is_found() {
    let calls = Arc::new(AtomicU32::new(0));
    let broken = move |cx: Cx, (): ()| {
        let calls = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            cx.step("work", || async { Ok::<_, Error>(()) }).await?;
            Ok::<_, Error>(calls)
        }
    };
    let engine = TestEngine::builder().workflow("broken", broken);
    let said = failing(engine.crash_everywhere("broken", &(), async |_| Ok(()))).await;
    for part in ["\"broken\" comes to something else after a crash before write 1", "Some(\"0\")"] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
}

#[tokio::test]
async fn a_step_with_another_name_in_the_next_life_is_found() {
    let calls = Arc::new(AtomicU32::new(0));
    let broken = move |cx: Cx, (): ()| {
        let calls = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            cx.step(&format!("work {calls}"), || async { Ok::<_, Error>(()) }).await?;
            cx.step("end", || async { Ok::<_, Error>(()) }).await
        }
    };
    let engine = TestEngine::builder().workflow("broken", broken);
    let said = failing(engine.crash_everywhere("broken", &(), async |_| Ok(()))).await;
    assert!(said.contains("NON_DETERMINISTIC") && said.contains("after a crash"), "{said}");
}

#[tokio::test]
async fn what_a_script_sends_has_its_effect_once() {
    async fn two(cx: Cx, (): ()) -> Result<[u32; 2]> {
        let first = cx.wait_for_signal("n").await?.payload;
        Ok([first, cx.wait_for_signal("n").await?.payload])
    }
    let engine = TestEngine::builder().workflow("two", two);
    let report = engine
        .crash_everywhere("two", &(), async |two| {
            for n in [1, 2] {
                two.signal("n", &n).await?;
            }
            Ok(())
        })
        .await;
    assert!(report.repeated().is_empty());
}

#[tokio::test]
async fn a_script_that_sends_too_little_fails_with_what_is_missing() {
    let engine = TestEngine::builder().workflow("order", order).workflow("ship", ship);
    let said = failing(engine.crash_everywhere("order", "lamp", async |order| {
        order.until_step("unheard of").await;
        Ok(())
    }));
    let said = said.await;
    assert!(said.contains("waiting for step \"unheard of\""), "{said}");
}
