//! What streaming steps give, piece by piece.

use std::time::Duration;

use abide::store::{Committed, Epoch};
use abide::{Append, Chunk, ChunkFilter, NewChunk, StreamPosition, Transition};

use crate::Lab;
use crate::fixture::{Does, does, id};
use crate::lab::Runner;

const ALL: usize = 1000;

fn chunk(step: &str, attempt: u32, index: u32, text: &str) -> NewChunk {
    NewChunk { step: step.into(), attempt, index, bytes: text.as_bytes().to_vec().into() }
}

async fn append(lab: &Lab, by: Runner, chunk: NewChunk) -> Committed {
    let Runner { key, run, epoch } = by;
    lab.store.append(Append { key, run, epoch, chunk }).await.unwrap()
}

async fn appended(lab: &Lab, by: Runner, chunks: &[NewChunk]) {
    for chunk in chunks {
        assert_eq!(append(lab, by, chunk.clone()).await, Committed::Stored);
    }
}

fn streamed(chunks: &[NewChunk]) -> Transition {
    Transition { chunks: chunks.to_vec(), ..does().completes_step("s") }
}

fn told(chunks: &[Chunk]) -> Vec<String> {
    let text = |chunk: &Chunk| String::from_utf8(chunk.bytes.to_vec()).unwrap();
    chunks
        .iter()
        .map(|chunk| format!("{} {} {}", chunk.step, chunk.position, text(chunk)))
        .collect()
}

async fn read(lab: &Lab, filter: ChunkFilter, limit: usize) -> Vec<Chunk> {
    lab.store.chunks(&id("a"), filter, limit).await.unwrap()
}

async fn all(lab: &Lab) -> Vec<String> {
    told(&read(lab, ChunkFilter::All { after: 0 }, ALL).await)
}

fn of_step(step: &str, from: StreamPosition) -> ChunkFilter {
    ChunkFilter::Step { step: step.into(), from }
}

async fn of(lab: &Lab, step: &str) -> Vec<String> {
    told(&read(lab, of_step(step, StreamPosition::FIRST), ALL).await)
}

pub async fn what_is_appended_reads_back_in_order(lab: &Lab) {
    let a = lab.begin("a").await;
    appended(lab, a, &[chunk("s", 1, 0, "x"), chunk("t", 1, 0, "ü"), chunk("s", 1, 1, "")]).await;
    assert_eq!(all(lab).await, ["s 1.0 x", "t 1.0 ü", "s 1.1 "]);
    assert_eq!(of(lab, "s").await, ["s 1.0 x", "s 1.1 "]);
    let rows = read(lab, ChunkFilter::All { after: 0 }, ALL).await;
    assert!(rows.is_sorted_by(|one, next| one.row < next.row));
    let rest = read(lab, ChunkFilter::All { after: rows[0].row }, ALL).await;
    assert_eq!(rest, rows[1..]);
    assert_eq!(read(lab, ChunkFilter::All { after: rows[0].row }, 1).await, rows[1..2]);
}

pub async fn one_step_is_read_from_a_place_on_in_pages(lab: &Lab) {
    let a = lab.begin("a").await;
    let chunks: Vec<NewChunk> = (0..12).map(|n| chunk("s", 1, n, &n.to_string())).collect();
    appended(lab, a, &chunks).await;
    let (mut seen, mut from) = (Vec::new(), StreamPosition::FIRST);
    loop {
        let page = read(lab, of_step("s", from), 5).await;
        let Some(last) = page.last() else { break };
        from = last.position.next();
        seen.extend(told(&page));
    }
    assert_eq!(seen.len(), 12);
    assert_eq!(seen[11], "s 1.11 11", "by number, not by text");
    assert_eq!(seen, of(lab, "s").await);
}

pub async fn an_append_leaves_no_history_and_does_not_touch_the_instance(lab: &Lab) {
    let a = lab.begin("a").await;
    let before = lab.everything().await;
    lab.clock.advance(Duration::from_millis(5));
    appended(lab, a, &[chunk("s", 1, 0, "x")]).await;
    assert_eq!(lab.everything().await, before);
}

pub async fn a_commit_stores_its_chunks_with_its_history(lab: &Lab) {
    let a = lab.begin("a").await;
    appended(lab, a, &[chunk("s", 1, 0, "x")]).await;
    lab.stored(a, streamed(&[chunk("s", 1, 1, "y")])).await;
    assert_eq!(all(lab).await, ["s 1.0 x", "s 1.1 y"]);
    assert_eq!(lab.story("a").await.last().unwrap(), "2 step.completed s");
    lab.stored(a, Transition { chunks: vec![chunk("t", 1, 0, "z")], ..does().completes(1) }).await;
    assert_eq!(of(lab, "t").await, ["t 1.0 z"], "also with the end");
}

