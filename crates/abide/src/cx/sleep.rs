//! A rest that costs a row.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::time::Timestamp;

use super::Cx;
use super::asked::Asked;

/// A sleep; see [`Cx::sleep`]. Await it.
#[must_use = "a sleep does nothing unless awaited"]
pub struct Sleep {
    asked: Asked,
    until: Result<Until>,
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
        Self { asked: Asked::new(cx, cx.use_name(name)), until }
    }

    pub(super) fn until(cx: &Cx, name: &str, at: Timestamp) -> Self {
        Self { asked: Asked::new(cx, cx.use_name(name)), until: Ok(Until::At(at)) }
    }
}

impl Future for Sleep {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<()>> {
        let Self { asked, until } = self.get_mut();
        let slept = asked.poll(task, |cx, name| {
            let until = until.clone()?;
            Ok(cx.resident.state.lock().begin_sleep(name, |now| match until {
                Until::After(duration) => now.after(duration),
                Until::At(at) => at.max(now),
            }))
        });
        slept.map(|slept| slept.map(|_| ()))
    }
}
