//! Sinks of a program's own.

use std::sync::Arc;
use std::time::Duration;

use abide_tracker::{Batch, Sink, SinkError, Tracker, TrackerConfig};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::world::{World, eventually, in_time, run_steps, steps};

/// Keeps what it is given, and panics at first.
#[derive(Clone, Default)]
struct Keeps(Arc<Mutex<Vec<Arc<Batch>>>>);

impl Sink for Keeps {
    fn send(&self, batch: Arc<Batch>) -> BoxFuture<'_, Result<(), SinkError>> {
        let mut kept = self.0.lock();
        kept.push(batch);
        assert!(kept.len() > 1, "not ready");
        drop(kept);
        async { Ok(()) }.boxed()
    }
}

#[tokio::test]
async fn a_sink_that_panics_costs_a_retry() {
    in_time(async {
        let world = World::memory().await;
        let keeps = Keeps::default();
        let tracker = Tracker::with_sink(TrackerConfig::new("", ""), keeps.clone());
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 1).await;
        world.pass(Duration::from_millis(100)).await;
        assert!(eventually(async || tracker.sent() == 4).await);
        let kept = keeps.0.lock();
        assert_eq!(kept.len(), 2);
        assert_eq!(kept[0].events, kept[1].events);
    })
    .await;
}
