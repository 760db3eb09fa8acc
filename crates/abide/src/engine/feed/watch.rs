//! Watching one instance.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use crate::engine::Inner;
use crate::error::{Error, Result};
use crate::history::Recorded;
use crate::id::InstanceId;
use crate::json::Json;

use super::Place;

/// Entries that are read at once: what bounds what a slow reader has in memory.
const PAGE: usize = 100;

/// What somebody who watches an instance is given.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "hardly any is not the large one")]
pub enum Watched {
    /// An entry of its history.
    Recorded(Recorded),
    /// Something the workflow said to whoever watches at that moment ([`crate::Cx::broadcast`]). It is not
    /// recorded.
    Broadcast {
        /// Its name.
        name: Arc<str>,
        /// What was said.
        data: Json,
    },
}

/// The history of an instance as it happens; see [`crate::Handle::watch`].
#[must_use = "nothing is read unless it is polled"]
pub struct Watch(BoxStream<'static, Result<Watched>>);

impl Watch {
    pub(crate) fn new(inner: &Arc<Inner>, id: &InstanceId, after: i64) -> Self {
        let reader = Reader {
            place: inner.env.feed.enter(Some(id.clone())),
            inner: Arc::clone(inner),
            id: id.clone(),
            after,
            page: VecDeque::new(),
            is_behind: false,
            may_have_ended: true,
            over: false,
        };
        let next = |mut reader: Reader| async move { Some((reader.next().await?, reader)) };
        Self(stream::unfold(reader, next).boxed())
    }

    /// What happened next; none once the instance has ended and everything was given.
    pub async fn next(&mut self) -> Option<Result<Watched>> {
        self.0.next().await
    }
}

impl Stream for Watch {
    type Item = Result<Watched>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(task)
    }
}

struct Reader {
    place: Place,
    inner: Arc<Inner>,
    id: InstanceId,
    /// The number of the last entry that was given.
    after: i64,
    /// What was read and not given.
    page: VecDeque<Recorded>,
    /// Whether there may be more in the store than was read.
    is_behind: bool,
    /// Whether to see if it has ended once everything was given.
    may_have_ended: bool,
    over: bool,
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Watched>> {
        while !self.over {
            if let Some(recorded) = self.page.pop_front() {
                self.after = recorded.seq;
                self.may_have_ended |= recorded.entry.entry.ends();
                return Some(Ok(Watched::Recorded(recorded)));
            }
            if let Some((name, data)) = self.place.bell.take_said() {
                return Some(Ok(Watched::Broadcast { name, data }));
            }
            if let Err(error) = self.look().await {
                self.over = true;
                return Some(Err(error));
            }
        }
        None
    }

    /// Does the next thing that may give something.
    async fn look(&mut self) -> Result<()> {
        if self.place.feed.is_stopped() {
            return Err(self.inner.gone());
        }
        let store = &self.inner.store;
        if self.place.bell.take_recorded() || self.is_behind {
            let page = store.history(&self.id, self.after, PAGE).await?;
            self.is_behind = page.len() == PAGE;
            self.page = page.into();
        } else if self.may_have_ended {
            self.may_have_ended = false;
            let gone = || Error::InstanceNotFound { id: self.id.clone() };
            let instance = store.instance(&self.id).await?.ok_or_else(gone)?;
            self.is_behind = instance.next_seq > self.after + 1;
            if !instance.phase.is_terminal() || self.is_behind {
                return Ok(());
            }
            // Its last words are said after its end is stored, and before it leaves.
            self.may_have_ended = self.inner.residents.is_here(instance.key);
            self.over = !self.may_have_ended;
            if self.may_have_ended {
                self.place.bell.rings().await;
            }
        } else {
            // Room for a page is more than the rest of an idle reader.
            self.page = VecDeque::new();
            self.place.bell.rings().await;
        }
        Ok(())
    }
}
