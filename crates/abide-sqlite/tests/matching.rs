//! Matching from rows alone and from the index in memory: the same waits are found.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

mod common;

use std::path::Path;

use abide::expr::Folded;
use abide::store::{IfExists, Store};
use abide::{
    Count, Folding, Json, NewInstance, NewWait, Publication, Publish, Transition, Verdict,
};
use abide_sqlite::SqliteStore;
use common::events::hears;
use common::new;
use serde_json::{Value, json};

const PATTERNS: [&str; 8] =
    ["order.paid", "order.*", "*.paid", "**", "order.**", "stock.*.low", "a.b", "*.*"];
const TYPES: [&str; 6] = ["order.paid", "order.sent", "invoice.paid", "stock.eu.low", "a.b", "x"];

fn folding(text: &str) -> Folding {
    Folding { written: text.into(), folded: Folded::parse(text).unwrap() }
}

fn value(random: &mut fastrand::Rng) -> Value {
    match random.u8(..7) {
        0 => Value::Null,
        1 => json!(random.bool()),
        2 => json!(random.i64(..3)),
        3 => json!(0.5),
        4 => json!("|s:\\"),
        5 => json!([1]),
        _ => json!(format!("v{}", random.u8(..3))),
    }
}

fn filter(random: &mut fastrand::Rng) -> Option<Folding> {
    let (a, b) = (value(random), value(random));
    let text = match random.u8(..10) {
        0 => return None,
        1 => format!("event.payload.a === {a}"),
        2 => format!("event.payload.a === {a} && event.payload.b === {b}"),
        3 => format!("event.payload.a === {a} || event.payload.b === {b}"),
        4 => format!("event.payload.a in [{a}, {b}]"),
        5 => "event.payload.a > 0".to_owned(),
        6 => format!("event.payload.a === {a} && event.payload.b > 0"),
        7 => format!("event.type === \"order.paid\" && event.payload.b === {b}"),
        8 => "event.payload.a.startsWith('v')".to_owned(),
        _ => "event.id === 'e3' || event.subject === 's'".to_owned(),
    };
    Some(folding(&text))
}

/// Instances with a few waits each.
fn instances(random: &mut fastrand::Rng) -> Vec<NewInstance> {
    (0..40)
        .map(|n| {
            let wait = |step: u8, random: &mut fastrand::Rng| {
                let pattern = PATTERNS[random.usize(..PATTERNS.len())];
                let id = format!("sub_{n}_{step}").into();
                let count = Count { needed: 2, distinct_by: None, held: vec![] };
                let count = (random.u8(..5) == 0).then_some(count);
                let step = format!("w{step}");
                NewWait { id, filter: filter(random), count, ..hears(&step, pattern) }
            };
            let waits = (0..random.u8(1..4)).map(|step| wait(step, random)).collect();
            let first = Some(Transition { waits, ..Transition::default() });
            NewInstance { first, ..new(&format!("i{n}")) }
        })
        .collect()
}

fn event(n: usize, random: &mut fastrand::Rng) -> Publish {
    let payload = match random.u8(..8) {
        0 => None,
        _ => Some(Json::encode(&json!({"a": value(random), "b": value(random)})).unwrap()),
    };
    let subject = random.bool().then(|| "s".to_owned());
    let event_type = TYPES[random.usize(..TYPES.len())];
    let id = Some(format!("e{n}"));
    Publish::new(Publication { id, payload, subject, ..Publication::new(event_type) })
}

async fn open(path: &Path, index_max_bytes: usize) -> SqliteStore {
    SqliteStore::options().index_max_bytes(index_max_bytes).open(path).await.unwrap()
}

/// What becomes of some events, the store being opened anew in the middle.
async fn run(seed: u64, index_max_bytes: usize) -> Vec<Verdict> {
    let mut random = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let mut store = open(&path, index_max_bytes).await;
    for new in instances(&mut random) {
        store.start(vec![new], IfExists::Error).await.unwrap();
    }
    let mut verdicts = Vec::new();
    for n in 0..40 {
        if n == 20 {
            drop(store);
            store = open(&path, index_max_bytes).await;
        }
        let event = event(n, &mut random);
        let tried = Publish { dry_run: true, ..event.clone() };
        let would_be = store.publish(tried).await.unwrap();
        let verdict = store.publish(event).await.unwrap();
        assert_eq!(Verdict { seq: verdict.seq, ..would_be }, verdict);
        verdicts.push(verdict);
    }
    verdicts
}

#[tokio::test]
async fn rows_and_the_index_in_memory_find_the_same_waits() {
    let mut matched = 0;
    for seed in 0..6 {
        let (by_rows, by_index) = (run(seed, 0).await, run(seed, usize::MAX).await);
        assert_eq!(by_rows, by_index, "seed {seed}");
        matched += by_rows.iter().map(|verdict| verdict.matched_count).sum::<u64>();
    }
    assert!(matched > 150, "only {matched} waits were met");
}
