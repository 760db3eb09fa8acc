//! To which trace something belongs: the `traceparent` of W3C Trace Context.
//!
//! It is handed on without being asked for, as a span is: whoever starts, sends or publishes [`within`] a trace
//! gives it to what they start, send or publish, and a workflow and its steps run within the trace of what last
//! woke them. The history keeps it, so a crash does not end a trace.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The attribute of events and the header of requests that name it.
pub const NAME: &str = "traceparent";

thread_local! {
    static CURRENT: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// The trace of what runs now, if it belongs to one.
#[must_use]
pub fn current() -> Option<Arc<str>> {
    CURRENT.with_borrow(Clone::clone)
}

/// A `traceparent` as it came, if it is one. Versions to come may append more.
#[must_use]
pub fn parse(text: &str) -> Option<Arc<str>> {
    let text = text.trim();
    let mut parts = text.split('-');
    let mut next = |length: usize| {
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        parts.next().filter(|part| part.len() == length && part.chars().all(is_hex))
    };
    let (version, trace, parent, _flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
    let is_whole = version != "00" || parts.next().is_none();
    let is_set = |id: &str| id.bytes().any(|digit| digit != b'0');
    let is_one = version != "ff" && is_whole && is_set(trace) && is_set(parent);
    (is_one && text.len() <= MAX).then(|| text.into())
}

/// Longer than any version is likely to need.
const MAX: usize = 128;

/// Does something within a trace, or within none.
pub fn inside<T>(trace: Option<&Arc<str>>, act: impl FnOnce() -> T) -> T {
    let _left = Left(CURRENT.replace(trace.cloned()));
    act()
}

/// Puts back what was before, also after a panic.
struct Left(Option<Arc<str>>);

impl Drop for Left {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Runs a future within a trace, or within none.
pub fn within<F: Future>(trace: Option<Arc<str>>, future: F) -> impl Future<Output = F::Output> {
    Within { trace, future: Box::pin(future) }
}

struct Within<F> {
    trace: Option<Arc<str>>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<F::Output> {
        let Self { trace, future } = &mut *self;
        inside(trace.as_ref(), || future.as_mut().poll(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_no_traceparent_is_none() {
        assert_eq!(parse(ONE).as_deref(), Some(ONE));
        assert!(parse(&ONE.replacen("00", "01", 1)).is_some());
        assert!(parse(&format!("{}-more", ONE.replacen("00", "01", 1))).is_some());
        for wrong in [
            "",
            "00",
            &ONE[..54],
            &format!("{ONE}-more"),
            &ONE.to_uppercase(),
            &ONE.replacen("00", "ff", 1),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_was_before_is_back_after_it() {
        let (outer, inner): (Arc<str>, Arc<str>) = ("outer".into(), "inner".into());
        inside(Some(&outer), || {
            inside(Some(&inner), || assert_eq!(current().as_deref(), Some("inner")));
            inside(None, || assert_eq!(current(), None));
            assert_eq!(current().as_deref(), Some("outer"));
        });
        assert_eq!(current(), None);
    }
}
