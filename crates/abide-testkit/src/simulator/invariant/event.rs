//! Invariants of what is sent and what waits for it.

use std::collections::HashMap;

use abide::history::{EntryKind, Recorded, StepKind};
use abide::{Hears, InstanceId, Kind, Wait, WaitStatus};

use super::{Scene, log};
use crate::differential::View;
use crate::simulator::scenario::ensure;
use crate::simulator::script::{Ask, Told};

/// Whatever a call was answered is in the store from then on.
pub(super) fn acknowledged_is_durable(scene: &Scene<'_>) -> Result<(), String> {
    let instances: HashMap<&str, _> =
        scene.view.instances.iter().map(|found| (found.id.as_str(), found)).collect();
    for acknowledged in scene.acknowledged {
        let what = acknowledged.ask.in_words();
        if let Told::Published(verdict) = &acknowledged.told {
            log::is_in_the_log(scene.view, verdict)?;
        }
        let Some(id) = acknowledged.ask.about() else { continue };
        let found = instances.get(id);
        let found = found.ok_or_else(|| format!("{what} was answered, and there is no {id}"))?;
        match &acknowledged.told {
            Told::Changed(was) => {
                ensure((was.run, was.next_seq) <= (found.run, found.next_seq), || {
                    format!("{what} was answered, and is not in the history")
                })?
            }
            Told::Delivered(told) => {
                let history = of(scene.view, &found.id);
                let about = |kind| {
                    let mut about = history.iter().filter(|it| it.entry.entry == kind);
                    about.any(|it| it.entry.event_id.as_ref() == Some(&told.event_id))
                };
                let kept = about(EntryKind::EventReceived)
                    && (told.delivered == 0 || about(EntryKind::WaitFulfilled))
                    && (!told.buffered || about(EntryKind::EventBuffered));
                ensure(kept, || format!("{what} was answered {told:?}, which the history denies"))?;
            }
            Told::Started | Told::Published(_) | Told::Nothing => {}
        }
    }
    Ok(())
}

/// An event serves all the waits it meets in one go; a signal or a message serves one.
pub(super) fn meets_once(scene: &Scene<'_>) -> Result<(), String> {
    let mut met: HashMap<(&InstanceId, &str), Vec<&Wait>> = HashMap::new();
    for wait in scene.view.waits.iter().filter(|wait| wait.status == WaitStatus::Fulfilled) {
        if let Some(event) = &wait.fulfilled_by {
            met.entry((&wait.instance_id, event)).or_default().push(wait);
        }
    }
    for ((id, event), waits) in met {
        let history = of(scene.view, id);
        let mut places: Vec<usize> =
            waits.iter().filter_map(|wait| fulfilled_at(history, wait, event)).collect();
        places.sort_unstable();
        let steps = || waits.iter().map(|wait| &*wait.step).collect::<Vec<_>>().join(", ");
        ensure(places.len() == waits.len(), || {
            format!("{event} meets {} of {id}, and the history denies it", steps())
        })?;
        let (first, last) = (places[0], places[places.len() - 1]);
        let at_once = history[first..=last]
            .iter()
            .all(|it| matches!(it.entry.entry, EntryKind::WaitFulfilled | EntryKind::WaitExpired));
        ensure(at_once, || format!("{event} is used twice: by {} of {id}", steps()))?;
    }
    Ok(())
}

/// Met or expired, never both; and what the record says is what the history says.
pub(super) fn one_outcome(scene: &Scene<'_>) -> Result<(), String> {
    for wait in &scene.view.waits {
        let (id, step) = (&wait.instance_id, &wait.step);
        let history = of(scene.view, id);
        let mine = history.iter().filter(|it| {
            it.run == wait.run && it.entry.name.as_ref() == Some(step) && !it.entry.cached
        });
        let (mut met, mut expired) = (0, 0);
        for recorded in mine {
            met += usize::from(recorded.entry.entry == EntryKind::WaitFulfilled);
            expired += usize::from(recorded.entry.entry == EntryKind::WaitExpired);
        }
        let agrees = match wait.status {
            WaitStatus::Active => met + expired == 0,
            WaitStatus::Fulfilled => (met, expired) == (1, 0),
            WaitStatus::Expired => (met, expired) == (0, 1),
            // What met it unseen went back; what it gave up for is forgotten.
            WaitStatus::Cancelled => met + expired <= 1,
        };
        ensure(agrees, || {
            format!("{step} of {id} is {}, met {met} times, expired {expired} times", wait.status)
        })?;
    }
    Ok(())
}

/// Everything that was accepted is consumed, pending, superseded, discarded or dropped, and never
/// just gone.
pub(super) fn nothing_vanishes(scene: &Scene<'_>) -> Result<(), String> {
    for (id, history) in &scene.view.histories {
        // A whole restart forgets what came before it.
        let restarted = |it: &Recorded| {
            it.entry.entry == EntryKind::WorkflowRestarted && it.entry.name.is_none()
        };
        let begin = history.iter().rposition(restarted).unwrap_or(0);
        for place in begin..history.len() {
            let entry = &history[place].entry;
            let Some(event) = &entry.event_id else { continue };
            if entry.entry != EntryKind::EventReceived {
                continue;
            }
            let is_accounted_for = is_consumed(scene.view, id, &history[place..], event)
                || is_pending(scene.view, id, event)
                || is_dropped(&history[place..], event)
                || is_gone(&history[place..], event);
            ensure(is_accounted_for, || format!("{event} was accepted by {id} and vanished"))?;
        }
    }
    Ok(())
}

