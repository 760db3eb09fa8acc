//! Observers: told that there is something, before the engine runs anything and until it is gone.

use std::sync::Arc;

use abide::prelude::*;
use abide::{Follow, Observer};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::world::{Ran, eventually, on_every_store, with};

/// Reads whatever there is, and notes it.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    async fn follow(self, follow: Follow) {
        let mut after = follow.head();
        while follow.news().await {
            let tail = follow.store().tail(after, 1000).await.unwrap();
            let entries = tail.rows.iter().flat_map(|row| &row.recorded);
            self.0.lock().extend(entries.map(|recorded| recorded.entry.entry.to_string()));
            after = tail.head;
        }
        self.0.lock().push("gone".to_owned());
    }
}

impl Observer for Notes {
    fn begin(&self, follow: Follow) -> BoxFuture<'_, Result<()>> {
        tokio::spawn(self.clone().follow(follow));
        async { Ok(()) }.boxed()
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        async { self.0.lock().push("finish".to_owned()) }.boxed()
    }
}

/// One that can't.
struct Refusing;

impl Observer for Refusing {
    fn begin(&self, _: Follow) -> BoxFuture<'_, Result<()>> {
        async { Err(Error::failed("NO", "not today")) }.boxed()
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

async fn one_step(cx: Cx, ran: Ran, (): ()) -> Result<()> {
    cx.step("a", || ran.ok("a", ())).await
}

on_every_store! {
    async fn an_observer_sees_what_happens_and_is_told_of_the_end(world: World) {
        let notes = Notes::default();
        let builder = || world.engine().workflow("w", with(&Ran::default(), one_step));
        let engine = builder().start().await.unwrap();
        engine.start("w", Start::new(&())).await.unwrap().result::<()>().await.unwrap();
        engine.shutdown().await;

        let engine = builder().observe(notes.clone()).start().await.unwrap();
        engine.start("w", Start::new(&())).await.unwrap().result::<()>().await.unwrap();
        assert!(eventually(async || notes.0.lock().len() == 4).await, "{:?}", notes.0.lock());
        engine.shutdown().await;
        assert!(eventually(async || notes.0.lock().len() == 6).await);
        let told = ["workflow.started", "step.started", "step.completed", "workflow.completed"];
        let seen = notes.0.lock().clone();
        assert_eq!(seen[..4], told, "and nothing of what was before");
        assert_eq!(seen[4..], ["finish", "gone"]);
    }

    async fn an_engine_whose_observer_refuses_does_not_start_and_others_are_told(world: World) {
        let notes = Notes::default();
        let refused = world.engine().observe(notes.clone()).observe(Refusing).start().await;
        assert_eq!(refused.err().unwrap().code(), "NO");
        assert!(eventually(async || *notes.0.lock() == ["gone"]).await);
    }
}
