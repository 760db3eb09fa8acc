//! A change needs two votes of different people; the author may withdraw it, and every comment is read.
//!
//! `cargo run -p abide-examples --bin quorum`

use abide::prelude::*;
use abide_sqlite::SqliteStore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize)]
struct Change {
    id: u32,
    author: String,
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Vote {
    change: u32,
    user: String,
    #[serde(default)]
    comment: String,
}

fn vote(change: u32, user: &str) -> Vote {
    Vote { change, user: user.to_owned(), comment: String::new() }
}

async fn review(cx: Cx, change: Change) -> Result<String> {
    // Two words before anybody votes, in the order in which they were said.
    let mut talk = cx.subscribe::<String>("comment").timeout("1 day");
    let said = [talk.next().await?.payload, talk.next().await?.payload];
    cx.set_output("said", &said)?;

    // Whichever comes first: the other one is cancelled with it.
    let opened = cx.wait_for_event::<()>("opened").timeout("1 day");
    let withdrawn = cx
        .wait_for_event::<String>("withdrawn")
        .filter("event.payload === workflow.context.author")
        .timeout("1 day");
    if let OneOf2::Second(by) = cx.any((opened, withdrawn)).await? {
        return Ok(format!("change {} was withdrawn by {}", change.id, by.payload));
    }

    let votes = cx
        .wait_for_event::<Vote>("votes")
        .on("vote")
        .filter("event.payload.change === workflow.context.id")
        .timeout("7 days")
        .count(2)
        .distinct_by("event.payload.user")
        .await?;
    let names: Vec<&str> = votes.iter().map(|vote| &*vote.payload.user).collect();
    Ok(format!("change {} was accepted by {}", change.id, names.join(" and ")))
}

fn workflow() -> Workflow {
    Workflow::new("review", review)
        .event::<String>("comment", Buffer::Queue)
        .event::<()>("opened", Buffer::Latest)
        .event::<String>("withdrawn", Buffer::Latest)
        .event::<Vote>("vote", Buffer::Queue)
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("quorum.db").await?;
    let engine = Engine::builder(store).register(workflow()).start().await?;

    let change = Change { id: 7, author: "eve".to_owned() };
    let review = engine.start("review", Start::new(&change)).await?;
    for comment in ["looks good", "needs a test"] {
        review.send_event("comment", comment).await?;
    }
    println!("{:?}", review.wait_for_output::<Vec<String>>("said").await?);

    // The author may not be impersonated, and nobody votes twice or for something else.
    review.send_event("withdrawn", "mallory").await?;
    review.send_event("opened", &()).await?;
    for vote in [vote(7, "ann"), vote(7, "ann"), vote(8, "bob"), vote(7, "bob")] {
        review.send_event("vote", &vote).await?;
    }
    println!("{}", review.result::<String>().await?);

    // What does not fit the declaration is refused, and says where.
    let other = engine.start("review", Start::new(&Change { id: 8, author: "eve".into() })).await?;
    if let Err(refused) = other.send_event("vote", &("not", "a vote")).await {
        println!("{refused}");
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]
mod tests {
    use abide_testkit::{TestEngine, TestEngineBuilder, TestHandle};

    use super::*;

    fn engine() -> TestEngineBuilder {
        TestEngine::builder().register(workflow())
    }

    fn change() -> Change {
        Change { id: 7, author: "eve".to_owned() }
    }

    async fn opened(review: &TestHandle) {
        for comment in ["a", "b"] {
            review.send_event("comment", comment).await.unwrap();
        }
        review.send_event("opened", &()).await.unwrap();
    }

    #[tokio::test]
    async fn the_author_may_withdraw_it_and_nobody_else() {
        let engine = engine().start().await;
        let review = engine.start("review", Start::new(&change())).await.unwrap();
        for comment in ["a", "b"] {
            review.send_event("comment", comment).await.unwrap();
        }
        for author in ["mallory", "eve"] {
            review.send_event("withdrawn", author).await.unwrap();
        }
        assert_eq!(review.result::<String>().await.unwrap(), "change 7 was withdrawn by eve");
    }

    #[tokio::test]
    async fn one_vote_is_not_enough() {
        let engine = engine().start().await;
        let review = engine.start("review", Start::new(&change())).await.unwrap();
        opened(&review).await;
        review.send_event("vote", &vote(7, "ann")).await.unwrap();
        assert_eq!(review.failure().await.code, "EVENT_TIMEOUT");
    }

    #[tokio::test]
    async fn no_crash_loses_a_vote() {
        let script = async |review: TestHandle| {
            opened(&review).await;
            for user in ["ann", "bob"] {
                review.send_event("vote", &vote(7, user)).await?;
            }
            Ok(())
        };
        let report = engine().crash_everywhere("review", &change(), script).await;
        assert!(report.writes > 5, "{report:?}");
    }
}
