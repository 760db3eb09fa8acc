//! A test decides when what it sends arrives.

use abide::prelude::*;
use abide_testkit::TestEngine;

/// Which of two answers came first.
async fn first_answer(cx: Cx, (): ()) -> Result<String> {
    let yes = cx.wait_for_event::<String>("yes").timeout("1 day");
    let no = cx.wait_for_event::<String>("no").timeout("1 day");
    let answer = tokio::select! { yes = yes => yes?, no = no => no? };
    Ok(answer.payload)
}

#[tokio::test]
async fn a_withheld_event_arrives_when_it_is_released() {
    let engine = TestEngine::builder().workflow("ask", first_answer).start().await;
    let handle = engine.start("ask", Start::new(&())).await.unwrap();
    handle.until_wait("yes").await;

    engine.withhold("yes");
    assert_eq!(handle.send_event("yes", "yes").await.unwrap(), None);
    engine.settle().await;
    assert_eq!(handle.status().await.unwrap(), Status::Waiting);
    let answer = handle.send_event("no", "no").await.unwrap().unwrap();
    assert_eq!(answer.delivered, 1);
    assert_eq!(handle.result::<String>().await.unwrap(), "no");

    let too_late = engine.release("yes").await;
    assert!(matches!(too_late, Err(Error::NotRunning { .. })), "{too_late:?}");
}

#[tokio::test]
async fn released_signals_arrive_in_the_order_in_which_they_were_sent() {
    async fn three(cx: Cx, (): ()) -> Result<Vec<u32>> {
        let mut all = Vec::new();
        for _ in 0..3 {
            all.push(cx.wait_for_signal("n").await?.payload);
        }
        Ok(all)
    }
    let engine = TestEngine::builder().workflow("three", three).start().await;
    let handle = engine.start("three", Start::new(&())).await.unwrap();
    engine.withhold("n");
    for n in 1..=3 {
        assert_eq!(handle.signal("n", &n).await.unwrap(), None);
    }
    assert_eq!(engine.release("n").await.unwrap(), 3);
    assert_eq!(handle.result::<Vec<u32>>().await.unwrap(), [1, 2, 3]);
    assert_eq!(engine.release("n").await.unwrap(), 0);
}

#[tokio::test]
async fn waiting_for_a_wait_does_not_let_its_deadline_pass() {
    let engine = TestEngine::builder().workflow("ask", first_answer).start().await;
    let began = engine.now();
    let handle = engine.start("ask", Start::new(&())).await.unwrap();
    let wait = handle.until_wait("no").await;
    handle.until_status(Status::Waiting).await;
    assert_eq!(engine.now(), began);
    assert_eq!(wait.status, abide::WaitStatus::Active);
    assert_eq!(handle.failure().await.code, "EVENT_TIMEOUT");
    assert_eq!(engine.now(), wait.timeout_at.unwrap());
}

#[tokio::test]
async fn a_message_meets_its_wait_and_an_output_can_be_awaited() {
    async fn echo(cx: Cx, (): ()) -> Result<String> {
        cx.sleep("nap", "1 hour").await?;
        cx.set_output("ready", true)?;
        Ok(cx.receive::<String>("topic").await?.payload)
    }
    let engine = TestEngine::builder().workflow("echo", echo).start().await;
    let handle = engine.start("echo", Start::new(&())).await.unwrap();
    assert!(handle.until_output::<bool>("ready").await.unwrap());
    handle.message("topic", "hello").await.unwrap();
    assert_eq!(handle.result::<String>().await.unwrap(), "hello");
}
