//! The trace of what runs now.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Trace;

thread_local! {
    static CURRENT: Cell<Option<Trace>> = const { Cell::new(None) };
}

/// The trace of what runs now, if it belongs to one.
#[must_use]
pub fn current() -> Option<Trace> {
    CURRENT.get()
}

/// Does something within a trace, or within none.
pub fn inside<T>(trace: Option<Trace>, act: impl FnOnce() -> T) -> T {
    let _left = Left(CURRENT.replace(trace));
    act()
}

/// Puts back what was before, also after a panic.
struct Left(Option<Trace>);

impl Drop for Left {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs a future within a trace, or within none.
pub fn within<F: Future>(trace: Option<Trace>, future: F) -> impl Future<Output = F::Output> {
    Within { trace, future: Box::pin(future) }
}

struct Within<F> {
    trace: Option<Trace>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<F::Output> {
        let Self { trace, future } = &mut *self;
        inside(*trace, || future.as_mut().poll(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_before_is_back_after_it() {
        let outer: Trace =
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap();
        let inner: Trace = outer.to_string().replace("-01", "-00").parse().unwrap();
        inside(Some(outer), || {
            inside(Some(inner), || assert_eq!(current(), Some(inner)));
            inside(None, || assert_eq!(current(), None));
            assert_eq!(current(), Some(outer));
        });
        assert_eq!(current(), None);
    }
}
