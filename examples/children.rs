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
