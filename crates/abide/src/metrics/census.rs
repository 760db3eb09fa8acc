//! How much there is of what a store keeps.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::error::Result;
use crate::status::Status;
use crate::store::Store;

/// What a store keeps at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    instances: [u64; Status::ALL.len()],
    /// Open waits.
    pub open_waits: u64,
    /// What instances accepted and have not consumed.
    pub buffered: u64,
}

impl Census {
    /// Of a store without instances.
    #[must_use]
    pub fn of(open_waits: u64, buffered: u64) -> Self {
        Self { open_waits, buffered, ..Self::default() }
    }

    /// Adds instances with a status.
    pub fn add(&mut self, status: Status, instances: u64) {
        self.instances[status as usize] += instances;
    }

    /// How many instances have a status.
    #[must_use]
    pub fn instances(&self, status: Status) -> u64 {
        self.instances[status as usize]
    }
}

/// For how long an answer is good, at least.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// How much longer than it took to find out. So looking often takes one reader of the store only a
/// small part of its time, however much the store keeps.
const TIMES_AS_LONG: u32 = 20;

/// The last census. Those who ask while it is taken wait for the same.
#[derive(Default)]
pub(crate) struct Counted(Mutex<Option<(Census, Instant)>>);

impl Counted {
    pub(crate) async fn read(&self, store: &dyn Store) -> Result<Census> {
        let mut last = self.0.lock().await;
        if let Some((census, good_until)) = last.as_ref()
            && Instant::now() < *good_until
        {
            return Ok(census.clone());
        }
        let asked = Instant::now();
        let census = store.census().await?;
        let took = asked.elapsed();
        let good_until = Instant::now() + GOOD_FOR.max(took * TIMES_AS_LONG);
        *last = Some((census.clone(), good_until));
        Ok(census)
    }
}
