//! Watching all instances.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use crate::engine::Inner;
use crate::error::Result;
use crate::history::Recorded;
use crate::id::InstanceId;
use crate::status::Status;
use crate::tail::{Cursor, Tail, TailRow};

use super::Place;

/// Rows that are read at once from the store, for somebody who came back.
const PAGE: usize = 256;

/// What somebody who watches all instances is given.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "hardly any is not the large one")]
pub enum Fed {
    /// An entry of the history of an instance.
    Entry {
        /// What to come back with.
        cursor: Cursor,
        /// The instance.
        id: InstanceId,
        /// Its workflow.
        workflow: Arc<str>,
        /// Its status when the entry was read, which may be a later one.
        status: Status,
        /// The entry.
        recorded: Recorded,
    },
    /// Something is missing: everything after one place, up to and with another.
    Gap {
        /// The last that was given.
        from: Cursor,
        /// Where it goes on.
        to: Cursor,
    },
}

/// The history of all instances as it happens; see [`crate::Engine::watch_all`].
#[must_use = "nothing is read unless it is polled"]
pub struct WatchAll(BoxStream<'static, Result<Fed>>);

impl WatchAll {
    pub(crate) fn new(inner: &Arc<Inner>, after: Option<Cursor>) -> Self {
        let reader = Reader {
            place: inner.env.feed.enter(None),
            inner: Arc::clone(inner),
            after,
            came_at: None,
            at: None,
            is_catching_up: false,
            ready: VecDeque::new(),
            over: false,
        };
        let next = |mut reader: Reader| async move { Some((reader.next().await?, reader)) };
        Self(stream::unfold(reader, next).boxed())
    }

    /// What happened next. It ends only with an error.
    pub async fn next(&mut self) -> Option<Result<Fed>> {
        self.0.next().await
    }
}

impl Stream for WatchAll {
    type Item = Result<Fed>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(task)
    }
}

struct Reader {
    place: Place,
    inner: Arc<Inner>,
    /// What it came with.
    after: Option<Cursor>,
    /// Where the history ended when it came: what it is given begins there, however late the feed does.
    came_at: Option<i64>,
    /// Up to where it was given everything, once it is known where it began.
    at: Option<Cursor>,
    /// Whether it is given from the store what it missed: since it was here last, or since it came.
    is_catching_up: bool,
    ready: VecDeque<Fed>,
    over: bool,
}

/// What there is for a reader.
enum Next {
    /// Rows that are kept.
    Kept(Vec<Arc<TailRow>>),
    /// What the store has after a row.
    Store(Cursor),
    /// Nothing, for now.
    Nothing,
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Fed>> {
        while !self.over {
            if let Some(fed) = self.ready.pop_front() {
                return Some(Ok(fed));
            }
            if let Err(error) = self.look().await {
                self.over = true;
                return Some(Err(error));
            }
        }
        None
    }

    async fn look(&mut self) -> Result<()> {
        if self.place.feed.is_stopped() {
            return Err(self.inner.gone());
        }
        let Some(now) = self.came_at else {
            self.came_at = Some(self.inner.store.tail(i64::MAX, 0).await?.head);
            return Ok(());
        };
        match self.find(now) {
            Next::Kept(rows) => rows.iter().for_each(|row| self.give(row)),
            Next::Store(Cursor { row, .. }) => {
                let Tail { rows, head } = self.inner.store.tail(row - 1, PAGE).await?;
                rows.iter().for_each(|row| self.give(row));
                if rows.len() < PAGE {
                    self.at = self.at.max(Some(Cursor::behind(head.max(row))));
                }
            }
            Next::Nothing if self.ready.is_empty() => self.place.bell.rings().await,
            Next::Nothing => {}
        }
        Ok(())
    }

    fn find(&mut self, now: i64) -> Next {
        let readers = self.place.feed.readers.lock();
        let Some(base) = readers.kept.base() else { return Next::Nothing };
        let at = self.at.unwrap_or_else(|| {
            let look_back = self.inner.env.config.feed_look_back;
            let (at, catching_up) = begin(self.after, base, now, look_back);
            self.is_catching_up = catching_up;
            if let Some(from) = self.after.filter(|after| *after != at) {
                self.ready.push_back(Fed::Gap { from, to: at });
            }
            at
        });
        self.at = Some(at);
        // What is kept begins behind the base. Who came back may have only a part of that row.
        let has_base = !self.is_catching_up || at == Cursor::behind(base);
        if at.row > base || (at.row == base && has_base) {
            self.is_catching_up = false;
            let rows = readers.kept.after(at);
            return if rows.is_empty() { Next::Nothing } else { Next::Kept(rows) };
        }
        if self.is_catching_up {
            return Next::Store(at);
        }
        // It was too slow.
        let to = Cursor::behind(base);
        self.ready.push_back(Fed::Gap { from: at, to });
        self.at = Some(to);
        Next::Nothing
    }

    fn give(&mut self, row: &TailRow) {
        for (index, recorded) in (0..).zip(&row.recorded) {
            let cursor = Cursor { row: row.row, index };
            if self.at.is_some_and(|at| cursor <= at) {
                continue;
            }
            self.ready.push_back(Fed::Entry {
                cursor,
                id: row.id.clone(),
                workflow: Arc::clone(&row.workflow),
                status: row.status,
                recorded: recorded.clone(),
            });
            self.at = Some(cursor);
        }
    }
}

/// Where a reader begins, and whether it has to catch up from the store.
fn begin(after: Option<Cursor>, base: i64, now: i64, look_back: i64) -> (Cursor, bool) {
    match after {
        Some(after) if after.row > now => (Cursor::behind(now), true),
        Some(after) if after.row > base => (after, false),
        Some(after) if now - after.row <= look_back => (after, true),
        Some(_) => (Cursor::behind(base), false),
        None => (Cursor::behind(now), true),
    }
}
