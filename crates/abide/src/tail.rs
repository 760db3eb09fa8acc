//! The end of the history of all instances, in the order of commits.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::history::Recorded;
use crate::id::{InstanceId, InstanceKey};
use crate::status::Status;

/// A part of the history of all instances.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    /// Rows in the order of commits.
    pub rows: Vec<TailRow>,
    /// The number of the last row there was, given here or not.
    pub head: i64,
}

/// What one commit of one instance added to its history.
#[derive(Clone, Debug, PartialEq)]
pub struct TailRow {
    /// Its number among the rows of all instances.
    pub row: i64,
    /// The instance.
    pub key: InstanceKey,
    /// Its id.
    pub id: InstanceId,
    /// Its workflow.
    pub workflow: Arc<str>,
    /// Its status now, which may be a later one.
    pub status: Status,
    /// What happened. Never empty: marks are left out, and rows that have nothing else.
    pub recorded: Vec<Recorded>,
}

/// A place in the feed of all instances: a row and an entry in it. Prints as `row.index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    /// The row.
    pub row: i64,
    /// Which of its entries, from 0.
    pub index: u32,
}

impl Cursor {
    /// Behind everything in a row.
    pub(crate) fn behind(row: i64) -> Self {
        Self { row, index: u32::MAX }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.row, self.index)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let read = || {
            let (row, index) = text.split_once('.').filter(|_| !text.is_empty())?;
            let read = is_number(row) && is_number(index);
            read.then(|| Some(Self { row: row.parse().ok()?, index: index.parse().ok()? }))?
        };
        read().ok_or_else(|| Error::Invalid {
            what: "cursor".into(),
            message: format!("{text:?} must be row.index, such as 17.0"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_it_prints_and_nothing_else_is_one() {
        let cursor: Cursor = "17.3".parse().unwrap();
        assert_eq!((cursor, cursor.to_string().as_str()), (Cursor { row: 17, index: 3 }, "17.3"));
        assert_eq!(Cursor::behind(4).to_string().parse::<Cursor>().unwrap(), Cursor::behind(4));
        for text in
            ["", "17", "17.", ".3", "-1.0", "1.+2", "1.2.3", "x.y", "99999999999999999999.0"]
        {
            assert!(text.parse::<Cursor>().is_err(), "{text:?}");
        }
    }
}
