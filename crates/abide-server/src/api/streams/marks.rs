//! Up to where a reader of several steps has read each of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use abide::{Frame, FrameKind, StreamPosition};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::sse::unknown_id;
use crate::api::error::ApiError;

/// What would be taken for punctuation in an id. Ids travel in headers, so they are ASCII.
const IN_IDS: &AsciiSet = &CONTROLS.add(b'%').add(b':').add(b',').add(b' ');

/// See the module. Prints as `step:position,step:position.end`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(BTreeMap<Arc<str>, Mark>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    position: Option<StreamPosition>,
    ended: bool,
}

/// What a frame is to somebody who has read up to a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It was seen before.
    Old,
    /// It is new.
    New,
    /// It is new, and what was seen before is void.
    NewAttempt,
}

impl Marks {
    pub(super) fn parse(text: &str) -> Result<Self, ApiError> {
        let mut marks = BTreeMap::new();
        for part in text.split(',') {
            let (step, position) = part.split_once(':').ok_or_else(|| unknown_id("no step"))?;
            let step = percent_decode_str(step).decode_utf8().map_err(unknown_id)?;
            let (position, ended) = match position.strip_suffix(".end") {
                Some(position) => (position, true),
                None => (position, false),
            };
            let position = match position {
                "" if ended => None,
                position => Some(position.parse::<StreamPosition>().map_err(unknown_id)?),
            };
            marks.insert(step.into(), Mark { position, ended });
        }
        Ok(Self(marks))
    }

    /// Takes in a frame that comes in the order of the whole stream.
    pub(super) fn see(&mut self, frame: &Frame) -> Meaning {
        let mark = self.0.entry(Arc::clone(&frame.step)).or_default();
        match frame.kind {
            FrameKind::Done | FrameKind::Failed(_) => {
                if std::mem::replace(&mut mark.ended, true) {
                    return Meaning::Old;
                }
                // An attempt that gave nothing has no chunk to tell of it.
                match mark.position {
                    Some(seen) if (seen.run, seen.attempt) != (frame.run, frame.attempt) => {
                        Meaning::NewAttempt
                    }
                    _ => Meaning::New,
                }
            }
            // A chunk tells of its attempt.
            FrameKind::Rollback => Meaning::Old,
            FrameKind::Chunk(_) => {
                let Some(position) = frame.position else { return Meaning::New };
                let meaning = match mark.position {
                    Some(seen) if position <= seen => return Meaning::Old,
                    Some(seen) if (seen.run, seen.attempt) != (position.run, position.attempt) => {
                        Meaning::NewAttempt
                    }
                    _ => Meaning::New,
                };
                *mark = Mark { position: Some(position), ended: false };
                meaning
            }
        }
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (step, mark)) in self.0.iter().enumerate() {
            let comma = if nth > 0 { "," } else { "" };
            write!(f, "{comma}{}:", utf8_percent_encode(step, IN_IDS))?;
            if let Some(position) = mark.position {
                write!(f, "{position}")?;
            }
            if mark.ended {
                f.write_str(".end")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(step: &str, position: &str, kind: FrameKind) -> Frame {
        let position: StreamPosition = position.parse().unwrap();
        let (run, attempt) = (position.run, position.attempt);
        Frame { step: step.into(), run, attempt, kind, position: Some(position) }
    }

    fn chunk(step: &str, position: &str) -> Frame {
        frame(step, position, FrameKind::Chunk("x".into()))
    }

    #[test]
    fn whoever_comes_back_is_given_the_rest_of_each_step() {
        let mut marks = Marks::default();
        for (seen, expect) in [
            (chunk("a", "1.0"), Meaning::New),
            (chunk("b: %", "1.0"), Meaning::New),
            (chunk("a", "1.1"), Meaning::New),
            (frame("b: %", "1.0", FrameKind::Done), Meaning::New),
        ] {
            assert_eq!(marks.see(&seen), expect);
        }
        let printed = marks.to_string();
        assert_eq!(printed, "a:1.1,b%3A%20%25:1.0.end");
        let mut back = Marks::parse(&printed).unwrap();
        assert_eq!(back, marks);
        for (seen, expect) in [
            (chunk("a", "1.1"), Meaning::Old),
            (chunk("b: %", "1.0"), Meaning::Old),
            (frame("b: %", "1.0", FrameKind::Done), Meaning::Old),
            (chunk("a", "2.0"), Meaning::NewAttempt),
            (chunk("a", "2.1"), Meaning::New),
            (chunk("c", "1.0"), Meaning::New),
        ] {
            assert_eq!(back.see(&seen), expect, "{seen:?}");
        }
    }

    #[test]
    fn an_end_without_a_chunk_of_its_attempt_voids_the_chunks_before() {
        let mut marks = Marks::default();
        marks.see(&chunk("a", "1.0"));
        let rollback = Frame { attempt: 2, ..frame("a", "1.0", FrameKind::Rollback) };
        assert_eq!(marks.see(&rollback), Meaning::Old);
        let done = Frame { attempt: 2, ..frame("a", "1.0", FrameKind::Done) };
        assert_eq!(marks.see(&done), Meaning::NewAttempt);
        assert_eq!(marks.see(&done), Meaning::Old);
    }

    #[test]
    fn what_is_no_mark_is_refused() {
        for text in ["", "a", "a:", "a:x", "%ff:1.0", "a:1.0,,"] {
            assert!(Marks::parse(text).is_err(), "{text:?}");
        }
    }
}
