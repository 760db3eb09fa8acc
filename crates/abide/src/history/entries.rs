//! The text of a row.

use super::{Entry, EntryKind, Recorded};
use crate::error::{Error, Result};
use crate::metrics::Kinds;
use crate::time::Timestamp;

/// Entries on their way into one row: encoded once, numbered by the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    json: String,
    numbered: u32,
    kinds: Kinds,
}

impl Entries {
    /// Encodes entries in order.
    #[must_use]
    pub fn of(entries: &[Entry]) -> Self {
        let mut encoded = Self::default();
        for entry in entries {
            encoded.push(entry);
        }
        encoded
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: &Entry) {
        self.json.push(if self.json.is_empty() { '[' } else { ',' });
        // An entry is strings, numbers and JSON that was checked when it was made: the only error
        // serde_json knows here is one of the writer, and a String has none.
        let text = serde_json::to_string(entry).unwrap_or_default();
        self.json.push_str(&text);
        self.numbered += u32::from(entry.entry != EntryKind::Seen);
        self.kinds.add(entry);
    }

    /// How many entries get a number.
    #[must_use]
    pub fn numbered(&self) -> u32 {
        self.numbered
    }

    /// Whether there is nothing a commit would be worth.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbered == 0
    }

    pub(crate) fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// How many bytes they take.
    #[must_use]
    pub fn size(&self) -> usize {
        self.json.len() + 1
    }

    /// The same, this entry first.
    #[must_use]
    pub fn after(&self, first: &Entry) -> Self {
        let (numbered, kinds) = (self.numbered, self.kinds.clone());
        let mut all = Self { json: String::new(), numbered, kinds };
        all.push(first);
        if !self.json.is_empty() {
            all.json.push(',');
            all.json.push_str(&self.json[1..]);
        }
        all
    }

    /// The JSON array of the row.
    #[must_use]
    pub fn text(&self) -> String {
        if self.json.is_empty() {
            return "[]".to_owned();
        }
        let mut text = String::with_capacity(self.size());
        text.push_str(&self.json);
        text.push(']');
        text
    }
}

/// Reads a row back: its entries with their numbers, marks included.
///
/// # Errors
/// [`Error::Corrupt`] when the text is not a row.
pub fn decode_row(text: &str, first_seq: i64, run: u32, at: Timestamp) -> Result<Vec<Recorded>> {
    let entries: Vec<Entry> = serde_json::from_str(text)
        .map_err(|refused| Error::corrupt(format!("history row at seq {first_seq}: {refused}")))?;
    let mut next = first_seq;
    Ok(entries
        .into_iter()
        .map(|entry| {
            let seq = if entry.entry == EntryKind::Seen { next - 1 } else { next };
            next = seq + 1;
            Recorded { seq, run, at, entry }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::history::StepKind;
    use crate::json::Json;

    #[test]
    fn a_row_reads_back_with_numbers_that_skip_marks() {
        let name: Arc<str> = "a".into();
        let mut done = Entry::of_step(EntryKind::StepCompleted, &name, StepKind::Child);
        done.payload = Some(Json::encode(&[1, 2]).unwrap());
        let mut entries = Entries::default();
        entries.push(&done);
        entries.push(&Entry::of_step(EntryKind::Seen, &name, StepKind::Child));
        entries.push(&Entry::of_step(EntryKind::StepStarted, &name, StepKind::Step));
        assert_eq!(entries.numbered(), 2);

        let row = decode_row(&entries.text(), 7, 1, Timestamp(5)).unwrap();
        assert_eq!(row.iter().map(|r| r.seq).collect::<Vec<_>>(), [7, 7, 8]);
        assert_eq!(row[0].entry, done);
        assert_eq!(row[2].entry.step_kind(), StepKind::Step);
    }

    #[test]
    fn a_mark_alone_is_not_worth_a_commit() {
        let mark = Entry::of_step(EntryKind::Seen, &"a".into(), StepKind::Child);
        assert!(Entries::of(&[mark]).is_empty());
    }

    #[test]
    fn a_damaged_row_is_corrupt() {
        let refused = decode_row("[{\"type\":\"step.vanished\"}]", 3, 1, Timestamp(0));
        assert!(matches!(refused, Err(Error::Corrupt { what }) if what.contains("seq 3")));
    }
}
