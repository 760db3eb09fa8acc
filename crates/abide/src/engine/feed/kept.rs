//! The last rows of the history of all instances, for those who watch them all.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::config::Config;
use crate::json::Json;
use crate::tail::{Cursor, TailRow};

/// Rows that a reader is given at once.
const AT_ONCE: usize = 64;

/// See the module.
pub(super) struct Kept {
    max_rows: usize,
    max_bytes: usize,
    rows: VecDeque<Arc<TailRow>>,
    bytes: usize,
    /// The last row that is not kept, once it is known where the history ends: everything after it that was
    /// read is here.
    base: Option<i64>,
}

impl Kept {
    pub(super) fn new(config: &Config) -> Self {
        let (max_rows, max_bytes) = (config.feed_keep, config.feed_max_bytes);
        Self { max_rows, max_bytes, rows: VecDeque::new(), bytes: 0, base: None }
    }

    pub(super) fn begin(&mut self, head: i64) {
        self.forget();
        self.base = Some(head);
    }

    pub(super) fn forget(&mut self) {
        self.rows = VecDeque::new();
        (self.bytes, self.base) = (0, None);
    }

    pub(super) fn base(&self) -> Option<i64> {
        self.base
    }

    /// Takes in what came up to `head`, if anybody wants it.
    pub(super) fn take_in(&mut self, rows: Vec<TailRow>, head: i64, is_wanted: bool) {
        if !is_wanted {
            return self.begin(head);
        }
        for row in rows {
            self.bytes += size(&row);
            self.rows.push_back(Arc::new(row));
            while (self.rows.len() > self.max_rows || self.bytes > self.max_bytes)
                && let Some(oldest) = self.rows.pop_front()
            {
                self.bytes -= size(&oldest);
                self.base = Some(oldest.row);
            }
        }
    }

    /// Some of the rows that have something after a place.
    pub(super) fn after(&self, cursor: Cursor) -> Vec<Arc<TailRow>> {
        let from = self.rows.partition_point(|row| row.row < cursor.row);
        let has_more = |row: &&Arc<TailRow>| {
            row.row > cursor.row || row.recorded.len() > cursor.index as usize + 1
        };
        self.rows.range(from..).filter(has_more).take(AT_ONCE).cloned().collect()
    }
}

fn size(row: &TailRow) -> usize {
    let payload = |json: &Option<Json>| json.as_ref().map_or(0, Json::size);
    row.recorded.iter().map(|recorded| payload(&recorded.entry.payload)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Entry, EntryKind, Recorded};
    use crate::id::{InstanceId, InstanceKey};
    use crate::status::Status;
    use crate::time::Timestamp;

    fn row(row: i64, payload: &str) -> TailRow {
        let payload = Json::encode(payload).ok();
        let entry = Entry { payload, ..Entry::new(EntryKind::Update) };
        TailRow {
            row,
            key: InstanceKey(1),
            id: InstanceId::new("i").unwrap(),
            workflow: "w".into(),
            status: Status::Running,
            recorded: vec![Recorded { seq: row, run: 1, at: Timestamp(0), entry }],
        }
    }

    fn kept(max_rows: usize, max_bytes: usize) -> Kept {
        let mut config = Config::default();
        (config.feed_keep, config.feed_max_bytes) = (max_rows, max_bytes);
        let mut kept = Kept::new(&config);
        kept.begin(10);
        kept
    }

    fn after(kept: &Kept, row: i64) -> Vec<i64> {
        kept.after(Cursor::behind(row)).iter().map(|row| row.row).collect()
    }

    #[test]
    fn the_oldest_rows_go_and_the_base_says_so() {
        let mut kept = kept(2, usize::MAX);
        kept.take_in(vec![row(11, ""), row(12, "")], 13, true);
        assert_eq!(kept.base(), Some(10));
        kept.take_in(vec![row(14, "")], 14, true);
        assert_eq!(kept.base(), Some(11));
        assert_eq!((after(&kept, 10), after(&kept, 12)), (vec![12, 14], vec![14]));
    }

    #[test]
    fn rows_go_when_they_take_too_many_bytes() {
        let mut kept = kept(99, 25);
        kept.take_in(vec![row(11, "0123456789"), row(12, "0123456789")], 12, true);
        kept.take_in(vec![row(13, "0123456789")], 13, true);
        assert_eq!(kept.base(), Some(11));
    }

    #[test]
    fn a_large_row_takes_the_place_of_many_small_ones() {
        let mut kept = kept(99, 25);
        kept.take_in((11..=15).map(|number| row(number, "012")).collect(), 15, true);
        kept.take_in(vec![row(16, "0123456789012345678")], 16, true);
        assert_eq!((kept.base(), after(&kept, 0)), (Some(15), vec![16]));
        assert!(kept.bytes <= 25);
    }

    #[test]
    fn nothing_is_kept_for_nobody() {
        let mut kept = kept(99, usize::MAX);
        kept.take_in(vec![row(11, "")], 12, false);
        assert_eq!(kept.base(), Some(12));
        assert!(after(&kept, 0).is_empty());
    }
}
