//! An order: a payment provider that fails now and then, a cooling-off sleep, a parcel.
//!
//! Start it, kill it whenever you like, start it again: it goes on where it was. The id makes a
//! second start of the same order harmless.
//!
//! `cargo run -p abide-examples --bin order`

use std::sync::atomic::{AtomicU32, Ordering};

use abide::prelude::*;
use abide_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order {
    id: u64,
    amount: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Receipt {
    charge: String,
    parcel: String,
}

async fn order(cx: Cx, order: Order) -> Result<Receipt> {
    let charge = cx
        .step("charge card", || payments::charge(&order))
        .retry(Retry::times(5).delay("100ms").backoff(Backoff::Exponential))
        .timeout("10 seconds")
        .await?;
    cx.sleep("cooling off", "2 seconds").await?;
    let parcel = cx.step("ship", || warehouse::ship(&order)).await?;
    Ok(Receipt { charge, parcel })
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("order.db").await?;
    let engine = Engine::builder(store).workflow("order", order).start().await?;

    let order = Order { id: 42, amount: 100 };
    let start = Start::new(&order).id("order-42").if_exists(IfExists::Return);
    let handle = engine.start("order", start).await?;
    let receipt: Receipt = handle.result().await?;
    println!("charged as {}, sent as {}", receipt.charge, receipt.parcel);
    for step in handle.steps().await? {
        println!("{:<12} {:<10} attempts: {}", step.name, step.status, step.attempts);
    }
    engine.shutdown().await;
    Ok(())
}

/// A provider that is down for the first two calls.
mod payments {
    use super::{AtomicU32, Order, Ordering};

    static CALLS: AtomicU32 = AtomicU32::new(0);

    pub(crate) async fn charge(order: &Order) -> Result<String, String> {
        if CALLS.fetch_add(1, Ordering::SeqCst) < 2 {
            return Err("the payment provider is down".into());
        }
        Ok(format!("ch_{}_{}", order.id, order.amount))
    }
}

mod warehouse {
    use super::Order;

    pub(crate) async fn ship(order: &Order) -> Result<String, String> {
        Ok(format!("parcel-{}", order.id))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]
mod tests {
    use abide_testkit::{TestEngine, TestEngineBuilder};

    use super::*;

    const ORDER: Order = Order { id: 7, amount: 30 };

    fn engine() -> TestEngineBuilder {
        let engine = TestEngine::builder().workflow("order", order);
        engine.replace_step("charge card", |_attempt| Ok("ch_7"))
    }

    #[tokio::test]
    async fn a_parcel_is_sent_only_after_the_cooling_off() {
        let engine = engine().frozen().start().await;
        let handle = engine.start("order", Start::new(&ORDER)).await.unwrap();
        handle.until_step_started("cooling off").await;
        engine.advance("1999ms").await;
        assert_eq!(engine.runs_of("ship"), 0);
        engine.advance("1ms").await;
        let receipt: Receipt = handle.result().await.unwrap();
        assert_eq!((&*receipt.charge, &*receipt.parcel), ("ch_7", "parcel-7"));
    }

    #[tokio::test]
    async fn nothing_is_sent_when_the_card_is_declined() {
        let declined = |_attempt| Err::<(), _>(NonRetryable::new("card declined").into());
        let engine = engine().replace_step("charge card", declined).start().await;
        let handle = engine.start("order", Start::new(&ORDER)).await.unwrap();
        assert!(handle.failure().await.message.contains("card declined"));
        assert_eq!((engine.runs_of("charge card"), engine.runs_of("ship")), (1, 0));
    }

    #[tokio::test]
    async fn a_crash_in_the_middle_of_a_charge_makes_a_second_one() {
        let report = engine().crash_everywhere("order", &ORDER, async |_| Ok(())).await;
        // That is what at least once means: the provider has to recognise the order.
        assert_eq!(report.most_runs("charge card"), 2);
    }
}
