//! Invariants of what is published and who waits for it. That no open wait misses anything, and that
//! nobody takes anything twice, holds in every store and is checked with the others that do.

use abide::{InstanceId, Logged, Verdict, Wait, WaitStatus};

use super::Scene;
use crate::differential::View;
use crate::simulator::scenario::ensure;

/// What a publisher was told is what the log says, then and later.
pub(super) fn is_in_the_log(view: &View, told: &Verdict) -> Result<(), String> {
    let mut log = view.log.iter();
    let same = |logged: &&Logged| {
        logged.verdict == Verdict { duplicate: false, ..told.clone() }
            && Some(logged.published.seq) == told.seq
    };
    let found = log.find(same);
    ensure(found.is_some(), || format!("the publisher was told {told:?}, which the log denies"))
}

fn took(view: &View, seq: i64, id: &InstanceId) -> bool {
    let mut takers = view.takers.iter().filter(|(of, _)| *of == seq);
    takers.any(|(_, takers)| takers.iter().any(|taker| taker.instance_id == *id))
}

/// What a wait reaches back to and would want, if it wanted just one.
fn wanted<'a>(view: &'a View, wait: &'a Wait) -> impl Iterator<Item = &'a Logged> {
    let of_log = view.log.iter().filter(|logged| logged.published.seq > wait.since);
    of_log.filter(|logged| wait.count.is_none() && wait.wants(&logged.published.sent(0)))
}

/// A wait that was met by something published was met by the oldest that its instance had not taken
/// for another one.
pub(super) fn is_compared(scene: &Scene<'_>) -> Result<(), String> {
    for wait in scene.view.waits.iter().filter(|wait| wait.status == WaitStatus::Fulfilled) {
        let (id, step) = (&wait.instance_id, &wait.step);
        let by = wait.fulfilled_by.as_deref();
        let by = wanted(scene.view, wait).find(|logged| by == Some(&*logged.verdict.event_id));
        let Some(by) = by else { continue };
        ensure(took(scene.view, by.published.seq, id), || {
            format!("{step} of {id} has {}, which the log denies", by.verdict.event_id)
        })?;
        let mut older = wanted(scene.view, wait).filter(|it| it.published.seq < by.published.seq);
        if let Some(missed) = older.find(|it| !took(scene.view, it.published.seq, id)) {
            return Err(format!("{} was passed over by {step} of {id}", missed.verdict.event_id));
        }
    }
    Ok(())
}

/// What was accepted before the deadline wins, what came at it or later loses.
pub(super) fn deadline_decides(scene: &Scene<'_>) -> Result<(), String> {
    for wait in &scene.view.waits {
        let Some(deadline) = wait.timeout_at else { continue };
        let (id, step) = (&wait.instance_id, &wait.step);
        for logged in wanted(scene.view, wait) {
            let (event, at) = (&logged.verdict.event_id, logged.published.accepted_at);
            if wait.fulfilled_by.as_ref() == Some(event) {
                ensure(at < deadline || at <= wait.created_at, || {
                    format!("{event} came too late for {step} of {id}")
                })?;
            }
            let missed = wait.status == WaitStatus::Expired
                && at < deadline
                && !took(scene.view, logged.published.seq, id);
            ensure(!missed, || {
                format!("{event} came before the deadline of {step} of {id}, which expired")
            })?;
        }
    }
    Ok(())
}
