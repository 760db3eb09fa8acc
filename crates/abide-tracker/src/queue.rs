//! What was read and not yet sent, in order. Pure: it is told what time it is.

use std::collections::VecDeque;

use abide::Timestamp;

use crate::config::TrackerConfig;
use crate::event::TrackedEvent;
use crate::reader::Told;

/// The most events that wait. Who can't keep up loses the oldest, unless it is durable.
pub(crate) const MAX_EVENTS: usize = 1000;

/// The most bytes that wait, because inputs may be large.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The most bytes of one batch of more than one event.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// See the module.
#[derive(Default)]
pub(crate) struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    /// How many were taken from the front so far.
    taken: u64,
    /// How many of the first are on their way.
    in_flight: usize,
    /// What is of this row or an earlier one does not wait for company.
    flushed: i64,
}

struct Item {
    event: TrackedEvent,
    row: i64,
    came_at: Timestamp,
    size: usize,
}

impl Queue {
    pub(crate) fn push(&mut self, told: Told, now: Timestamp) {
        let Told { event, row } = told;
        if event.ends_slice() {
            self.flush(row);
        }
        let size = event.size();
        self.bytes += size;
        self.items.push_back(Item { event, row, came_at: now, size });
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether more may be read. What is on its way does not count.
    pub(crate) fn has_room(&self) -> bool {
        self.items.len() - self.in_flight < MAX_EVENTS && self.bytes < MAX_BYTES
    }

    /// Drops the oldest until the rest fits; how many.
    pub(crate) fn slide(&mut self) -> usize {
        let mut dropped = 0;
        while self.items.len() > MAX_EVENTS || (self.bytes > MAX_BYTES && self.items.len() > 1) {
            self.take_first();
            dropped += 1;
        }
        dropped
    }

    /// Everything up to a row goes out without waiting for more.
    pub(crate) fn flush(&mut self, row: i64) {
        self.flushed = self.flushed.max(row);
    }

    /// When the next batch goes out at the latest: at once is in the past.
    pub(crate) fn due_at(&self, config: &TrackerConfig) -> Option<Timestamp> {
        let first = self.items.front()?;
        if first.row <= self.flushed || self.items.len() >= config.max_size {
            return Some(Timestamp(i64::MIN));
        }
        Some(first.came_at.after(config.max_wait))
    }

    /// The next batch, which is on its way from now on.
    pub(crate) fn batch(&mut self, max_size: usize) -> Vec<TrackedEvent> {
        let mut bytes = 0;
        let fits = |item: &&Item| {
            let is_first = bytes == 0;
            bytes += item.size;
            is_first || bytes <= MAX_BATCH_BYTES
        };
        let batch = self.items.iter().take(max_size).take_while(fits);
        let batch: Vec<TrackedEvent> = batch.map(|item| item.event.clone()).collect();
        self.in_flight = batch.len();
        batch
    }

    /// What was on its way has arrived, or is given up; how many.
    pub(crate) fn done(&mut self) -> usize {
        let done = std::mem::take(&mut self.in_flight);
        (0..done).for_each(|_| self.take_first());
        done
    }

    /// What was on its way is back in line.
    pub(crate) fn failed(&mut self) {
        self.in_flight = 0;
    }

    /// How many were taken from the front so far: the same number is the same front.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// The row of the first event.
    pub(crate) fn first_row(&self) -> Option<i64> {
        self.items.front().map(|item| item.row)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self { taken: self.taken + 1, ..Self::default() };
    }

    fn take_first(&mut self) {
        if let Some(item) = self.items.pop_front() {
            self.bytes -= item.size;
            self.taken += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use abide::{InstanceId, Json};

    use super::*;
    use crate::event::What;

    fn told(row: i64, what: What) -> Told {
        let event = TrackedEvent {
            event_id: row.to_string(),
            timestamp: Timestamp(0),
            workflow_id: InstanceId::new("i").unwrap(),
            workflow_name: "w".into(),
            what,
        };
        Told { event, row }
    }

    fn step(row: i64) -> Told {
        told(row, What::StepStarted { step_name: "s".into(), attempt: 1 })
    }

    fn large(row: i64) -> Told {
        let input = Json::encode(&"x".repeat(1 << 20)).unwrap();
        told(row, What::WorkflowStarted { input })
    }

    fn config() -> TrackerConfig {
        TrackerConfig::new("http://localhost/", "t")
    }

    fn of_steps(count: i64) -> Queue {
        let mut queue = Queue::default();
        (1..=count).for_each(|row| queue.push(step(row), Timestamp(row)));
        queue
    }

    fn ids(batch: &[TrackedEvent]) -> Vec<&str> {
        batch.iter().map(|event| &*event.event_id).collect()
    }

    #[test]
    fn a_batch_is_due_when_it_is_full_or_its_first_event_has_waited() {
        let config = config();
        assert_eq!(Queue::default().due_at(&config), None, "never an empty one");
        assert_eq!(of_steps(49).due_at(&config), Some(Timestamp(1).after(config.max_wait)));
        assert!(of_steps(50).due_at(&config) < Some(Timestamp(0)));
    }

    #[test]
    fn a_flush_is_about_what_is_there_and_not_about_what_comes() {
        let config = config();
        let mut queue = Queue::default();
        queue.flush(3);
        queue.push(step(4), Timestamp(9));
        assert_eq!(queue.due_at(&config), Some(Timestamp(9).after(Duration::from_secs(1))));
        queue.flush(4);
        assert!(queue.due_at(&config) < Some(Timestamp(0)));
    }

    #[test]
    fn the_end_of_a_slice_is_a_flush() {
        let mut queue = of_steps(2);
        let what = What::WorkflowCompleted { completed_steps: vec![], duration_ms: 1 };
        queue.push(told(3, what), Timestamp(3));
        assert!(queue.due_at(&config()) < Some(Timestamp(0)));
    }

    #[test]
    fn the_oldest_go_and_the_newest_thousand_stay() {
        let mut queue = of_steps(1500);
        assert!(!queue.has_room());
        assert_eq!((queue.slide(), queue.slide(), queue.len()), (500, 0, 1000));
        assert_eq!((queue.first_row(), queue.taken()), (Some(501), 500));
    }

    #[test]
    fn what_is_on_its_way_takes_no_room_and_goes_back_in_line_when_it_failed() {
        let mut queue = of_steps(1000);
        assert!(!queue.has_room());
        assert_eq!(ids(&queue.batch(2)), ["1", "2"]);
        assert!(queue.has_room());
        queue.failed();
        assert_eq!(ids(&queue.batch(2)), ["1", "2"]);
        assert_eq!((queue.done(), queue.first_row()), (2, Some(3)));
    }

    #[test]
    fn large_events_make_smaller_batches_and_have_a_limit_of_their_own() {
        let mut queue = Queue::default();
        (1..=15).for_each(|row| queue.push(large(row), Timestamp(0)));
        assert!(queue.has_room());
        queue.push(large(16), Timestamp(0));
        assert!(!queue.has_room());
        assert_eq!(queue.slide(), 1);
        assert_eq!(queue.batch(50).len(), 3);
    }
}
