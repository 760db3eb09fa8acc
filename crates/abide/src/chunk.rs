//! What streaming steps give, piece by piece.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::id::InstanceKey;
use crate::store::Epoch;

/// A chunk on its way to the store, ahead of the end of its step.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// The instance.
    pub key: InstanceKey,
    /// The run that speaks.
    pub run: u32,
    /// The claim it speaks under.
    pub epoch: Epoch,
    /// The chunk.
    pub chunk: NewChunk,
}

/// A chunk to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewChunk {
    /// The step that gave it.
    pub step: Arc<str>,
    /// In which attempt, from 1.
    pub attempt: u32,
    /// Its place in that attempt, from 0.
    pub index: u32,
    /// What was given.
    pub bytes: Bytes,
}

/// A stored chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Its number among all chunks of its instance: in the order of writing, and never used twice.
    pub row: i64,
    /// The step that gave it.
    pub step: Arc<str>,
    /// Where in the stream of that step.
    pub position: StreamPosition,
    /// What was given.
    pub bytes: Bytes,
}

/// Which chunks of an instance to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkFilter {
    /// Those of one step from a place on, in the order of their places.
    Step {
        /// The step.
        step: Arc<str>,
        /// The first place that is wanted.
        from: StreamPosition,
    },
    /// Those of all steps after a row, in the order of rows.
    All {
        /// The last row that is not wanted.
        after: i64,
    },
}

/// A place in the stream of a step. Prints as `attempt.index` in the first run and as
/// `run.attempt.index` in later ones, and is read back from either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamPosition {
    /// The run, from 1.
    pub run: u32,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The chunk, from 0.
    pub index: u32,
}

impl StreamPosition {
    /// Before every chunk.
    pub const FIRST: Self = Self { run: 0, attempt: 0, index: 0 };

    /// The place of the chunk behind it.
    #[must_use]
    pub fn next(self) -> Self {
        Self { index: self.index.saturating_add(1), ..self }
    }

    /// Which attempt of which run.
    pub(crate) fn life(self) -> (u32, u32) {
        (self.run, self.attempt)
    }

    /// The first chunk of an attempt.
    pub(crate) fn beginning((run, attempt): (u32, u32)) -> Self {
        Self { run, attempt, index: 0 }
    }
}

impl fmt::Display for StreamPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, attempt, index } = self;
        match run {
            0 | 1 => write!(f, "{attempt}.{index}"),
            run => write!(f, "{run}.{attempt}.{index}"),
        }
    }
}

impl FromStr for StreamPosition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = || Error::Invalid {
            what: "stream position".into(),
            message: format!("{text:?} must be attempt.index or run.attempt.index, such as 1.0"),
        };
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        let (run, attempt, index) = match numbers.as_deref() {
            Some([attempt, index]) => (1, *attempt, *index),
            Some([run, attempt, index]) => (*run, *attempt, *index),
            _ => return Err(refused()),
        };
        if run == 0 || attempt == 0 {
            return Err(refused());
        }
        Ok(Self { run, attempt, index })
    }
}

/// A number of digits alone: what is printed is what is read.
fn number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// What a reader of a streaming step is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The step.
    pub step: Arc<str>,
    /// The run it is about.
    pub run: u32,
    /// The attempt it is about, from 1.
    pub attempt: u32,
    /// What it says.
    pub kind: FrameKind,
    /// What to come back with to get exactly the rest: the last chunk of this step that was given. None
    /// as long as there was none.
    pub position: Option<StreamPosition>,
}

/// See [`Frame`].
#[derive(Clone, Debug, PartialEq)]
pub enum FrameKind {
    /// The next piece.
    Chunk(Bytes),
    /// What was given so far is void: another attempt began.
    Rollback,
    /// The step completed, its result is stored, and everything was given.
    Done,
    /// The step failed for good.
    Failed(Failure),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_back_as_it_prints_and_is_ordered_by_run_attempt_and_index() {
        for (text, run, attempt, index) in
            [("1.0", 1, 1, 0), ("3.17", 1, 3, 17), ("2.1.4", 2, 1, 4)]
        {
            let position: StreamPosition = text.parse().unwrap();
            assert_eq!(position, StreamPosition { run, attempt, index });
            assert_eq!(position.to_string(), text);
        }
        let order: Vec<StreamPosition> =
            ["1.0", "1.10", "2.0", "2.1.0"].iter().map(|text| text.parse().unwrap()).collect();
        assert!(order.is_sorted());
    }

    #[test]
    fn what_is_no_position_is_refused_with_what_would_be_one() {
        for text in
            ["", "1", "1.", ".1", "0.1", "1.-1", "+1.0", "1.2.3.4", "a.b", "0.1.1", "1.4294967296"]
        {
            let refused = text.parse::<StreamPosition>().unwrap_err();
            assert!(refused.to_string().contains("attempt.index"), "{refused}");
        }
    }
}
