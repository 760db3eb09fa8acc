//! What it costs to find the subscriptions that want an event, and to keep them.
//!
//! `cargo run --release -p abide --example match_index [COUNT…]`

use std::hint::black_box;
use std::time::{Duration, Instant};

use abide::BoxError;
use abide::expr::Folded;
use abide::index::{Finding, Index, Registered};
use abide::publication::{Parsed, Publication, Seen};

/// How many events are published for one figure.
const EVENTS: usize = 20_000;

fn main() -> Result<(), BoxError> {
    let counts: Result<Vec<i64>, _> = std::env::args().skip(1).map(|count| count.parse()).collect();
    let mut counts = counts?;
    if counts.is_empty() {
        counts = vec![1_000, 100_000, 1_000_000];
    }
    println!(
        "{:<34}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "subscriptions", "insert µs", "match µs", "p99 µs", "remove µs", "bytes each", "estimated"
    );
    for count in counts {
        for kind in
            [Kind::Wildcard, Kind::Exact, Kind::OwnThreshold, Kind::Scanned, Kind::AllScanned]
        {
            measure(kind, count)?;
        }
    }
    Ok(())
}

/// What subscriptions look like. All but the scanned ones name their own order.
#[derive(Clone, Copy)]
enum Kind {
    /// On `payment.*`.
    Wildcard,
    /// On `payment.received`.
    Exact,
    /// Each with its own amount, so that no residue is shared.
    OwnThreshold,
    /// One in a hundred without an equality.
    Scanned,
    /// One in a hundred without an equality, and no two the same.
    AllScanned,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Wildcard => "on payment.*",
            Self::Exact => "on payment.received",
            Self::OwnThreshold => "own thresholds",
            Self::Scanned => "1 % scanned, alike",
            Self::AllScanned => "1 % scanned, all different",
        }
    }

    fn subscription(self, id: i64) -> (&'static str, String) {
        let pattern = if matches!(self, Self::Exact) { "payment.received" } else { "payment.*" };
        let filter = match self {
            Self::Scanned if id % 100 == 0 => {
                "event.payload.amount > event.payload.limit".to_owned()
            }
            Self::AllScanned if id % 100 == 0 => {
                format!("event.payload.amount > event.payload.limit + {id}")
            }
            Self::OwnThreshold => {
                format!(r#"event.payload.orderId === "o-{id}" && event.payload.amount >= {id}"#)
            }
            _ => format!(r#"event.payload.orderId === "o-{id}" && event.payload.amount >= 100"#),
        };
        (pattern, filter)
    }
}

/// An event for one of the subscriptions, as somebody sends it.
fn event(order: i64, amount: i64) -> String {
    format!(
        r#"{{"id":"evt_{order}","source":"shop","type":"payment.received","time":"2024-02-29T12:30:45.123Z",
            "payload":{{"orderId":"o-{order}","amount":{amount},"limit":{amount},"currency":"EUR",
            "method":{{"type":"card","last4":"4242"}},"customer":"c-{order}"}}}}"#
    )
}

/// From the text of an event to the subscriptions that want it.
fn publish(index: &Index, body: &str, matched: &mut Vec<i64>) -> Result<(), BoxError> {
    let publication = Publication::from_json(body.as_bytes())?;
    let parsed = Parsed::default();
    let event = Seen::of(&publication, &parsed);
    index.matching(&publication.event_type, &event, |id, finding| {
        if finding == Finding::Match {
            matched.push(id);
        }
    });
    Ok(())
}

fn measure(kind: Kind, count: i64) -> Result<(), BoxError> {
    let before = resident();
    let mut index = Index::default();
    let mut inserting = Duration::ZERO;
    let mut scanned = 0;
    for id in 0..count {
        let (pattern, filter) = kind.subscription(id);
        let filter = Folded::parse(&filter)?;
        let start = Instant::now();
        let registered = index.insert(id, pattern, Some(&filter));
        inserting += start.elapsed();
        scanned += usize::from(registered == Registered::Scanned);
    }
    let resident = resident().saturating_sub(before);
    assert_eq!((index.len(), index.scanned()), (usize::try_from(count)?, scanned));

    let mut random = fastrand::Rng::with_seed(1);
    let events = if scanned > 0 { EVENTS / 20 } else { EVENTS };
    let mut times = Vec::with_capacity(events);
    let mut matched = Vec::new();
    for _ in 0..events {
        let order = random.i64(0..count);
        let body = event(order, order.max(100));
        let start = Instant::now();
        publish(&index, &body, &mut matched)?;
        times.push(start.elapsed());
        let wanted = !(scanned > 0 && order % 100 == 0);
        assert_eq!(matched.drain(..).collect::<Vec<_>>(), Vec::from_iter(wanted.then_some(order)));
    }
    let estimated = index.bytes();
    let start = Instant::now();
    for id in 0..count {
        black_box(index.remove(id));
    }
    let removing = start.elapsed();
    times.sort_unstable();
    let each = |total: Duration, of: usize| total.as_secs_f64() * 1e6 / of as f64;
    let all = usize::try_from(count)?;
    println!(
        "{:<34}{:>12.2}{:>12.2}{:>12.2}{:>12.2}{:>12}{:>12}",
        format!("{count} {}", kind.name()),
        each(inserting, all),
        each(times[events / 2], 1),
        each(times[events * 99 / 100], 1),
        each(removing, all),
        resident / all,
        estimated / all,
    );
    Ok(())
}

/// What this process holds, as the kernel counts it: nothing that an allocator keeps is left out.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    kib.and_then(|kib| kib.trim().strip_suffix("kB")?.trim().parse::<usize>().ok())
        .map_or(0, |kib| kib * 1024)
}
