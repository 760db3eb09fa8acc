//! What it costs to find the subscriptions that want an event, and to keep them.
//!
//! `cargo run --release -p abide --example match_index [COUNT…]`

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use abide::BoxError;
use abide::expr::Folded;
use abide::index::{Finding, Index, Registered};
use abide::publication::{Parsed, Publication, Seen};

/// How many events are published for one figure.
const EVENTS: usize = 20_000;

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [count, "--kind", kind] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return measure(KINDS[kind.parse::<usize>()?], count.parse()?);
    }
    let counts: Result<Vec<i64>, _> = arguments.iter().map(|count| count.parse()).collect();
    let mut counts = counts?;
    if counts.is_empty() {
        counts = vec![1_000, 100_000, 1_000_000];
    }
    print!("{:<36}{:>12}{:>12}{:>12}", "subscriptions", "insert µs", "match µs", "p99 µs");
    println!("{:>12}{:>12}{:>12}", "remove µs", "bytes each", "estimated");
    for count in counts {
        for (place, kind) in KINDS.into_iter().enumerate() {
            // A process of its own: what an earlier one gave back to the allocator is not counted.
            let program = std::env::current_exe()?;
            let arguments = [count.to_string(), "--kind".to_owned(), place.to_string()];
            let status = Command::new(program).args(arguments).status()?;
            if !status.success() {
                return Err(format!("{} failed: {status}", kind.name()).into());
            }
        }
    }
    Ok(())
}

const KINDS: [Kind; 5] =
    [Kind::Wildcard, Kind::Exact, Kind::OwnThreshold, Kind::ScannedAlike, Kind::Scanned];

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
    ScannedAlike,
    /// One in a hundred without an equality, and no two the same.
    Scanned,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Wildcard => "on payment.*",
            Self::Exact => "on payment.received",
            Self::OwnThreshold => "own thresholds",
            Self::ScannedAlike => "1 % scanned, alike",
            Self::Scanned => "1 % scanned, all different",
        }
    }

    fn subscription(self, id: i64) -> (&'static str, String) {
        let pattern = if matches!(self, Self::Exact) { "payment.received" } else { "payment.*" };
        let filter = match self {
            Self::ScannedAlike if id % 100 == 0 => {
                "event.payload.amount > event.payload.limit".to_owned()
            }
            Self::Scanned if id % 100 == 0 => {
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
    let (mut index, inserting) = fill(kind, count)?;
    let resident = resident().saturating_sub(before);
    let estimated = index.bytes();
    let mut matching = publish_all(&index, count)?;
    let mut removing = Stopwatch::default();
    removing.time(|| {
        for id in 0..count {
            black_box(index.remove(id));
        }
    });
    matching.sort_unstable();
    let all = usize::try_from(count)?;
    print!("{:<36}", format!("{count} {}", kind.name()));
    print!("{:>12.2}", micros(inserting.total()) / all as f64);
    print!("{:>12.2}", micros(matching[matching.len() / 2]));
    print!("{:>12.2}", micros(matching[matching.len() * 99 / 100]));
    print!("{:>12.2}", micros(removing.total()) / all as f64);
    println!("{:>12}{:>12}", resident / all, estimated / all);
    Ok(())
}

/// An index of that many, and how long inserting took without reading the filters.
fn fill(kind: Kind, count: i64) -> Result<(Index, Stopwatch), BoxError> {
    let mut index = Index::default();
    let mut inserting = Stopwatch::default();
    let mut scanned = 0;
    let mut id = 0;
    while id < count {
        let mut subscriptions = Vec::new();
        for id in id..count.min(id + 1_000) {
            let (pattern, filter) = kind.subscription(id);
            subscriptions.push((id, pattern, Folded::parse(&filter)?));
        }
        inserting.time(|| {
            for (id, pattern, filter) in &subscriptions {
                let registered = index.insert(*id, pattern, Some(filter));
                scanned += usize::from(registered == Registered::Scanned);
            }
        });
        id += 1_000;
    }
    assert_eq!((index.len(), index.scanned()), (usize::try_from(count)?, scanned));
    Ok((index, inserting))
}

/// Publishes events that one subscription each wants, and says how long each took.
fn publish_all(index: &Index, count: i64) -> Result<Vec<Duration>, BoxError> {
    let mut random = fastrand::Rng::with_seed(1);
    let events = if index.scanned() > 0 { EVENTS / 20 } else { EVENTS };
    let mut times = Vec::with_capacity(events);
    let mut matched = Vec::new();
    for _ in 0..events {
        let order = random.i64(0..count);
        let body = event(order, order.max(100));
        let start = Instant::now();
        publish(index, &body, &mut matched)?;
        times.push(start.elapsed());
        let wanted = index.scanned() == 0 || order % 100 != 0;
        assert!(matched.drain(..).eq(wanted.then_some(order)));
    }
    Ok(times)
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Measures by the clock and by the time that this thread had the processor.
#[derive(Default)]
struct Stopwatch {
    clock: Duration,
    busy: Duration,
}

impl Stopwatch {
    fn time(&mut self, work: impl FnOnce()) {
        let (clock, busy) = (Instant::now(), busy());
        work();
        self.busy += self::busy().saturating_sub(busy);
        self.clock += clock.elapsed();
    }

    /// On a busy machine the clock says more about others; but the kernel counts in milliseconds.
    fn total(&self) -> Duration {
        if self.busy < Duration::from_millis(100) { self.clock } else { self.busy }
    }
}

fn busy() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// What this process holds, as the kernel counts it: nothing that an allocator keeps is left out.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    kib.and_then(|kib| kib.trim().strip_suffix("kB")?.trim().parse::<usize>().ok())
        .map_or(0, |kib| kib * 1024)
}
