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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]
mod tests {
    use abide_testkit::TestEngine;

    use super::*;

    #[tokio::test]
    async fn the_greeting_is_shouted_after_a_breath() {
        let engine = TestEngine::builder().workflow("hello", hello).start().await;
        let began = engine.now();
        let handle = engine.start("hello", Start::new("Ada")).await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), "HELLO, ADA!");
        assert_eq!(engine.now().since(began).as_secs(), 1);
    }

    #[tokio::test]
    async fn it_greets_the_same_wherever_it_dies() {
        let engine = TestEngine::builder().workflow("hello", hello);
        let report = engine.crash_everywhere("hello", "Ada", async |_| Ok(())).await;
        assert_eq!(report.repeated(), ["greet", "shout"]);
    }
}
