//! A store that takes nothing any more: nobody waits for ever.

use abide::prelude::*;
use abide_sqlite::SqliteStore;
use futures_util::{StreamExt, poll};

use crate::world::in_time;

async fn waits(cx: Cx, (): ()) -> Result<()> {
    cx.wait_for_event::<()>("never").await?;
    Ok(())
}

#[tokio::test]
async fn whoever_waits_is_told_that_the_store_is_closed() {
    in_time(async {
        let store = SqliteStore::options().open_temporary().await.unwrap();
        let engine = Engine::builder(store.clone()).workflow("w", waits).start().await.unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        assert_eq!(handle.settled().await.unwrap(), Status::Waiting);
        let (result, output) = (handle.result::<()>(), handle.wait_for_output::<()>("key"));
        let watch = handle.watch(0).collect::<Vec<_>>();
        let all = engine.watch_all(None).collect::<Vec<_>>();
        let streams = handle.streams().collect::<Vec<_>>();
        tokio::pin!(result, output, watch, all, streams);
        assert!(poll!(&mut result).is_pending() && poll!(&mut output).is_pending());
        assert!(poll!(&mut watch).is_pending() && poll!(&mut all).is_pending());
        assert!(poll!(&mut streams).is_pending());

        store.close().await.unwrap();
        for error in [
            engine.store_lost().await,
            result.await.unwrap_err(),
            output.await.unwrap_err(),
            watch.await.pop().unwrap().unwrap_err(),
            all.await.pop().unwrap().unwrap_err(),
            streams.await.pop().unwrap().unwrap_err(),
            handle.ended().await.unwrap_err(),
        ] {
            assert!(matches!(error, Error::StoreClosed { .. }), "{error:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_store_that_is_closed_after_its_engine_is_not_lost() {
    in_time(async {
        let store = SqliteStore::options().open_temporary().await.unwrap();
        let engine = Engine::builder(store.clone()).workflow("w", waits).start().await.unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let result = handle.result::<()>();
        tokio::pin!(result);
        assert!(poll!(&mut result).is_pending());
        engine.shutdown().await;
        store.close().await.unwrap();
        assert!(matches!(result.await, Err(Error::ShutDown)));
    })
    .await;
}
