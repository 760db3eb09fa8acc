//! Deleting what ended long ago, a little at a time.

use std::sync::Weak;

use crate::error::Result;

use super::Inner;

/// Deletes in bounded batches until nothing is left to delete; answers how many went.
pub(super) async fn prune(inner: &Inner) -> Result<usize> {
    let config = &inner.env.config;
    let Some(retention) = config.instances_retention else { return Ok(0) };
    let keep_ms = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
    let before = crate::time::Timestamp(inner.env.clock.now().0.saturating_sub(keep_ms));
    let mut total = 0;
    loop {
        let gone = inner.store.prune(before, config.prune_batch).await?;
        total += gone;
        if gone < config.prune_batch || inner.is_shutting_down() {
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
            if let Err(error) = prune(&inner).await {
                tracing::warn!(%error, "pruning failed, trying again later");
            }
            let clock = &inner.env.clock;
            clock.sleep_until(clock.now().after(inner.env.config.prune_interval))
        };
        rest.await;
    }
}