fn is_consumed(view: &View, id: &InstanceId, history: &[Recorded], event: &str) -> bool {
    let mut waits = view.waits.iter().filter(|wait| wait.instance_id == *id);
    let waited = waits.any(|wait| {
        let mut held = wait.count.iter().flat_map(|count| &count.held);
        wait.status == WaitStatus::Fulfilled
            && (wait.fulfilled_by.as_deref() == Some(event) || held.any(|held| *held.id == *event))
    });
    let taken = || {
        history
            .iter()
            .filter(|it| it.entry.step_kind() == StepKind::Take)
            .any(|it| it.entry.payload.as_ref().is_some_and(|taken| taken.as_str().contains(event)))
    };
    waited || taken()
}

fn is_pending(view: &View, id: &InstanceId, event: &str) -> bool {
    let buffers = view.buffers.iter().filter(|(of, _)| of == id);
    buffers.flat_map(|(_, kept)| kept).any(|kept| *kept.id == *event)
}

/// Events of this type are declared as not to be kept: one that nobody waited for is gone.
fn is_dropped(history: &[Recorded], event: &str) -> bool {
    let mut about = history.iter().filter(|it| it.entry.event_id.as_deref() == Some(event));
    about.all(|it| {
        it.entry.entry == EntryKind::EventReceived && it.entry.name.as_deref() == Some("dropped")
    })
}

fn is_gone(history: &[Recorded], event: &str) -> bool {
    history
        .iter()
        .filter(|it| {
            matches!(it.entry.entry, EntryKind::EventSuperseded | EntryKind::EventDiscarded)
        })
        .any(|it| it.entry.event_id.as_deref() == Some(event))
}

/// What was accepted before the deadline wins, what came at it or later loses.
pub(super) fn deadline_decides(scene: &Scene<'_>) -> Result<(), String> {
    for wait in &scene.view.waits {
        let (Some(deadline), Some(kind)) = (wait.timeout_at, kind_of(wait)) else {
            continue;
        };
        let history = of(scene.view, &wait.instance_id);
        for received in history.iter().filter(|it| it.entry.entry == EntryKind::EventReceived) {
            let entry = &received.entry;
            let event = entry.event_id.as_deref().unwrap_or_default();
            if is_delayed(scene, event) {
                continue;
            }
            let (id, step) = (&wait.instance_id, &wait.step);
            if wait.fulfilled_by.as_deref() == Some(event) {
                let in_time = received.at < deadline || received.at <= wait.created_at;
                ensure(in_time, || format!("{event} came too late for {step} of {id}"))?;
            }
            // A signal may have gone to an older wait, one may not be enough or not wanted.
            let is_plain = wait.filter.is_none() && wait.count.is_none();
            let name = entry.name.as_deref().unwrap_or_default();
            let is_heard = is_plain
                && kind == Kind::Event
                && entry.step_kind() == StepKind::Step
                && wait.hears.covers(kind, name);
            if wait.status == WaitStatus::Expired && is_heard && received.run == wait.run {
                let was_open = opened_at(history, wait).is_some_and(|open| open < received.seq);
                ensure(!was_open || received.at >= deadline, || {
                    format!("{event} came before the deadline of {step} of {id}, which expired")
                })?;
            }
        }
    }
    Ok(())
}

fn kind_of(wait: &Wait) -> Option<Kind> {
    match wait.hears {
        Hears::Sent { kind, .. } => Some(kind),
        Hears::Output { .. } => None,
    }
}

fn is_delayed(scene: &Scene<'_>, event: &str) -> bool {
    // What was not acknowledged yet may be delayed too; it is looked at once it is.
    !scene.acknowledged.iter().any(|acknowledged| {
        matches!(&acknowledged.ask, Ask::Send { id, delay: None, .. } if id == event)
    })
}

fn opened_at(history: &[Recorded], wait: &Wait) -> Option<i64> {
    let mine = |it: &&Recorded| it.run == wait.run && it.entry.name.as_ref() == Some(&wait.step);
    let started = history.iter().filter(mine).find(|it| it.entry.entry == EntryKind::WaitStarted);
    started.map(|it| it.seq)
}

/// Where in the history a wait was met by an event.
fn fulfilled_at(history: &[Recorded], wait: &Wait, event: &str) -> Option<usize> {
    history.iter().position(|it| {
        it.run == wait.run
            && it.entry.entry == EntryKind::WaitFulfilled
            && it.entry.name.as_ref() == Some(&wait.step)
            && it.entry.event_id.as_deref() == Some(event)
    })
}

fn of<'a>(view: &'a View, id: &InstanceId) -> &'a [Recorded] {
    let found = view.histories.iter().find(|(of, _)| of == id);
    found.map_or(&[], |(_, history)| history)
}
