//! One commit on its way to the store.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;

use crate::error::{Error, Result};
use crate::instance::{End, Transition};
use crate::json::Json;
use crate::status::Status;
use crate::store::{Commit, Committed};

use super::{OpId, Run};

/// A commit whose outcome is not known yet.
pub(super) struct Flight {
    /// Kept to try again: a finished step keeps its result while its process lives.
    transition: Arc<Transition>,
    /// The last arrival that was known when it was decided, also when it is tried again later.
    heard: i64,
    /// What may begin once it is durable.
    held: Vec<OpId>,
    /// What to say to those who watch once it is durable.
    broadcasts: Vec<(Arc<str>, Json)>,
    stage: Stage,
}

enum Stage {
    Committing(BoxFuture<'static, Result<Committed>>),
    /// The store refused for now; nothing was changed.
    Waiting(BoxFuture<'static, ()>),
}

/// What looking after the commit came to.
pub(super) enum Landing {
    /// Nothing is in flight.
    Clear,
    /// It is still on its way.
    Flying,
    /// The instance is over, here at least.
    Done,
}

/// Sends what gathered to the store.
pub(super) fn take_off(run: &mut Run, transition: Transition, held: Vec<OpId>) {
    let transition = Arc::new(transition);
    let mut state = run.resident.state.lock();
    let (heard, broadcasts) = (state.heard(), std::mem::take(&mut state.broadcasts));
    drop(state);
    let stage = commit(run, &transition, heard);
    run.flight = Some(Flight { transition, heard, held, broadcasts, stage });
}

fn commit(run: &Run, transition: &Arc<Transition>, heard: i64) -> Stage {
    Stage::Committing(run.engine.store.commit(Commit {
        key: run.key,
        run: run.resident.run,
        epoch: run.epoch,
        heard,
        transition: Arc::clone(transition),
    }))
}

/// Looks after the commit in flight.
pub(super) fn land(run: &mut Run, task: &mut Context<'_>) -> Landing {
    loop {
        let Some(mut flight) = run.flight.take() else { return Landing::Clear };
        let result = match &mut flight.stage {
            Stage::Waiting(delay) => match delay.as_mut().poll(task) {
                Poll::Pending => {
                    run.flight = Some(flight);
                    return Landing::Flying;
                }
                Poll::Ready(()) => {
                    flight.stage = commit(run, &flight.transition, flight.heard);
                    run.flight = Some(flight);
                    continue;
                }
            },
            Stage::Committing(answer) => match answer.as_mut().poll(task) {
                Poll::Pending => {
                    run.flight = Some(flight);
                    return Landing::Flying;
                }
                Poll::Ready(result) => result,
            },
        };
        match result {
            Ok(Committed::Stored) => return stored(run, flight),
            Ok(Committed::Fenced) => return Landing::Done,
            Err(Error::StoreUnavailable { retry_in, reason }) => {
                tracing::warn!(instance = %run.resident.id, %reason, "commit refused, trying again");
                let clock = &run.engine.env.clock;
                flight.stage = Stage::Waiting(clock.sleep_until(clock.now().after(retry_in)));
                run.flight = Some(flight);
            }
            Err(error) => {
                // Whether it is stored is unknown, or the store is closed: read it again.
                tracing::error!(instance = %run.resident.id, %error, "commit failed");
                return Landing::Done;
            }
        }
    }
}

fn stored(run: &mut Run, flight: Flight) -> Landing {
    let Flight { transition, held, broadcasts, .. } = flight;
    run.say(&broadcasts);
    if transition.end.is_some() || (transition.pause && run.pausing) {
        run.over = !matches!(transition.end, None | Some(End::Continued(_)));
        if transition.end.is_none() {
            run.engine.rests(&run.resident.id, Status::Paused);
        }
        return Landing::Done;
    }
    if run.paused {
        run.withheld.extend(held);
    } else {
        run.resident.state.lock().release(held);
    }
    Landing::Clear
}
