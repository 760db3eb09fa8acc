//! The time of day, as workflows are told it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abide::Timestamp;

pub(crate) fn now() -> Timestamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(wall.as_millis()).unwrap_or(i64::MAX))
}

/// Long after any measurement.
pub(crate) fn never() -> Timestamp {
    now().after(Duration::from_secs(365 * 24 * 60 * 60))
}
