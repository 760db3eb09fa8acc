//! What streaming steps give, piece by piece.

use abide::store::{Committed, Hint};
use abide::{Append, InstanceId, InstanceKey, NewChunk};
use rusqlite::params;

use super::batch::Batch;
use crate::failure::Trouble;

impl Batch<'_> {
    /// Stores a chunk ahead of the end of its step, unless the speaker may no longer speak.
    pub(super) fn append_chunk(&mut self, append: &Append) -> Result<Committed, Trouble> {
        let Append { key, run, epoch, chunk } = append;
        let Some(claim) = self.claims.held(*key, *epoch, *run) else {
            return Ok(Committed::Fenced);
        };
        let id = claim.id.clone();
        self.keep_chunk(*key, &id, *run, chunk)
    }

    /// Stores a chunk, unless a later attempt of its step has some, or it is there already.
    pub(super) fn keep_chunk(
        &mut self,
        key: InstanceKey,
        id: &InstanceId,
        run: u32,
        chunk: &NewChunk,
    ) -> Result<Committed, Trouble> {
        let NewChunk { step, attempt, index, bytes } = chunk;
        let mut newer = self.connection.prepare_cached(
            "SELECT 1 FROM chunks WHERE instance = ?1 AND step = ?2 AND (run, attempt) > (?3, ?4)",
        )?;
        if newer.exists(params![key.0, &**step, run, attempt])? {
            return Ok(Committed::Fenced);
        }
        if *index == 0 {
            let mut delete = self.connection.prepare_cached(
                "DELETE FROM chunks
                  WHERE instance = ?1 AND step = ?2 AND (run, attempt) < (?3, ?4)",
            )?;
            delete.execute(params![key.0, &**step, run, attempt])?;
        }
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO chunks (key, instance, run, step, attempt, nth, at, data)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (instance, step, run, attempt, nth) DO NOTHING",
        )?;
        let row = self.keys.next_chunk;
        let (step, data) = (&**step, &**bytes);
        let place = params![row, key.0, run, step, attempt, index, self.now.0, data];
        if insert.execute(place)? > 0 {
            self.keys.next_chunk += 1;
            self.bytes += bytes.len();
            self.hints.push(Hint::Streamed(id.clone()));
        }
        Ok(Committed::Stored)
    }
}
