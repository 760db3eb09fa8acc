//! Deleting what ended long ago, a little at a time.

use std::sync::Weak;

use crate::error::Result;
use crate::log::LogRetention;
use crate::store::Answer;

use super::Inner;

/// Deletes in bounded batches until nothing is left to delete; answers how many went.
pub(super) async fn prune(inner: &Inner) -> Result<usize> {
    let config = &inner.env.config;
    let batch = config.prune_batch;
    let now = inner.env.clock.now();
    let mut total = 0;
    if let Some(retention) = config.instances_retention {
        let before = now.before(retention);
        total += all(inner, || inner.store.prune(before, batch)).await?;
    }
    let retention = LogRetention {
        before: config.events_retention.map(|kept| now.before(kept)),
        max_bytes: config.events_max_bytes,
        max_per_type: config.events_max_per_type,
    };
    if retention != LogRetention::default() {
        total += all(inner, || inner.store.prune_log(retention, batch)).await?;
    }
    Ok(total)
}

/// One batch after the other, until one is not full.
async fn all(inner: &Inner, prune: impl Fn() -> Answer<usize>) -> Result<usize> {
    let mut total = 0;
    loop {
        let gone = prune().await?;
        total += gone;
        if gone < inner.env.config.prune_batch || inner.is_shutting_down() {
            return Ok(total);
        }
    }
}

pub(super) async fn serve(engine: Weak<Inner>) {
    loop {
        let rest = {
            let Some(inner) = engine.upgrade() else { return };
            if inner.is_killed() {
                return;
            }
            // Whoever stops the engine may close the store at once.
            if let Err(error) = prune(&inner).await
                && !inner.is_killed()
            {
                tracing::warn!(%error, "pruning failed, trying again later");
            }
            let clock = &inner.env.clock;
            clock.sleep_until(clock.now().after(inner.env.config.prune_interval))
        };
        rest.await;
    }
}
