//! A rest that costs a row.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::run::{OpId, Resident};
use crate::time::Timestamp;

use super::Cx;

/// A sleep; see [`Cx::sleep`]. Await it.
#[must_use = "a sleep does nothing unless awaited"]
pub struct Sleep {
    resident: Arc<Resident>,
    name: Result<Arc<str>>,
    until: Result<Until>,
    op: Option<OpId>,
}

#[derive(Clone, Copy)]
enum Until {
    After(Duration),
    At(Timestamp),
}

impl Sleep {
    pub(super) fn lasting(cx: &Cx, name: &str, duration: impl IntoDuration) -> Self {
        let until = duration.into_duration().map(Until::After).map_err(|refused| Error::Invalid {
            what: format!("sleep {name:?}").into(),
            message: refused.to_string(),
        });
        Self::new(cx, name, until)
    }

    pub(super) fn until(cx: &Cx, name: &str, at: Timestamp) -> Self {
        Self::new(cx, name, Ok(Until::At(at)))
    }

    fn new(cx: &Cx, name: &str, until: Result<Until>) -> Self {
        Self { resident: Arc::clone(&cx.resident), name: cx.use_name(name), until, op: None }
    }

    fn begin(&mut self) -> Result<OpId> {
        if let Some(op) = self.op {
            return Ok(op);
        }
        self.resident.check_current()?;
        let name = self.name.as_ref().map_err(Clone::clone)?;
        let until = *self.until.as_ref().map_err(Clone::clone)?;
        let op = self.resident.state.lock().begin_sleep(name, |now| match until {
            Until::After(duration) => now.after(duration),
            Until::At(at) => at.max(now),
        });
        self.op = Some(op);
        Ok(op)
    }
}

impl Future for Sleep {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<()>> {
        let op = match self.begin() {
            Ok(op) => op,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let outcome = self.resident.state.lock().poll(op, task.waker());
        match outcome {
            None => Poll::Pending,
            Some(_) => {
                self.op = None;
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(op) = self.op {
            self.resident.state.lock().dropped(op);
        }
    }
}
