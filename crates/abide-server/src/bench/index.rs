//! What it costs to find the subscriptions that want an event, and to keep them: the index alone,
//! without a store.
//!
//! A small index is measured in turns with the one in question: whatever else the machine does
//! meanwhile, it does to both.

use std::ops::Range;
use std::time::{Duration, Instant};

use abide::Verdict;
use abide::index::{Finding, Index, Registered};
use abide::publication::{Parsed, Seen};

use crate::error::Error;

use super::reading::{Reading, Unit};
use super::samples::Samples;
use super::stopwatch::Stopwatch;
use super::subscriber::{self, Mix, PATTERN};

/// The small one.
const FEW: usize = 1_000;

/// Events published to each index.
const EVENTS: usize = 20_000;

/// The same where each has to ask thousands of scanners.
const EVENTS_SCANNED: usize = 1_000;

/// Subscriptions between two looks at the clock.
const PIECE: usize = 1_000;

/// Registrations that are timed at least: a small index is filled several times.
const REGISTRATIONS: usize = 50_000;

/// Multiples of this prime come from everywhere, and each number comes once.
pub(crate) const SPREAD: usize = 15_485_863;

/// An index and what filling it took.
struct Filled {
    index: Index,
    keyed: usize,
    reading: Stopwatch,
    inserting: Stopwatch,
}

impl Filled {
    fn new(count: usize, mix: Mix, rounds: usize) -> Result<Self, Error> {
        let keyed = count - mix.scanners(count);
        let (reading, inserting) = (Stopwatch::default(), Stopwatch::default());
        let mut filled = Self { index: Index::default(), keyed, reading, inserting };
        for _ in 0..rounds {
            filled.index = Index::default();
            for first in (0..count).step_by(PIECE) {
                filled.register(first..count.min(first + PIECE))?;
            }
        }
        if filled.index.scanned() != count - keyed {
            let scanned = filled.index.scanned();
            return Err(Error::Unexpected(format!("{scanned} subscriptions are scanned")));
        }
        Ok(filled)
    }

    fn register(&mut self, numbers: Range<usize>) -> Result<(), Error> {
        let keyed = self.keyed;
        let read = |number| match number < keyed {
            true => subscriber::keyed(number),
            false => subscriber::scanned(number),
        };
        let filters = || numbers.clone().map(read).collect::<Result<Vec<_>, _>>();
        let filters = self.reading.time(filters)?;
        let index = &mut self.index;
        self.inserting.time(|| {
            for (number, filter) in numbers.zip(&filters) {
                let _: Registered = index.insert(id(number), PATTERN, Some(filter));
            }
        });
        Ok(())
    }

    /// From the bytes of an event to the verdict; exactly the subscriber of that order wants it.
    fn publish(&self, turn: usize) -> Result<Duration, Error> {
        let number = turn.wrapping_mul(SPREAD) % self.keyed;
        let body = subscriber::event(&subscriber::order(number));
        let mut found = Vec::new();
        let began = Instant::now();
        let publication = subscriber::read(&body)?;
        let parsed = Parsed::default();
        let seen = Seen::of(&publication, &parsed);
        let mut verdict = Verdict::of("evt_1");
        self.index.matching(&publication.event_type, &seen, |id, finding| {
            if finding == Finding::Match {
                verdict.matched_count += 1;
                found.push(id);
            }
        });
        let took = began.elapsed();
        if found != [id(number)] || verdict.matched_count != 1 {
            return Err(Error::Unexpected(format!("{found:?} want the event for {number}")));
        }
        Ok(took)
    }
}

/// Fills an index and publishes events that one subscription each wants.
pub(crate) fn measure(count: usize, mix: Mix) -> Result<Vec<Reading>, Error> {
    let rounds = REGISTRATIONS.div_ceil(count);
    let few = Filled::new(FEW.min(count), mix, 1)?;
    let many = Filled::new(count, mix, rounds)?;
    let events = if mix == Mix::Keyed { EVENTS } else { EVENTS_SCANNED };
    let (mut among_few, mut among_many) = (Vec::new(), Vec::new());
    for turn in 0..events {
        among_few.push(few.publish(turn)?);
        among_many.push(many.publish(turn)?);
    }
    let (few, among_many) = (micros(&among_few), micros(&among_many));
    let registered = Reading::count("registered", count * rounds).value;
    let each = |took: Duration| took.as_secs_f64() * 1e6 / registered;
    let bytes = Reading::count("bytes", many.index.bytes()).value;
    let all = Reading::count("all", count).value;
    let mut readings = vec![
        Reading::new("publishP50", among_many.percentile(50), Unit::Micros),
        Reading::new("publishP99", among_many.percentile(99), Unit::Micros),
        Reading::new("growth", among_many.median() / few.median(), Unit::Number),
        Reading::new(
            "registration",
            each(many.reading.total() + many.inserting.total()),
            Unit::Micros,
        ),
        Reading::new("insertion", each(many.inserting.total()), Unit::Micros),
        Reading::new("bytesEach", bytes / all, Unit::Bytes),
    ];
    readings.extend(Reading::peak_memory());
    Ok(readings)
}

fn id(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn micros(took: &[Duration]) -> Samples {
    Samples::new(took.iter().map(|took| took.as_secs_f64() * 1e6))
}
