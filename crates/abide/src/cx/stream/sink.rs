//! What an attempt has streamed so far: the whole text, and how much of it was stored.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::chunk::{Append, NewChunk};
use crate::error::{BoxError, Error, NonRetryable};
use crate::failure::Failure;
use crate::run::Resident;
use crate::store::Committed;

/// How soon to ask again when the store did not say whether it stored a chunk.
const AGAIN: Duration = Duration::from_millis(10);

/// See the module.
pub(super) struct Sink {
    pub(super) resident: Arc<Resident>,
    step: Arc<str>,
    attempt: u32,
    text: String,
    /// The beginning of a character whose rest has not come.
    unfinished: Vec<u8>,
    /// How much of the text was given to the store.
    taken: usize,
    next_index: u32,
}

impl Sink {
    pub(super) fn new(resident: &Arc<Resident>, step: &Arc<str>, attempt: u32) -> Self {
        Self {
            resident: Arc::clone(resident),
            step: Arc::clone(step),
            attempt,
            text: String::new(),
            unfinished: Vec::new(),
            taken: 0,
            next_index: 0,
        }
    }

    /// Adds a piece. It may end inside a character, if the next one goes on there.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), BoxError> {
        let limit = self.resident.env.config.stream_max_bytes;
        let size = self.text.len() + self.unfinished.len() + piece.len();
        if size > limit {
            return Err(not_again(too_large(limit)));
        }
        let joined;
        let bytes = if self.unfinished.is_empty() {
            piece
        } else {
            joined = [&self.unfinished, piece].concat();
            &joined[..]
        };
        let (text, rest) = match str::from_utf8(bytes) {
            Ok(text) => (text, &[][..]),
            Err(cut) if cut.error_len().is_none() => {
                let (whole, rest) = bytes.split_at(cut.valid_up_to());
                (str::from_utf8(whole)?, rest)
            }
            Err(wrong) => return Err(self.not_text(wrong.valid_up_to())),
        };
        self.text.push_str(text);
        self.unfinished = rest.to_vec();
        Ok(())
    }

    /// How many bytes wait to be stored.
    pub(super) fn gathered(&self) -> usize {
        self.text.len() - self.taken
    }

    /// What is to be stored next, as much as one chunk may have.
    pub(super) fn take(&mut self) -> NewChunk {
        let limit = self.resident.env.config.stream_group_bytes;
        let mut end = self.text.len().min(self.taken.saturating_add(limit));
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        if end == self.taken {
            // No chunk is smaller than a character.
            end = self.text[end..].chars().next().map_or(end, |first| end + first.len_utf8());
        }
        let bytes = Bytes::copy_from_slice(&self.text.as_bytes()[self.taken..end]);
        let index = self.next_index;
        self.taken = end;
        self.next_index += 1;
        NewChunk { step: Arc::clone(&self.step), attempt: self.attempt, index, bytes }
    }

    /// The whole text, and the chunk that is stored with the result. A step that gave nothing has an empty
    /// one, in the place of what earlier attempts gave.
    pub(super) fn finish(mut self) -> Result<(String, Option<NewChunk>), BoxError> {
        if !self.unfinished.is_empty() {
            return Err(self.not_text(0));
        }
        let last = (self.gathered() > 0 || self.next_index == 0).then(|| self.take());
        Ok((self.text, last))
    }

    fn not_text(&self, valid: usize) -> BoxError {
        let at = self.text.len() + valid;
        let message = format!(
            "what it streams is not UTF-8 at byte {at}; encode it, or store it elsewhere and give its address"
        );
        not_again(Failure::new("STEP_FAILED", message))
    }
}

/// Stores a chunk, however often the store has to be asked: the same place again changes nothing.
pub(super) async fn store(resident: Arc<Resident>, chunk: NewChunk) -> Result<(), BoxError> {
    let (key, epoch) = resident.claim()?;
    let clock = &resident.env.clock;
    loop {
        let append = Append { key, run: resident.run, epoch, chunk: chunk.clone() };
        let wait = match resident.env.store.append(append).await {
            Ok(Committed::Stored) => return Ok(()),
            // Whatever it says now, its next commit is refused as well.
            Ok(Committed::Fenced) => return Err("somebody else runs the instance".into()),
            Err(Error::StoreUnavailable { retry_in, .. }) => retry_in,
            Err(Error::OutcomeUnknown { .. }) => AGAIN,
            Err(error) => return Err(error.into()),
        };
        clock.sleep_until(clock.now().after(wait)).await;
    }
}

/// A failure that another attempt would meet again.
fn not_again(failure: Failure) -> BoxError {
    NonRetryable::new(Error::Failed(failure)).into()
}

fn too_large(limit: usize) -> Failure {
    let message = format!("it streams more than {limit} bytes (stream.maxBytes)");
    Failure::new("RESULT_TOO_LARGE", message).with_details(&serde_json::json!({ "limit": limit }))
}
