//! The smallest workflow: two steps and a sleep, each remembered.
//!
//! `cargo run -p abide-examples --bin hello`

use abide::prelude::*;
use abide_sqlite::SqliteStore;

async fn hello(cx: Cx, name: String) -> Result<String> {
    let greeting = cx.step("greet", || async { Ok::<_, Error>(format!("Hello, {name}!")) }).await?;
    cx.sleep("take a breath", "1 second").await?;
    cx.step("shout", || async { Ok::<_, Error>(greeting.to_uppercase()) }).await
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("hello.db").await?;
    let engine = Engine::builder(store).workflow("hello", hello).start().await?;

    let handle = engine.start("hello", Start::new("world")).await?;
    println!("{}", handle.result::<String>().await?);
    Ok(())
}
