//! Several waits as one: the first that is met, or all of them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::event::Event;

use super::Wait;

/// Waits that stand together: a tuple of two to four, or a `Vec`.
pub trait Waits: sealed::Members {}

impl<W: sealed::Members> Waits for W {}

/// The first of several waits that is met; see [`super::Cx::any`].
#[must_use = "waits hear nothing unless awaited"]
pub struct AnyOf<W: Waits> {
    waits: W,
    /// Those that gave up, by place.
    over: Vec<usize>,
    last: Option<Error>,
}

impl<W: Waits> AnyOf<W> {
    pub(super) fn new(waits: W) -> Self {
        let race = waits.first_step().cloned();
        Self { waits: waits.race(race.as_ref()), over: Vec::new(), last: None }
    }
}

impl<W: Waits> Future for AnyOf<W> {
    type Output = Result<W::First>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { waits, over, last } = &mut *self;
        for place in 0..waits.len() {
            if over.contains(&place) {
                continue;
            }
            match waits.poll_one(place, task) {
                Poll::Ready(Err(timeout @ Error::EventTimeout { .. })) => {
                    over.push(place);
                    *last = Some(timeout);
                }
                Poll::Ready(done) => return Poll::Ready(done),
                Poll::Pending => {}
            }
        }
        let is_over = over.len() == waits.len();
        last.take_if(|_| is_over).map_or(Poll::Pending, |timeout| Poll::Ready(Err(timeout)))
    }
}

/// All of several waits; see [`super::Cx::all`].
#[must_use = "waits hear nothing unless awaited"]
pub struct AllOf<W: Waits> {
    waits: W,
    met: W::Met,
}

impl<W: Waits> AllOf<W> {
    pub(super) fn new(waits: W) -> Self {
        Self { met: waits.none_met(), waits }
    }
}

impl<W: Waits> Unpin for AllOf<W> {}

impl<W: Waits> Future for AllOf<W> {
    type Output = Result<W::All>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { waits, met } = self.get_mut();
        waits.poll_all(met, task)
    }
}

/// What one of two waits was met by.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOf2<A, B> {
    /// The first was.
    First(A),
    /// The second was.
    Second(B),
}

/// What one of three waits was met by.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOf3<A, B, C> {
    /// The first was.
    First(A),
    /// The second was.
    Second(B),
    /// The third was.
    Third(C),
}

/// What one of four waits was met by.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOf4<A, B, C, D> {
    /// The first was.
    First(A),
    /// The second was.
    Second(B),
    /// The third was.
    Third(C),
    /// The fourth was.
    Fourth(D),
}

mod sealed {
    use super::*;

    /// What tuples and lists of waits have in common.
    pub trait Members: Sized + Unpin {
        type First;
        type All;
        type Met;

        fn len(&self) -> usize;
        fn first_step(&self) -> Option<&Arc<str>>;
        fn race(self, race: Option<&Arc<str>>) -> Self;
        fn none_met(&self) -> Self::Met;
        fn poll_one(&mut self, place: usize, task: &mut Context<'_>) -> Poll<Result<Self::First>>;
        fn poll_all(
            &mut self,
            met: &mut Self::Met,
            task: &mut Context<'_>,
        ) -> Poll<Result<Self::All>>;
    }
}

/// Polls a wait that was not met yet.
fn poll_unmet<T: DeserializeOwned>(
    wait: &mut Wait<T>,
    met: &mut Option<Event<T>>,
    task: &mut Context<'_>,
) -> Result<()> {
    if met.is_none()
        && let Poll::Ready(event) = Pin::new(wait).poll(task)
    {
        *met = Some(event?);
    }
    Ok(())
}

macro_rules! members {
    ($one_of:ident, $len:literal: $($place:tt $T:ident $met:ident $variant:ident),+) => {
        impl<$($T: DeserializeOwned),+> sealed::Members for ($(Wait<$T>,)+) {
            type First = $one_of<$(Event<$T>),+>;
            type All = ($(Event<$T>,)+);
            type Met = ($(Option<Event<$T>>,)+);

            fn len(&self) -> usize {
                $len
            }

            fn first_step(&self) -> Option<&Arc<str>> {
                self.0.step()
            }

            fn race(self, race: Option<&Arc<str>>) -> Self {
                ($(self.$place.race(race),)+)
            }

            fn none_met(&self) -> Self::Met {
                Self::Met::default()
            }

            fn poll_one(
                &mut self,
                place: usize,
                task: &mut Context<'_>,
            ) -> Poll<Result<Self::First>> {
                match place {
                    $($place => Pin::new(&mut self.$place)
                        .poll(task)
                        .map(|event| event.map($one_of::$variant)),)+
                    _ => Poll::Pending,
                }
            }

            fn poll_all(
                &mut self,
                met: &mut Self::Met,
                task: &mut Context<'_>,
            ) -> Poll<Result<Self::All>> {
                $(poll_unmet(&mut self.$place, &mut met.$place, task)?;)+
                if $(met.$place.is_none())||+ {
                    return Poll::Pending;
                }
                match std::mem::take(met) {
                    ($(Some($met),)+) => Poll::Ready(Ok(($($met,)+))),
                    _ => Poll::Pending,
                }
            }
        }
    };
}

members!(OneOf2, 2: 0 A a First, 1 B b Second);
members!(OneOf3, 3: 0 A a First, 1 B b Second, 2 C c Third);
members!(OneOf4, 4: 0 A a First, 1 B b Second, 2 C c Third, 3 D d Fourth);

impl<T: DeserializeOwned> sealed::Members for Vec<Wait<T>> {
    type First = (usize, Event<T>);
    type All = Vec<Event<T>>;
    type Met = Vec<Option<Event<T>>>;

    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn first_step(&self) -> Option<&Arc<str>> {
        self.first().and_then(Wait::step)
    }

    fn race(self, race: Option<&Arc<str>>) -> Self {
        self.into_iter().map(|wait| wait.race(race)).collect()
    }

    fn none_met(&self) -> Self::Met {
        self.iter().map(|_| None).collect()
    }

    fn poll_one(&mut self, place: usize, task: &mut Context<'_>) -> Poll<Result<Self::First>> {
        let Some(wait) = self.get_mut(place) else { return Poll::Pending };
        Pin::new(wait).poll(task).map(|event| Ok((place, event?)))
    }

    fn poll_all(&mut self, met: &mut Self::Met, task: &mut Context<'_>) -> Poll<Result<Self::All>> {
        for (wait, met) in self.iter_mut().zip(&mut *met) {
            poll_unmet(wait, met, task)?;
        }
        if met.iter().any(Option::is_none) {
            return Poll::Pending;
        }
        Poll::Ready(Ok(std::mem::take(met).into_iter().flatten().collect()))
    }
}
