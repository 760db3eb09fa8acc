//! An answer that is read while it is being written, like that of a language model.
//!
//! `cargo run -p abide-examples --bin answer`

use std::time::Duration;

use abide::FrameKind;
use abide::prelude::*;
use abide_sqlite::SqliteStore;
use futures_util::stream::{self, Stream};

/// How long a word takes; tests have no time for that.
const PACE: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 30 });

/// Stands for a model: it takes its time for every word.
async fn complete(prompt: &str) -> Result<impl Stream<Item = Result<String>> + Send + use<>> {
    let text = format!("You asked: {prompt} The answer is to wait, and to see what comes.");
    let words: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
    Ok(stream::unfold(words.into_iter(), async |mut words| {
        tokio::time::sleep(PACE).await;
        Some((Ok(words.next()?), words))
    }))
}

async fn answer(cx: Cx, prompt: String) -> Result<usize> {
    cx.emit("thinking", &prompt)?;
    // Shown piece by piece; remembered as a whole. A replay does not ask the model again.
    let text = cx.stream_step("complete", || complete(&prompt)).timeout("1 minute").await?;
    Ok(text.split_whitespace().count())
}

#[tokio::main]
async fn main() -> Result<()> {
    let store = SqliteStore::open("answer.db").await?;
    let engine = Engine::builder(store).workflow("answer", answer).start().await?;

    let handle = engine.start("answer", Start::new("how long?")).await?;
    println!("thinking about {:?}", handle.wait_for_update::<String>("thinking").await?);

    let mut frames = handle.step_stream("complete", None);
    let mut chunks = 0;
    while let Some(frame) = frames.next().await {
        match frame?.kind {
            FrameKind::Chunk(bytes) => {
                chunks += 1;
                print!("{}", String::from_utf8_lossy(&bytes));
            }
            FrameKind::Rollback => println!(" … once more:"),
            FrameKind::Done => println!(),
            FrameKind::Failed(failure) => println!(" … {failure}"),
        }
    }
    println!("came in several pieces: {}", chunks > 1);
    println!("{} words", handle.result::<usize>().await?);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]
mod tests {
    use abide_testkit::TestEngine;

    use super::*;

    #[tokio::test]
    async fn a_test_answers_in_place_of_the_model() {
        let engine = TestEngine::builder()
            .workflow("answer", answer)
            .replace_step("complete", |_attempt| Ok("three short words"))
            .start()
            .await;
        let handle = engine.start("answer", Start::new("why?")).await.unwrap();
        assert_eq!(handle.result::<usize>().await.unwrap(), 3);
    }

    #[tokio::test]
    async fn it_comes_to_the_same_wherever_it_dies() {
        let engine = TestEngine::builder().workflow("answer", answer);
        let report = engine.crash_everywhere("answer", "why?", async |_| Ok(())).await;
        assert_eq!(report.repeated(), ["complete"]);
    }
}
