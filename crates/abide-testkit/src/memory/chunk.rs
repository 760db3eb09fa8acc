//! What streaming steps gave so far.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use abide::store::{Committed, Hint};
use abide::{
    Append, Chunk, ChunkFilter, InstanceId, InstanceKey, NewChunk, Result, StreamPosition,
};

use super::state::State;

/// The chunks of an instance, by step and place.
pub(super) type Chunks = BTreeMap<(Arc<str>, StreamPosition), Chunk>;

impl State {
    /// Stores a chunk ahead of the end of its step, unless the speaker may no longer speak.
    pub(super) fn append(&mut self, append: &Append) -> Result<Committed> {
        let Append { key, run, epoch, chunk } = append;
        if !self.may_speak(*key, *epoch, *run) {
            return Ok(Committed::Fenced);
        }
        self.keep_chunk(*key, chunk)
    }

    /// Stores a chunk of the current run, unless a later attempt of its step has some.
    pub(super) fn keep_chunk(&mut self, key: InstanceKey, new: &NewChunk) -> Result<Committed> {
        let row = self.last_chunk + 1;
        let kept = self.kept(key)?;
        let position =
            StreamPosition { run: kept.instance.run, attempt: new.attempt, index: new.index };
        let life = |position: StreamPosition| (position.run, position.attempt);
        let of_step = |(step, _): &(Arc<str>, StreamPosition)| *step == new.step;
        if kept.chunks.keys().any(|place| of_step(place) && life(place.1) > life(position)) {
            return Ok(Committed::Fenced);
        }
        if new.index == 0 {
            kept.chunks.retain(|place, _| !of_step(place) || life(place.1) >= life(position));
        }
        let place = (new.step.clone(), position);
        if let Entry::Vacant(vacant) = kept.chunks.entry(place) {
            let chunk = Chunk { row, step: new.step.clone(), position, bytes: new.bytes.clone() };
            vacant.insert(chunk);
            let id = kept.instance.id.clone();
            self.last_chunk = row;
            self.hints.push(Hint::Streamed(id));
        }
        Ok(Committed::Stored)
    }

    pub(super) fn chunks(
        &self,
        id: &InstanceId,
        filter: &ChunkFilter,
        limit: usize,
    ) -> Result<Vec<Chunk>> {
        let chunks = self.known(id)?.chunks.values();
        let mut wanted: Vec<&Chunk> = match filter {
            ChunkFilter::Step { step, from } => {
                chunks.filter(|chunk| chunk.step == *step && chunk.position >= *from).collect()
            }
            ChunkFilter::All { after } => chunks.filter(|chunk| chunk.row > *after).collect(),
        };
        if let ChunkFilter::All { .. } = filter {
            wanted.sort_by_key(|chunk| chunk.row);
        }
        Ok(wanted.into_iter().take(limit).cloned().collect())
    }
}
