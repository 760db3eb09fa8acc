//! How late sleepers wake, when many fall due one after the other.
//!
//! They are started well before the first is due, so most have left memory by then and are read
//! back when their time comes, as after a night's sleep.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abide::{Cx, Engine, Start, Timestamp};
use abide_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::error::Error;

use super::fill::{fill, time_to_fill};
use super::reading::{Reading, Unit};
use super::samples::Samples;
use super::wall::{never, now};

/// Longer than parked futures stay in memory.
const CALM: Duration = Duration::from_secs(6);

/// How long after the last was due to wait for stragglers.
const PATIENCE: Duration = Duration::from_secs(60);

/// No lateness was seen yet.
const UNSEEN: i64 = i64::MIN;

/// One sleeper.
#[derive(Serialize, Deserialize)]
struct Alarm {
    index: Option<usize>,
    due: Timestamp,
}

/// What was seen, in microseconds after the due time.
struct Board {
    /// When the code behind the sleep went on.
    resumed: Vec<AtomicI64>,
    /// When the first step behind the sleep ran: the end of the sleep is stored by then.
    acted: Vec<AtomicI64>,
    left: AtomicUsize,
    done: Notify,
}

impl Board {
    fn new(count: usize) -> Self {
        let unseen = || std::iter::repeat_with(|| AtomicI64::new(UNSEEN)).take(count).collect();
        Self {
            resumed: unseen(),
            acted: unseen(),
            left: AtomicUsize::new(count),
            done: Notify::new(),
        }
    }

    /// Only the first sight counts: code between steps may be polled again.
    fn see(slots: &[AtomicI64], alarm: &Alarm) -> bool {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let late = i64::try_from(wall.as_micros()).unwrap_or(i64::MAX) - alarm.due.0 * 1000;
        alarm.index.and_then(|index| slots.get(index)).is_some_and(|slot| {
            slot.compare_exchange(UNSEEN, late, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        })
    }

    fn acted(&self, alarm: &Alarm) {
        if Self::see(&self.acted, alarm) && self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }
}

fn lateness_ms(slots: &[AtomicI64]) -> Samples {
    let micros = slots.iter().map(|slot| u64::try_from(slot.load(Ordering::Relaxed)).unwrap_or(0));
    Samples::of_ms(micros.map(Duration::from_micros))
}

async fn sleeper(cx: Cx, alarm: Alarm, board: Arc<Board>) -> abide::Result<()> {
    cx.sleep_until("until due", alarm.due).await?;
    Board::see(&board.resumed, &alarm);
    cx.step("act", || async {
        board.acted(&alarm);
        Ok::<_, abide::Error>(())
    })
    .await
}

/// Starts the sleepers, lets them leave memory, and looks how late each one wakes.
pub(crate) async fn measure(
    file: &Path,
    count: usize,
    over: Duration,
) -> Result<Vec<Reading>, Error> {
    let board = Arc::new(Board::new(count));
    let store = SqliteStore::open(file).await?;
    let seen = Arc::clone(&board);
    let engine = Engine::builder(store.clone())
        .workflow("sleeper", move |cx: Cx, alarm| sleeper(cx, alarm, Arc::clone(&seen)))
        .start()
        .await?;
    let trial = || Start::new(&Alarm { index: None, due: never() });
    let starting = time_to_fill(&engine, "sleeper", count, trial).await?;

    let first = now().after(starting + CALM);
    fill(&engine, "sleeper", count, |index| {
        Start::new(&Alarm { index: Some(index), due: due(first, over, index, count) })
    })
    .await?;
    if now() >= first {
        let message = "starting took longer than a trial promised; try again or with fewer";
        return Err(Error::Unexpected(message.to_owned()));
    }
    let deadline = starting + CALM + over + PATIENCE;
    if tokio::time::timeout(deadline, board.done.notified()).await.is_err() {
        let left = board.left.load(Ordering::Relaxed);
        return Err(Error::Unexpected(format!("{left} of {count} sleepers did not wake")));
    }
    engine.shutdown().await;
    store.close().await?;
    Ok(report(&board))
}

fn report(board: &Board) -> Vec<Reading> {
    let (resumed, acted) = (lateness_ms(&board.resumed), lateness_ms(&board.acted));
    let mut readings = vec![
        Reading::new("latenessP50", resumed.percentile(50), Unit::Ms),
        Reading::new("latenessP99", resumed.percentile(99), Unit::Ms),
        Reading::new("latenessMax", resumed.percentile(100), Unit::Ms),
        Reading::new("firstStepP50", acted.percentile(50), Unit::Ms),
        Reading::new("firstStepP99", acted.percentile(99), Unit::Ms),
    ];
    readings.extend(Reading::peak_memory());
    readings
}

fn due(first: Timestamp, over: Duration, index: usize, count: usize) -> Timestamp {
    let share = Reading::count("index", index).value / Reading::count("all", count).value;
    first.after(over.mul_f64(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_are_spread_evenly() {
        let at = |index| due(Timestamp(1000), Duration::from_secs(10), index, 4).0;
        assert_eq!([at(0), at(1), at(2), at(3)], [1000, 3500, 6000, 8500]);
    }

    #[test]
    fn only_the_first_sight_of_a_sleeper_counts() {
        let board = Board::new(1);
        let alarm = Alarm { index: Some(0), due: now() };
        assert!(Board::see(&board.resumed, &alarm));
        assert!(!Board::see(&board.resumed, &alarm));
        assert!(!Board::see(&board.resumed, &Alarm { index: None, due: now() }));
    }
}
