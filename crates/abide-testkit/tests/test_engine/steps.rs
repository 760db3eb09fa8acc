//! Steps that a test answers for.

use abide::prelude::*;
use abide_testkit::TestEngine;
use serde_json::{Value, json};

async fn unreachable_provider() -> Result<Value> {
    Err(Error::failed("UNREACHABLE", "no test may call the provider"))
}

async fn charges(cx: Cx, times: u32) -> Result<Vec<Value>> {
    let mut charges = Vec::new();
    for n in 0..times {
        charges.push(cx.step("charge card", unreachable_provider).await?);
        let scoped = cx.scope("item", n);
        charges.push(scoped.step("charge card", unreachable_provider).await?);
    }
    Ok(charges)
}

#[tokio::test]
async fn a_step_is_replaced_by_name_and_the_most_particular_name_goes_first() {
    let engine = TestEngine::builder()
        .workflow("charges", charges)
        .replace_step("charge card", |attempt| Ok(json!({ "any": attempt })))
        .replace_step("charge card#2", |_| Ok(json!("the second")))
        .replace_step("item[1].charge card", |_| Ok(json!("in a scope")))
        .start()
        .await;
    let handle = engine.start("charges", Start::new(&2)).await.unwrap();
    let found: Value = handle.result().await.unwrap();
    let any = json!({ "any": 1 });
    assert_eq!(found, json!([any, any, "the second", "in a scope"]));
    assert_eq!((engine.runs_of("charge card"), engine.runs_of("charge card#2")), (4, 1));
}

#[tokio::test]
async fn a_replacement_that_fails_is_retried_like_the_step_itself() {
    let engine = TestEngine::builder()
        .workflow("charges", charges)
        .replace_step("charge card", |attempt| match attempt {
            1 | 2 => Err("the provider is down".into()),
            _ => Ok(attempt),
        })
        .start()
        .await;
    let handle = engine.start("charges", Start::new(&1)).await.unwrap();
    assert_eq!(handle.result::<Value>().await.unwrap(), json!([3, 3]));
    assert_eq!(handle.until_step("charge card").await.retries.len(), 2);
}

#[tokio::test]
async fn a_replacement_may_fail_for_good() {
    let engine = TestEngine::builder()
        .workflow("charges", charges)
        .replace_step::<(), _>("charge card", |_| Err(NonRetryable::new("card declined").into()))
        .start()
        .await;
    let handle = engine.start("charges", Start::new(&1)).await.unwrap();
    assert!(handle.failure().await.message.contains("card declined"));
    assert_eq!(engine.runs_of("charge card"), 1);
}

#[tokio::test]
async fn a_replacement_of_the_wrong_type_says_so_and_is_not_retried() {
    async fn typed(cx: Cx, (): ()) -> Result<u32> {
        cx.step("count", || async { Ok::<_, Error>(1) }).await
    }
    let engine = TestEngine::builder()
        .workflow("typed", typed)
        .replace_step("count", |_| Ok("many"))
        .start()
        .await;
    let handle = engine.start("typed", Start::new(&())).await.unwrap();
    let failure = handle.failure().await;
    assert!(failure.message.contains("the replacement of \"count\""), "{failure}");
    assert_eq!(engine.runs_of("count"), 1);
}

#[tokio::test]
async fn a_compensation_is_a_step_and_can_be_replaced() {
    async fn trip(cx: Cx, (): ()) -> Result<()> {
        let book = cx.step("book", || async { Ok::<_, Error>("b-1".to_owned()) });
        book.compensate(|_| async { Err::<(), _>("no test may cancel anything") }).await?;
        Err(Error::failed("STORM", "no flights"))
    }
    let engine = TestEngine::builder()
        .workflow("trip", trip)
        .replace_step("compensate book", |_| Ok(()))
        .start()
        .await;
    let handle = engine.start("trip", Start::new(&())).await.unwrap();
    assert_eq!(handle.failure().await.code, "STORM");
    assert_eq!(engine.runs_of("compensate book"), 1);
}
