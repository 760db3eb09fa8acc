//! A person is asked, reminded once, and may answer at any time: also before the question was reached.
//!
//! `cargo run -p abide-examples --bin approval`

use abide::prelude::*;
use abide_sqlite::SqliteStore;

async fn say(what: String) -> Result<()> {
    println!("{what}");
    Ok(())
}

async fn expense(cx: Cx, amount: u32) -> Result<String> {
    cx.step("file", || say(format!("filed {amount}"))).await?;
    cx.sleep("until the office opens", "300ms").await?;
    cx.set_output("progress", "waiting for approval")?;
    let mut reminders = 0;
    let answer: Event<bool> = loop {
        match cx.wait_for_event("approval").timeout("500ms").await {
            Err(Error::EventTimeout { .. }) if reminders < 3 => {
                reminders += 1;
                cx.step("remind", || say(format!("reminder {reminders}"))).await?;
            }
            answered => break answered?,
        }
    };
    Ok(if answer.payload { "approved" } else { "rejected" }.to_owned())
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("approval.db").await?;
    let workflow = Workflow::new("expense", expense).event("approval", Buffer::Latest);
    let engine = Engine::builder(store).register(workflow).start().await?;

    // Answered too early, twice: the last word counts, and nobody waits.
    let early = engine.start("expense", Start::new(&10)).await?;
    early.send_event("approval", &false).await?;
    early.send_event("approval", &true).await?;
    println!("early: {}", early.result::<String>().await?);

    // Answered late, after a reminder.
    let late = engine.start("expense", Start::new(&20)).await?;
    println!("late: {}", late.wait_for_output::<String>("progress").await?);
    while late.waits().await?.len() < 2 {
        tokio::task::yield_now().await;
    }
    let answer = late.send_event("approval", &false).await?;
    println!("late: delivered to {}", answer.delivered);
    println!("late: {}", late.result::<String>().await?);
    Ok(())
}
