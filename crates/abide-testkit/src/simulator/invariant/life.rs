//! Invariants of instances and their histories.

use abide::history::EntryKind;
use abide::{Buffered, Instance, Phase, Timestamp, WaitStatus};

use super::Scene;
use crate::differential::View;
use crate::simulator::scenario::ensure;

pub(super) fn contiguous_history(scene: &Scene<'_>) -> Result<(), String> {
    for (id, history) in &scene.view.histories {
        for (place, recorded) in (1_i64..).zip(history) {
            ensure(recorded.seq == place, || {
                format!("entry {place} of {id} has number {}", recorded.seq)
            })?;
        }
        let in_order = history.is_sorted_by_key(|recorded| (recorded.run, recorded.at));
        ensure(in_order, || format!("the history of {id} is not in order of run and time"))?;
    }
    Ok(())
}

pub(super) fn history_only_grows(scene: &Scene<'_>) -> Result<(), String> {
    for (id, before) in &scene.before.histories {
        let now = scene.view.histories.iter().find(|(found, _)| found == id);
        let grows = now.is_some_and(|(_, now)| now.starts_with(before));
        ensure(grows, || format!("the history of {id} is not what it was, and more"))?;
    }
    Ok(())
}

pub(super) fn finished_owns_nothing(scene: &Scene<'_>) -> Result<(), String> {
    let view = scene.view;
    for finished in view.instances.iter().filter(|instance| instance.phase.is_terminal()) {
        let id = &finished.id;
        ensure(finished.wake_at.is_none(), || format!("{id} has a timer"))?;
        ensure(!finished.paused, || format!("{id} is paused"))?;
        ensure(!has_open_wait(view, finished), || format!("{id} has an open wait"))?;
        let pending = view.buffers.iter().any(|(of, kept)| of == id && !kept.is_empty());
        ensure(!pending, || format!("{id} has a pending event"))?;
    }
    Ok(())
}

pub(super) fn one_attempt_of_each_stream(scene: &Scene<'_>) -> Result<(), String> {
    for (id, chunks) in &scene.view.chunks {
        for chunk in chunks {
            let own = chunks.iter().filter(|other| other.step == chunk.step);
            for (index, other) in (0..).zip(own) {
                let (one, two) = (chunk.position, other.position);
                let together = (one.run, one.attempt) == (two.run, two.attempt);
                ensure(together && two.index == index, || {
                    format!("{} of {id} has chunk {two} beside {one}, at place {index}", chunk.step)
                })?;
            }
        }
    }
    Ok(())
}

pub(super) fn parked_has_a_reason(scene: &Scene<'_>) -> Result<(), String> {
    let view = scene.view;
    for parked in &view.instances {
        if !matches!(parked.phase, Phase::Waiting | Phase::Sleeping) || parked.paused {
            continue;
        }
        let reason =
            parked.wake_at.is_some() || has_open_wait(view, parked) || has_child(view, parked);
        ensure(reason, || format!("{} is {} for nothing", parked.id, parked.phase))?;
    }
    Ok(())
}

pub(super) fn replays_alike(scene: &Scene<'_>) -> Result<(), String> {
    for (id, history) in &scene.view.histories {
        for recorded in history {
            let entry = &recorded.entry;
            let by_hand = entry.reason.as_deref() == Some("manual");
            let odd = match entry.entry {
                EntryKind::WorkflowPaused => !by_hand,
                EntryKind::WorkflowStuck => true,
                _ => false,
            };
            let panicked = entry.error.as_ref().is_some_and(|it| it.code == "WORKFLOW_PANICKED");
            ensure(!odd && !panicked, || format!("{id}: {entry:?}"))?;
        }
    }
    Ok(())
}

/// An engine that lives and knows what it wrote runs an instance once.
pub(super) fn interrupted_by_crashes(scene: &Scene<'_>) -> Result<(), String> {
    if !scene.undisturbed {
        return Ok(());
    }
    for recorded in scene.view.histories.iter().flat_map(|(_, history)| history) {
        let error = recorded.entry.error.as_ref();
        let interrupted = error.is_some_and(|it| it.code == "STEP_INTERRUPTED");
        ensure(!interrupted, || format!("{:?} was interrupted by nothing", recorded.entry.name))?;
    }
    Ok(())
}

/// At the end, with no more faults and all the time in the world, everything has ended or waits
/// for something that never came.
pub(in crate::simulator) fn nothing_is_stuck(view: &View, now: Timestamp) -> Result<(), String> {
    for instance in view.instances.iter().filter(|instance| !instance.phase.is_terminal()) {
        let (id, status) = (&instance.id, instance.status());
        if instance.paused || has_child(view, instance) {
            continue;
        }
        let waits = instance.phase == Phase::Waiting
            && has_open_wait(view, instance)
            && instance.wake_at.is_none_or(|at| at > now)
            && !has_mail(view, instance);
        ensure(waits, || {
            format!("2: a lost hint delays, it never loses: {id} is stuck, {status}")
        })?;
    }
    Ok(())
}

fn has_open_wait(view: &View, instance: &Instance) -> bool {
    let mut waits = view.waits.iter().filter(|wait| wait.instance == instance.key);
    waits.any(|wait| wait.status == WaitStatus::Active)
}

fn has_child(view: &View, parent: &Instance) -> bool {
    view.instances.iter().filter(|child| !child.phase.is_terminal()).any(|child| {
        child
            .parent
            .as_ref()
            .is_some_and(|found| found.key == parent.key && found.run == parent.run)
    })
}

/// Whether something is there that one of its open waits hears.
fn has_mail(view: &View, instance: &Instance) -> bool {
    let buffers = view.buffers.iter().filter(|(id, _)| *id == instance.id);
    let kept: Vec<&Buffered> = buffers.flat_map(|(_, kept)| kept).collect();
    view.waits
        .iter()
        .filter(|wait| wait.instance == instance.key && wait.status == WaitStatus::Active)
        .any(|wait| kept.iter().any(|sent| wait.wants(sent)))
}
