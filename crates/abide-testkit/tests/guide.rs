//! The tests of `docs/testing.md`, compiled and run; the guide shows them word for word.

#![allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]

use abide::prelude::*;
use abide_testkit::{CrashReport, TestEngine, TestEngineBuilder};

async fn checkout(cx: Cx, amount: u32) -> Result<String> {
    let charge = cx.step("charge card", || provider::charge(amount)).compensate(provider::refund);
    let charge = charge.await?;
    cx.sleep("cooling off", "14 days").await?;
    let address: Event<String> = cx.wait_for_event("address").timeout("30 days").await?;
    cx.step("ship", || provider::ship(&address.payload)).await?;
    Ok(format!("{charge} to {}", address.payload))
}

fn engine() -> TestEngineBuilder {
    TestEngine::builder()
        .workflow("checkout", checkout)
        .replace_step("charge card", |_attempt| Ok("ch_1"))
        .replace_step("ship", |_attempt| Ok(()))
}

#[tokio::test]
async fn a_paid_order_is_shipped_to_its_address() {
    let engine = engine().start().await;
    let order = engine.start("checkout", Start::new(&30)).await.unwrap();
    order.until_wait("address").await;
    order.send_event("address", "Lisbon").await.unwrap();
    assert_eq!(order.result::<String>().await.unwrap(), "ch_1 to Lisbon");
    assert_eq!(engine.runs_of("ship"), 1);
}

#[tokio::test]
async fn a_card_is_charged_again_when_the_provider_was_down() {
    let flaky = |attempt| if attempt < 3 { Err("down".into()) } else { Ok("ch_3") };
    let engine = engine().replace_step("charge card", flaky).start().await;
    let order = engine.start("checkout", Start::new(&30)).await.unwrap();
    let charge = order.until_step("charge card").await;
    assert_eq!((charge.attempts, charge.retries.len()), (3, 2));
}

#[tokio::test]
async fn nothing_is_shipped_during_the_cooling_off() {
    let engine = engine().frozen().start().await;
    let order = engine.start("checkout", Start::new(&30)).await.unwrap();
    order.send_event("address", "Lisbon").await.unwrap();
    engine.advance("13 days").await;
    assert_eq!(order.status().await.unwrap(), Status::Sleeping);
    engine.advance("1 day").await;
    assert_eq!(order.status().await.unwrap(), Status::Completed);
}

#[tokio::test]
async fn an_address_that_comes_too_late_is_refused_and_the_money_goes_back() {
    let engine = engine().replace_step("compensate charge card", |_| Ok(())).start().await;
    engine.withhold("address");
    let order = engine.start("checkout", Start::new(&30)).await.unwrap();
    order.send_event("address", "Lisbon").await.unwrap();
    assert_eq!(order.failure().await.code, "EVENT_TIMEOUT");
    assert!(engine.release("address").await.is_err());
    assert_eq!(engine.runs_of("compensate charge card"), 1);
}

#[tokio::test]
async fn an_order_comes_to_the_same_wherever_the_process_dies() {
    let report: CrashReport = engine()
        .crash_everywhere("checkout", &30, async |order| {
            order.until_wait("address").await;
            order.send_event("address", "Lisbon").await?;
            Ok(())
        })
        .await;
    assert_eq!(report.most_runs("charge card"), 2);
}

/// Nothing that a test may call.
mod provider {
    pub(super) async fn charge(amount: u32) -> Result<String, String> {
        Err(format!("a test charged {amount}"))
    }

    pub(super) async fn refund(charge: String) -> Result<(), String> {
        Err(format!("a test refunded {charge}"))
    }

    pub(super) async fn ship(address: &str) -> Result<(), String> {
        Err(format!("a test shipped to {address}"))
    }
}

#[test]
fn the_guide_shows_what_runs_here() {
    let (guide, tests) = (include_str!("../../../docs/testing.md"), include_str!("guide.rs"));
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).collect();
    assert!(blocks.len() >= 6, "the guide lost its examples");
    for block in blocks {
        let code = block.split("```").next().unwrap_or_default().trim();
        assert!(tests.contains(code), "the guide shows what does not run:\n{code}");
    }
}
