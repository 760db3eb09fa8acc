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
