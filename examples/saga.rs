//! A trip that can't be completed: what was booked is undone, last booking first.
//!
//! `cargo run -p abide-examples --bin saga`

use abide::prelude::*;
use abide_sqlite::SqliteStore;

async fn book(what: &'static str) -> Result<String, Error> {
    println!("booked {what}");
    Ok(format!("{what}-1"))
}

async fn cancel(booking: String) -> Result<(), Error> {
    println!("cancelled {booking}");
    Ok(())
}

async fn trip(cx: Cx, city: String) -> Result<String> {
    cx.step("book flight", || book("flight")).compensate(cancel).await?;
    cx.step("book hotel", || book("hotel")).compensate(cancel).await?;
    let charge = || async { Err::<(), _>(NonRetryable::new("card declined")) };
    cx.step("charge card", charge).await?;
    Ok(format!("have a good time in {city}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("saga.db").await?;
    let engine = Engine::builder(store).workflow("trip", trip).start().await?;
    let handle = engine.start("trip", Start::new("Lisbon")).await?;
    match handle.result::<String>().await {
        Ok(wish) => println!("{wish}"),
        Err(error) => println!("{error}"),
    }
    engine.shutdown().await;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]
mod tests {
    use abide_testkit::TestEngine;

    use super::*;

    #[tokio::test]
    async fn a_declined_card_cancels_every_booking() {
        let engine = TestEngine::builder().workflow("trip", trip).start().await;
        let handle = engine.start("trip", Start::new("Lisbon")).await.unwrap();
        assert!(handle.failure().await.message.contains("card declined"));
        let steps = handle.steps().await.unwrap();
        let names: Vec<&str> = steps.iter().map(|step| &*step.name).collect();
        assert_eq!(names[3..], ["compensate book hotel", "compensate book flight"]);
    }

    #[tokio::test]
    async fn a_paid_trip_takes_place() {
        let engine = TestEngine::builder()
            .workflow("trip", trip)
            .replace_step("charge card", |_attempt| Ok(()))
            .start()
            .await;
        let handle = engine.start("trip", Start::new("Lisbon")).await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), "have a good time in Lisbon");
        assert_eq!(engine.runs_of("compensate book hotel"), 0);
    }

    #[tokio::test]
    async fn no_crash_leaves_a_booking_behind() {
        let engine = TestEngine::builder().workflow("trip", trip);
        let report = engine.crash_everywhere("trip", "Lisbon", async |_| Ok(())).await;
        for step in report.steps() {
            assert!((1..=2).contains(&step.most), "{step:?}");
        }
    }
}
