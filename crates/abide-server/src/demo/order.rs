//! The workflow of the demo, and the process that runs it.
//!
//! The process is started twice with the same arguments and does the same thing both times: it
//! asks for order 42 to be started unless it exists, and waits for its result.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide::{BoxError, Cx, Engine, IfExists, Retry, Start};
use abide_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

use crate::error::Error;

use super::ledger::Ledger;

/// The instance of the demo.
pub(crate) const ORDER: &str = "order-42";

/// The step in whose middle the process is killed.
pub(crate) const FATAL_STEP: &str = "pack parcel";

/// The steps that leave a line in the log of effects, in order.
pub(crate) const EFFECTS: [&str; 5] =
    ["reserve stock", "charge card", FATAL_STEP, "ship", "mail receipt"];

/// The database of the demo.
pub(crate) fn database(directory: &Path) -> PathBuf {
    directory.join("demo.db")
}

#[derive(Clone, Serialize, Deserialize)]
struct Order {
    item: String,
    cents: u32,
    customer: String,
}

/// Runs the workflow to its end, telling on stdout what its steps do.
pub(crate) async fn work(directory: &Path) -> Result<(), Error> {
    let ledger = Ledger::in_directory(directory);
    let shop = Arc::new(Shop { ledger, card_tries: AtomicU32::new(0) });
    let store = SqliteStore::open(database(directory)).await?;
    let engine = Engine::builder(store.clone())
        .workflow("order", move |cx: Cx, order| fulfil(cx, order, Arc::clone(&shop)))
        .start()
        .await?;
    let order = Order { item: "a teapot".into(), cents: 4_200, customer: "Ada".into() };
    let start = Start::new(&order).id(ORDER).if_exists(IfExists::Return);
    let tracking: String = engine.start("order", start).await?.result().await?;
    say(&format!("the order is complete, tracking number {tracking}"));
    engine.shutdown().await;
    store.close().await?;
    Ok(())
}

async fn fulfil(cx: Cx, order: Order, shop: Arc<Shop>) -> abide::Result<String> {
    cx.step("reserve stock", || shop.act("reserve stock", 300, &order.item)).await?;
    let paid = format!("{}.{:02} EUR", order.cents / 100, order.cents % 100);
    cx.step("charge card", || shop.charge(&paid)).retry(Retry::times(5).delay("800ms")).await?;
    cx.step(FATAL_STEP, || shop.act(FATAL_STEP, 1500, &order.item)).await?;
    cx.sleep("wait for the courier", "1500ms").await?;
    let tracking = format!("AB-{}", cx.random() % 900_000 + 100_000);
    cx.step("ship", || shop.act("ship", 300, &tracking)).await?;
    cx.step("mail receipt", || shop.act("mail receipt", 300, &order.customer)).await?;
    Ok(tracking)
}

/// The world outside.
struct Shop {
    ledger: Ledger,
    /// In memory: the bank is out of reach the first time that this process calls it.
    card_tries: AtomicU32,
}

impl Shop {
    /// Takes its time, then has an effect.
    async fn act(&self, step: &str, ms: u64, what: &str) -> Result<(), BoxError> {
        say(&format!("{step}: {what} …"));
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.ledger.append(step, what)?;
        say(&format!("{step}: done"));
        Ok(())
    }

    async fn charge(&self, paid: &str) -> Result<(), BoxError> {
        if self.card_tries.fetch_add(1, Ordering::Relaxed) == 0 {
            say(&format!("charge card: {paid} … the bank does not answer"));
            return Err("the bank does not answer".into());
        }
        self.act("charge card", 300, paid).await
    }
}

fn say(line: &str) {
    // Without a listener there is nobody to tell, and the work goes on all the same.
    let _ = writeln!(std::io::stdout(), "{line}");
}
