//! How a run ends: for good, or by opening the next one.

use std::sync::Arc;

use abide::history::Entry;
use abide::lifecycle;
use abide::store::{Ended, Hint};
use abide::{End, Error, Failure, InstanceKey, Json, Status};
use rusqlite::params;

use super::batch::{Batch, Head};
use super::commit::Speaker;
use super::meet::Tale;
use crate::failure::Trouble;
use crate::row;

impl Batch<'_> {
    /// Ends a run. Its claim is gone, and a parent that still waits is told.
    pub(super) fn end(&mut self, speaker: &Speaker, end: &End) -> Result<(), Trouble> {
        let (status, output, error) = match end {
            End::Completed(output) => (Status::Completed, Some(output), None),
            End::Errored(failure) => (Status::Errored, None, Some(failure)),
            End::Terminated(failure) => (Status::Terminated, None, Some(failure)),
            End::Continued(input) => return self.continue_with(speaker, input),
        };
        let told = if speaker.has_parent { self.told(speaker, end)? } else { None };
        // The parent is told once: a restarted child ends for itself.
        let encoded = error.map(encoded).transpose()?;
        self.hot.end.execute(params![
            speaker.key.0,
            status.as_str(),
            output.map(Json::as_str),
            encoded,
            self.now.0
        ])?;
        self.claims.remove(speaker.key);
        if let Some((parent, entry)) = told {
            self.arrive(parent, entry)?;
        }
        self.hints.push(Hint::Ended(Ended {
            key: speaker.key,
            id: speaker.id.clone(),
            status,
            output: output.cloned(),
            error: error.cloned(),
        }));
        Ok(())
    }

    /// What a run that ends leaves behind: its open waits are cancelled, but those that it cancels
    /// itself, and what is buffered is discarded, unless another run follows.
    pub(super) fn leave(
        &mut self,
        key: InstanceKey,
        end: &End,
        but: &[Arc<str>],
    ) -> Result<(), Trouble> {
        let mut tale = Tale::new();
        self.cancel_open(key, but, &mut tale)?;
        if !matches!(end, End::Continued(_)) {
            self.discard(key, &mut tale)?;
        }
        self.happen(key, tale)
    }

    /// What the end of a child is to its parent, if that still waits in the same run.
    fn told(&self, speaker: &Speaker, end: &End) -> Result<Option<(InstanceKey, Entry)>, Trouble> {
        let Some(child) = row::instance_by_key(self.connection, speaker.key)? else {
            return Ok(None);
        };
        let (Some(parent), Some(entry)) = (&child.parent, lifecycle::told_to_parent(&child, end))
        else {
            return Ok(None);
        };
        let head = self.head(parent.key)?.filter(|head| head.run == parent.run);
        Ok(head.map(|_| (parent.key, entry)))
    }

    fn continue_with(&mut self, speaker: &Speaker, input: &Json) -> Result<(), Trouble> {
        let Some(head) = self.head(speaker.key)? else { return Ok(()) };
        let next = Head { run: head.run.saturating_add(1), next_seq: head.next_seq };
        self.open_run(speaker.key, next, &[lifecycle::started(input)], Some(input))
    }

    /// Opens a run with these entries. Whoever ran the one before has to claim anew. A run that
    /// hands over, with an input, stays paused if it was; a restart resumes.
    pub(super) fn open_run(
        &mut self,
        key: InstanceKey,
        head: Head,
        entries: &[Entry],
        input: Option<&Json>,
    ) -> Result<(), Trouble> {
        self.claims.remove(key);
        // The deadline begins anew; it stops at the end of time rather than overflowing.
        let mut update = self.connection.prepare_cached(
            "UPDATE instances
                SET run = ?2, run_seq = ?3, input = coalesce(?4, input), phase = 'running',
                    paused = CASE WHEN ?4 IS NULL THEN 0 ELSE paused END,
                    queued_reason = NULL, context = NULL, output = NULL, error = NULL,
                    completed_at = NULL, wake_at = NULL, updated_at = ?5,
                    timeout_at = ?5 + min(timeout_ms, 9223372036854775807 - ?5)
              WHERE key = ?1",
        )?;
        let input = input.map(Json::as_str);
        update.execute(params![key.0, head.run, head.next_seq, input, self.now.0])?;
        self.record(key, head, entries)?;
        self.hints.push(Hint::Restarted(key));
        Ok(())
    }
}

fn encoded(failure: &Failure) -> Result<String, Trouble> {
    let refused = |error: serde_json::Error| Error::Invalid {
        what: "error".into(),
        message: error.to_string(),
    };
    Ok(serde_json::to_string(failure).map_err(refused)?)
}
