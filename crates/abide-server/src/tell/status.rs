//! The colours of statuses, the same everywhere.

use super::Cell;
use crate::paint::Paint;

/// The status of an instance, a step or a wait.
pub(crate) fn of_status(status: &str) -> Cell {
    let colour = match status {
        "completed" | "fulfilled" => Paint::green,
        "errored" | "failed" | "terminated" | "expired" => Paint::red,
        "paused" | "waiting" | "active" => Paint::yellow,
        "running" => Paint::cyan,
        _ => Paint::dim,
    };
    Cell::coloured(status, colour)
}
