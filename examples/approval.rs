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

fn workflow() -> Workflow {
    Workflow::new("expense", expense).event::<bool>("approval", Buffer::Latest)
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("approval.db").await?;
    let engine = Engine::builder(store).register(workflow()).start().await?;

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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]
mod tests {
    use abide_testkit::{TestEngine, TestEngineBuilder};

    use super::*;

    fn engine() -> TestEngineBuilder {
        TestEngine::builder().register(workflow())
    }

    #[tokio::test]
    async fn an_early_answer_needs_no_reminder() {
        let engine = engine().start().await;
        let handle = engine.start("expense", Start::new(&10)).await.unwrap();
        handle.send_event("approval", &false).await.unwrap();
        handle.send_event("approval", &true).await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), "approved");
        assert_eq!(engine.runs_of("remind"), 0);
    }

    #[tokio::test]
    async fn an_answer_that_is_kept_back_is_reminded_of() {
        let engine = engine().start().await;
        engine.withhold("approval");
        let handle = engine.start("expense", Start::new(&10)).await.unwrap();
        handle.send_event("approval", &false).await.unwrap();
        handle.until_wait("approval#3").await;
        engine.release("approval").await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), "rejected");
        assert_eq!(engine.runs_of("remind"), 2);
    }

    #[tokio::test]
    async fn nobody_is_reminded_a_fourth_time() {
        let engine = engine().start().await;
        let handle = engine.start("expense", Start::new(&10)).await.unwrap();
        assert_eq!(handle.failure().await.code, "EVENT_TIMEOUT");
        assert_eq!(engine.runs_of("remind"), 3);
    }

    #[tokio::test]
    async fn no_crash_loses_an_answer() {
        let script = async |expense: abide_testkit::TestHandle| {
            expense.until_wait("approval#2").await;
            expense.send_event("approval", &true).await.map(drop)
        };
        let report = engine().crash_everywhere("expense", &20, script).await;
        assert_eq!((report.most_runs("file"), report.most_runs("remind")), (2, 2));
    }
}
