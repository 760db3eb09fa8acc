//! How much there is.

use abide::Status;
use abide::metrics::Census;
use rusqlite::Connection;

use crate::failure::Trouble;

/// Counts everything at one moment. Instances are counted in one pass over their rows, of which only the
/// beginning is read; an index by status would be written with every park. Waits and events have indexes
/// that hold nothing but what is counted here.
const COUNT: &str = "
SELECT (SELECT count(*) FROM workflow_event_subscriptions
                             INDEXED BY workflow_event_subscriptions_open_idx
         WHERE status = 'active'),
       (SELECT count(*) FROM inbox INDEXED BY inbox_pending WHERE state = 'pending')
     + (SELECT count(*) FROM inbox INDEXED BY inbox_delayed WHERE state = 'delayed')
     + (SELECT count(*) FROM inbox INDEXED BY inbox_held WHERE state = 'held'),
       count(*) FILTER (WHERE phase = 'completed'),
       count(*) FILTER (WHERE phase = 'errored'),
       count(*) FILTER (WHERE phase = 'terminated'),
       count(*) FILTER (WHERE paused AND completed_at IS NULL),
       count(*) FILTER (WHERE phase = 'queued' AND NOT paused),
       count(*) FILTER (WHERE phase = 'running' AND NOT paused),
       count(*) FILTER (WHERE phase = 'waiting' AND NOT paused),
       count(*) FILTER (WHERE phase = 'sleeping' AND NOT paused)
  FROM instances";

/// The statuses in the order in which they are counted.
const STATUSES: [Status; 8] = [
    Status::Completed,
    Status::Errored,
    Status::Terminated,
    Status::Paused,
    Status::Queued,
    Status::Running,
    Status::Waiting,
    Status::Sleeping,
];

pub(crate) fn census(connection: &Connection) -> Result<Census, Trouble> {
    let mut count = connection.prepare_cached(COUNT)?;
    Ok(count.query_row([], |row| {
        let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
        let mut census = Census::of(number(0)?, number(1)?);
        for (column, status) in STATUSES.into_iter().enumerate() {
            census.add(status, number(2 + column)?);
        }
        Ok(census)
    })?)
}
