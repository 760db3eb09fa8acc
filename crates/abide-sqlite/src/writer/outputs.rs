//! What instances publish, and those who wait for it.

use std::sync::Arc;

use abide::meeting::has_expired;
use abide::store::Hint;
use abide::{Json, Output};
use rusqlite::params;

use super::batch::Batch;
use super::commit::Speaker;
use super::meet::{Open, Tale};
use crate::failure::Trouble;
use crate::waits::{self, select_waits};

impl Batch<'_> {
    /// Sets an output. Open waits for it, of any instance, are met.
    pub(super) fn set_output(
        &mut self,
        speaker: &Speaker,
        key: &Arc<str>,
        value: &Json,
    ) -> Result<(), Trouble> {
        let row = params![speaker.key.0, &**key, value.as_str(), self.now.0];
        self.hot.set_output.execute(row)?;
        let output = Output { key: Arc::clone(key), value: value.clone(), updated_at: self.now };
        self.hints.push(Hint::OutputSet(speaker.id.clone(), output));
        if !self.caches.outputs_awaited {
            return Ok(());
        }
        let open = waits::all(
            self.connection,
            select_waits!(
                "WHERE output_of = ?1 AND event_pattern = ?2 AND status = 'active' ORDER BY key"
            ),
            params![speaker.id.as_str(), &**key],
        )?;
        let now = self.now;
        for wait in open.iter().filter(|wait| !has_expired(wait, now)) {
            self.settle_first(wait.instance)?;
            let mut open = match wait.race {
                Some(_) => Open::of(waits::open(self.connection, wait.instance)?),
                None => Open::of(vec![wait.clone()]),
            };
            // It may have lost to one that was met a moment ago.
            let Some(place) = open.place(wait.key) else { continue };
            let mut tale = Tale::new();
            self.meet_output(&mut open, place, value)?.tell(&mut tale);
            self.happen(wait.instance, tale)?;
        }
        Ok(())
    }
}
