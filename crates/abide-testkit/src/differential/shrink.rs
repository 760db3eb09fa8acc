//! Making a failing sequence short: leave out as much as can be while it still fails.

use std::time::{Duration, Instant};

use super::operation::Operation;
use super::{Fresh, difference};

/// How long shorter sequences are tried. It helps whoever reads the failure; it need not be
/// perfect, and a store that forgets hints makes every attempt slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// A sequence that still shows a difference, from which hardly anything can be left out.
pub(super) async fn shrink(fresh: &impl Fresh, mut failing: Vec<Operation>) -> Vec<Operation> {
    let begin = Instant::now();
    let mut chunk = failing.len() / 2;
    while chunk > 0 {
        let mut end = failing.len();
        while end > 0 && begin.elapsed() < PATIENCE {
            let start = end.saturating_sub(chunk);
            let mut shorter = failing.clone();
            shorter.drain(start..end);
            if let Some(found) = difference(fresh, &shorter).await {
                shorter.truncate(found.index + 1);
                failing = shorter;
            }
            end = start.min(failing.len());
        }
        chunk /= 2;
    }
    failing
}
