//! A workflow made of workflows: some are awaited, one is only started.
//!
//! `cargo run -p abide-examples --bin children`

use abide::prelude::*;
use abide_sqlite::SqliteStore;
use futures_util::future::try_join_all;

async fn chapter(cx: Cx, number: u32) -> Result<usize> {
    let text = cx.step("write", || async move { Ok::<_, Error>("word ".repeat(number as usize)) });
    Ok(text.await?.split_whitespace().count())
}

async fn announce(cx: Cx, title: String) -> Result<()> {
    let announce = || async {
        println!("{title} is out");
        Ok::<_, Error>(())
    };
    cx.step("announce", announce).await
}

async fn book(cx: Cx, title: String) -> Result<usize> {
    let chapters = (1..=3).map(|number| cx.child::<usize>("chapter", number));
    let words: usize = try_join_all(chapters).await?.iter().sum();
    // Goes on by itself; the book does not wait for it.
    let announcement = cx.child::<()>("announce", &title).detached().await?;
    cx.context().set("announcement", &announcement)?;
    Ok(words)
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("children.db").await?;
    let engine = Engine::builder(store)
        .workflow("book", book)
        .workflow("chapter", chapter)
        .workflow("announce", announce)
        .start()
        .await?;
    let handle = engine.start("book", Start::new("Waiting Well")).await?;
    println!("{} words", handle.result::<usize>().await?);

    let children = Filter { parent: Some(handle.id().clone()), ..Filter::default() };
    for child in engine.list(children, Page::default()).await?.instances {
        engine.get(&child.id).ended().await?;
        println!("child: {}", child.workflow);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]
mod tests {
    use abide_testkit::{TestEngine, TestEngineBuilder};

    use super::*;

    fn engine() -> TestEngineBuilder {
        TestEngine::builder()
            .workflow("book", book)
            .workflow("chapter", chapter)
            .workflow("announce", announce)
            .replace_step("announce", |_attempt| Ok(()))
    }

    #[tokio::test]
    async fn a_book_has_the_words_of_its_chapters() {
        let engine = engine().replace_step("write", |_| Ok("two words")).start().await;
        let handle = engine.start("book", Start::new("Short")).await.unwrap();
        assert_eq!(handle.result::<usize>().await.unwrap(), 6);
        engine.settle().await;
        assert_eq!((engine.runs_of("write"), engine.runs_of("announce")), (3, 1));
    }

    #[tokio::test]
    async fn a_book_without_one_of_its_chapters_fails() {
        let lost = |_attempt| Err::<(), _>(NonRetryable::new("manuscript lost").into());
        let engine = engine().replace_step("write", lost).start().await;
        let handle = engine.start("book", Start::new("Lost")).await.unwrap();
        assert!(handle.failure().await.message.contains("manuscript lost"));
        assert_eq!(engine.runs_of("announce"), 0);
    }

    #[tokio::test]
    async fn no_crash_loses_a_chapter_or_announces_a_book_for_nothing() {
        let report = engine().crash_everywhere("book", "Waiting Well", async |_| Ok(())).await;
        // Three chapters; a crash in the middle of one of them writes that one again.
        assert!(report.most_runs("write") <= 6, "{report:?}");
        assert_eq!(report.most_runs("announce"), 2);
    }
}
