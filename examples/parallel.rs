//! Steps side by side: plain `join!`, a race with plain `select!`, and a fan-out whose branches
//! have names of their own.
//!
//! `cargo run -p abide-examples --bin parallel`

use abide::prelude::*;
use abide_sqlite::SqliteStore;
use futures_util::future::try_join_all;

async fn price(shop: &'static str, item: u64) -> Result<u64, Error> {
    Ok(shop.len() as u64 * 10 + item)
}

async fn compare(cx: Cx, items: Vec<u64>) -> Result<String> {
    // Both at once; the workflow goes on when both are recorded.
    let (near, far) = tokio::join!(
        cx.step("ask the corner shop", || price("corner", 1)),
        cx.step("ask the big market", || price("market", 2)),
    );
    let cheapest = near?.min(far?);

    // The first to finish wins; the other is cancelled, and the history says so.
    let quick = tokio::select! {
        answer = cx.step("ask a friend", || price("friend", 3)) => answer?,
        () = async { cx.sleep("patience", "1 minute").await.unwrap_or_default() } => 0,
    };

    // As many branches as there are items. A scope gives each its own step names, whatever the
    // order in which they finish.
    let branches = items.into_iter().enumerate().map(|(n, item)| {
        let cx = cx.scope("item", n);
        async move { cx.step("price", || price("market", item)).await }
    });
    let total: u64 = try_join_all(branches).await?.iter().sum();
    Ok(format!("cheapest {cheapest}, a friend says {quick}, all together {total}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("parallel.db").await?;
    let engine = Engine::builder(store).workflow("compare", compare).start().await?;
    let handle = engine.start("compare", Start::new(&[5, 6, 7])).await?;
    println!("{}", handle.result::<String>().await?);
    engine.shutdown().await;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]
mod tests {
    use abide_testkit::TestEngine;

    use super::*;

    #[tokio::test]
    async fn every_branch_has_a_price_of_its_own() {
        let engine = TestEngine::builder()
            .workflow("compare", compare)
            .replace_step("ask the big market", |_| Ok(5))
            .replace_step("price", |_| Ok(10))
            .replace_step("item[1].price", |_| Ok(100))
            .start()
            .await;
        let handle = engine.start("compare", Start::new(&[1, 2, 3])).await.unwrap();
        let found: String = handle.result().await.unwrap();
        assert_eq!(found, "cheapest 5, a friend says 63, all together 120");
    }

    #[tokio::test]
    async fn the_loser_of_the_race_is_cancelled() {
        let engine = TestEngine::builder().workflow("compare", compare).start().await;
        let handle = engine.start("compare", Start::new::<[u64]>(&[])).await.unwrap();
        let patience = handle.until_step("patience").await;
        assert_eq!(patience.status, abide::StepStatus::Cancelled);
    }

    #[tokio::test]
    async fn it_compares_the_same_wherever_it_dies() {
        let engine = TestEngine::builder().workflow("compare", compare);
        let report = engine.crash_everywhere("compare", &[5, 6], async |_| Ok(())).await;
        assert_eq!(report.most_runs("price"), 2);
    }
}
