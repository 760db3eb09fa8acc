//! Reading instances from the store and running them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::history::{Entries, Entry, EntryKind};
use crate::id::InstanceKey;
use crate::instance::{Park, Transition};
use crate::run::Run;
use crate::status::{Phase, Status};
use crate::store::{Claimed, Commit};

use super::Inner;

/// Instances taken over at once after a start.
const PAGE: usize = 256;

/// Loads what it is told to, a bounded number at a time.
pub(super) async fn serve(engine: Weak<Inner>, mut keys: mpsc::UnboundedReceiver<InstanceKey>) {
    let limit = match engine.upgrade() {
        Some(inner) => inner.env.config.residency_loading,
        None => return,
    };
    let loading = Arc::new(Semaphore::new(limit.max(1)));
    while let Some(key) = keys.recv().await {
        let Ok(permit) = Arc::clone(&loading).acquire_owned().await else { return };
        let Some(inner) = engine.upgrade() else { return };
        if inner.is_shutting_down() {
            continue;
        }
        tokio::spawn(async move {
            let run = load(&inner, key).await;
            drop(permit);
            drop(inner);
            if let Some(run) = run {
                // In a task of its own, no larger than it must be: it may be parked for long.
                tokio::spawn(run);
            }
        });
    }
}

/// Looks once at everything that should run and that nobody runs.
pub(super) async fn sweep_once(inner: &Inner) -> Result<()> {
    let mut after = InstanceKey(i64::MIN);
    loop {
        let page = inner.store.runnable(after, PAGE).await?;
        page.iter().for_each(|key| inner.wake(*key));
        match page.last() {
            Some(last) if page.len() == PAGE => after = *last,
            _ => return Ok(()),
        }
    }
}

/// Everything that should run and that nobody runs, in bounded pages: what the last engine left
/// behind, and from time to time whatever a lost hint may have left out.
pub(super) async fn sweep(engine: Weak<Inner>) {
    let mut after = InstanceKey(i64::MIN);
    loop {
        let Some(inner) = engine.upgrade() else { return };
        if inner.is_shutting_down() {
            return;
        }
        match inner.store.runnable(after, PAGE).await {
            Ok(page) => {
                for key in &page {
                    inner.wake(*key);
                }
                let rest = match page.last() {
                    Some(last) => {
                        after = *last;
                        continue;
                    }
                    None => inner.env.clock.now().after(inner.env.config.sweep_interval),
                };
                after = InstanceKey(i64::MIN);
                let rest = inner.env.clock.sleep_until(rest);
                drop(inner);
                rest.await;
            }
            Err(error) => {
                tracing::warn!(%error, "instances to resume could not be read, trying again");
                let clock = &inner.env.clock;
                clock.sleep_until(clock.now().after(Duration::from_secs(1))).await;
            }
        }
    }
}

/// Claims an instance and prepares its replay; `None` when there is nothing to run.
async fn load(inner: &Arc<Inner>, key: InstanceKey) -> Option<Run> {
    loop {
        match claim(inner, key).await {
            Ok(Some(run)) => {
                inner.residents.enter(key, run.resident());
                return Some(run);
            }
            Ok(None) => {
                if inner.residents.give_up_loading(key) {
                    inner.wake(key);
                }
                return None;
            }
            Err(error) if error.is_retryable() && !inner.is_shutting_down() => {
                let clock = &inner.env.clock;
                clock.sleep_until(clock.now().after(Duration::from_millis(200))).await;
            }
            Err(error) => {
                tracing::error!(key = key.0, %error, "an instance could not be read");
                inner.residents.give_up_loading(key);
                return None;
            }
        }
    }
}

async fn claim(inner: &Arc<Inner>, key: InstanceKey) -> Result<Option<Run>> {
    let Some(claimed) = inner.store.claim(key).await? else { return Ok(None) };
    let instance = &claimed.instance;
    if instance.phase == Phase::Queued
        && let Some(at) = instance.wake_at.filter(|at| *at > inner.env.clock.now())
    {
        // Its time has not come: it was looked at for another reason.
        inner.store.release(key, claimed.epoch);
        inner.timers.schedule(at, key, false);
        return Ok(None);
    }
    let Some(workflow) = inner.env.registry.get(&instance.workflow, instance.version) else {
        queue_unknown(inner, &claimed).await?;
        return Ok(None);
    };
    match Run::replayed(inner, &workflow, &claimed) {
        Ok(run) => Ok(Some(run)),
        Err(error) => {
            pause_unreadable(inner, &claimed, &error).await?;
            Ok(None)
        }
    }
}

/// Nobody here knows its version: it waits, visibly, for an engine that does.
async fn queue_unknown(inner: &Inner, claimed: &Claimed) -> Result<()> {
    let instance = &claimed.instance;
    let reason =
        format!("no node knows version {} of workflow {:?}", instance.version, instance.workflow);
    tracing::warn!(instance = %instance.id, %reason, "an instance can't run here");
    if instance.queued_reason.as_ref() != Some(&reason) {
        let park = Park { phase: Phase::Queued, wake_at: None, reason: Some(reason) };
        commit(inner, claimed, Transition { park: Some(park), ..Transition::default() }).await?;
    }
    inner.store.release(instance.key, claimed.epoch);
    inner.rests(&instance.id, Status::Queued);
    if inner.env.registry.get(&instance.workflow, instance.version).is_some() {
        // It was registered meanwhile, by somebody who found the instance claimed.
        inner.wake(instance.key);
    }
    Ok(())
}

/// Its input no longer fits the workflow: an operator has to look.
async fn pause_unreadable(inner: &Inner, claimed: &Claimed, error: &Error) -> Result<()> {
    let failure = Failure { details: None, ..error.to_failure() };
    tracing::error!(instance = %claimed.instance.id, %failure, "an instance can't go on, pausing it");
    let entry = Entry {
        reason: Some("invalid".to_owned()),
        error: Some(failure),
        ..Entry::new(EntryKind::WorkflowPaused)
    };
    let entries = Entries::of(&[entry]);
    commit(inner, claimed, Transition { entries, pause: true, ..Transition::default() }).await?;
    inner.store.release(claimed.instance.key, claimed.epoch);
    inner.rests(&claimed.instance.id, Status::Paused);
    Ok(())
}

async fn commit(inner: &Inner, claimed: &Claimed, transition: Transition) -> Result<()> {
    let commit = Commit {
        key: claimed.instance.key,
        run: claimed.instance.run,
        epoch: claimed.epoch,
        heard: claimed.instance.next_seq,
        transition: Arc::new(transition),
    };
    inner.store.commit(commit).await.map(|_| ())
}