pub async fn an_append_is_fenced_like_a_commit(lab: &Lab) {
    let a = lab.begin("a").await;
    for other in [Runner { epoch: Epoch(a.epoch.0 + 7), ..a }, Runner { run: 2, ..a }] {
        assert_eq!(append(lab, other, chunk("s", 1, 0, "x")).await, Committed::Fenced);
    }
    let next = lab.take("a").await;
    assert_eq!(append(lab, a, chunk("s", 1, 0, "x")).await, Committed::Fenced);
    lab.stored(next, does().completes(1)).await;
    assert_eq!(append(lab, next, chunk("s", 1, 0, "x")).await, Committed::Fenced);
    let late = Transition { chunks: vec![chunk("s", 1, 0, "x")], ..does().completes_step("s") };
    assert_eq!(lab.commit(next, late).await, Committed::Fenced);
    assert!(all(lab).await.is_empty());
}

pub async fn the_first_chunk_of_an_attempt_takes_the_place_of_those_before(lab: &Lab) {
    let a = lab.begin("a").await;
    appended(lab, a, &[chunk("s", 1, 0, "x"), chunk("t", 1, 0, "t"), chunk("s", 1, 1, "y")]).await;
    appended(lab, a, &[chunk("s", 2, 0, "z")]).await;
    assert_eq!(all(lab).await, ["t 1.0 t", "s 2.0 z"]);
    lab.stored(a, streamed(&[chunk("s", 3, 0, "")])).await;
    assert_eq!(of(lab, "s").await, ["s 3.0 "]);
}

pub async fn a_chunk_of_an_earlier_attempt_comes_too_late(lab: &Lab) {
    let a = lab.begin("a").await;
    appended(lab, a, &[chunk("s", 1, 0, "x"), chunk("s", 2, 0, "y")]).await;
    assert_eq!(append(lab, a, chunk("s", 1, 1, "late")).await, Committed::Fenced);
    assert_eq!(append(lab, a, chunk("s", 1, 0, "late")).await, Committed::Fenced);
    assert_eq!(all(lab).await, ["s 2.0 y"]);
}

pub async fn the_same_place_again_changes_nothing(lab: &Lab) {
    let a = lab.begin("a").await;
    appended(lab, a, &[chunk("s", 1, 0, "x"), chunk("s", 1, 1, "y")]).await;
    let before = read(lab, ChunkFilter::All { after: 0 }, ALL).await;
    appended(lab, a, &[chunk("s", 1, 0, "other"), chunk("s", 1, 1, "other")]).await;
    assert_eq!(read(lab, ChunkFilter::All { after: 0 }, ALL).await, before);
}

pub async fn a_whole_restart_takes_them_and_one_from_a_step_keeps_them(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.stored(a, streamed(&[chunk("s", 1, 0, "x")])).await;
    lab.stored(a, does().completes_step("t")).await;
    lab.restart_from("a", "t").await.unwrap();
    assert_eq!(all(lab).await, ["s 1.0 x"]);
    let again = lab.take("a").await;
    appended(lab, again, &[chunk("s", 1, 0, "y")]).await;
    assert_eq!(all(lab).await, ["s 2.1.0 y"], "a later run is later, whatever the attempt");
    lab.restart("a").await;
    assert!(all(lab).await.is_empty());
}

pub async fn the_next_run_keeps_them_until_its_own(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.stored(a, streamed(&[chunk("s", 2, 0, "x")])).await;
    lab.stored(a, does().continues(1)).await;
    assert_eq!(all(lab).await, ["s 2.0 x"]);
    let next = lab.take("a").await;
    appended(lab, next, &[chunk("s", 1, 0, "y")]).await;
    assert_eq!(all(lab).await, ["s 2.1.0 y"]);
}

pub async fn they_go_with_their_instance_and_their_rows_are_not_used_again(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.stored(a, Transition { chunks: vec![chunk("s", 1, 0, "x")], ..does().completes(1) }).await;
    let row = read(lab, ChunkFilter::All { after: 0 }, ALL).await[0].row;
    lab.clock.advance(Duration::from_millis(5));
    lab.store.prune(lab.in_ms(0), ALL).await.unwrap();
    let refused = lab.store.chunks(&id("a"), ChunkFilter::All { after: 0 }, ALL).await.unwrap_err();
    assert_eq!(refused.code(), "WORKFLOW_NOT_FOUND");
    let again = lab.begin("a").await;
    appended(lab, again, &[chunk("s", 1, 0, "y")]).await;
    let chunks = read(lab, ChunkFilter::All { after: 0 }, ALL).await;
    assert!(chunks.len() == 1 && chunks[0].row > row, "{chunks:?}");
}

pub async fn whoever_listens_hears_of_every_stored_one(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.forget_hints().await;
    appended(lab, a, &[chunk("s", 1, 0, "x")]).await;
    lab.hears(&["streamed a"]).await;
    appended(lab, a, &[chunk("s", 1, 0, "x")]).await;
    lab.hears(&[]).await;
    lab.stored(a, streamed(&[chunk("s", 1, 1, "y")])).await;
    lab.hears(&["streamed a"]).await;
}
