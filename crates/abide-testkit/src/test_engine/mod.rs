//! Tests of workflows, without waiting and without what their steps call.
//!
//! A [`TestEngine`] is an ordinary engine on a store in memory and a clock that *jumps*: whenever a
//! test awaits something and nothing runs, time moves to the next timer. What runs and what is due
//! is read from the store, which always knows; so a jump never overtakes anything.
//!
//! ```
//! use abide::prelude::*;
//! use abide_testkit::TestEngine;
//!
//! async fn remind(cx: Cx, name: String) -> Result<String> {
//!     cx.sleep("a month", "30 days").await?;
//!     cx.step("send mail", || async { Ok::<_, Error>(format!("mail to {name}")) }).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! let engine = TestEngine::builder()
//!     .workflow("remind", remind)
//!     .replace_step("send mail", |_attempt| Ok("sent"))
//!     .start()
//!     .await;
//! let handle = engine.start("remind", Start::new("Ada")).await?;
//! assert_eq!(handle.result::<String>().await?, "sent");
//! # Ok(())
//! # }
//! ```

mod builder;
mod crash;
mod crash_report;
mod handle;
mod replaced;
mod stuck;
mod time;
mod withheld;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use abide::{Clock, Engine, InstanceId, IntoDuration, Result, Start, Timestamp};

use crate::FaultStore;

pub use builder::TestEngineBuilder;
pub use crash_report::{CrashPoint, CrashReport, StepRuns};
pub use handle::TestHandle;

use replaced::Steps;
use time::VirtualTime;
use withheld::Withheld;

/// An engine for tests of workflows; see [`TestEngine::builder`]. Cheap to clone.
#[derive(Clone)]
pub struct TestEngine {
    inner: Arc<Inner>,
}

/// What a test engine and its handles share.
struct Inner {
    engine: Engine,
    store: FaultStore,
    time: VirtualTime,
    steps: Arc<Steps>,
    withheld: Withheld,
    /// How many things were sent without an id of their own.
    sent: AtomicUsize,
    /// When this is one of several lives in which the test does the same: which, in words.
    life: Option<String>,
}

impl TestEngine {
    /// Begins a test engine: `.workflow(..)`, `.replace_step(..)`, then `.start()`.
    pub fn builder() -> TestEngineBuilder {
        TestEngineBuilder::new()
    }

    /// Starts an instance.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub async fn start(&self, workflow: &str, start: Start) -> Result<TestHandle> {
        let handle = self.inner.engine.start(workflow, start).await?;
        Ok(TestHandle::new(&self.inner, handle))
    }

    /// A handle on an instance, which may be yet to start: a child with an id of its own, say.
    #[must_use]
    pub fn get(&self, id: &str) -> TestHandle {
        let id = InstanceId::new(id).unwrap();
        TestHandle::new(&self.inner, self.inner.engine.get(&id))
    }

    /// The engine itself. What is awaited of it does not move the clock.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.time.clock.now()
    }

    /// Stops the clock: it moves with [`TestEngine::advance`] alone.
    pub fn freeze(&self) {
        self.inner.time.set_frozen(true);
    }

    /// Lets the clock jump by itself again.
    pub fn thaw(&self) {
        self.inner.time.set_frozen(false);
    }

    /// Moves time on by hand, frozen or not. Everything that falls due on the way happens at its own
    /// moment, one after the other. A step that runs all the time keeps nothing from happening:
    /// that is how to reach its timeout.
    pub async fn advance(&self, by: impl IntoDuration) {
        let by = by.into_duration().unwrap();
        self.inner.advance_to(self.now().after(by)).await;
    }

    /// Waits until nothing runs: every instance has ended, sleeps or waits. The clock stands still.
    pub async fn settle(&self) {
        self.inner.settle().await;
    }

    /// Awaits anything, and moves the clock when nothing else is left to happen. Fails the test at
    /// once, saying what every instance waits for, when nothing ever will.
    pub async fn drive<T>(&self, awaited: impl Future<Output = T>) -> T {
        self.inner.drive("what the test awaits", awaited).await
    }

    /// Keeps back whatever is sent through a [`TestHandle`] under this type, name or topic.
    pub fn withhold(&self, name: &str) {
        self.inner.withheld.withhold(name);
    }

    /// Delivers what was kept back, in the order in which it was sent, and keeps nothing back any
    /// more. Answers how many there were.
    ///
    /// # Errors
    /// As [`abide::Handle::send`], of the first that was refused.
    pub async fn release(&self, name: &str) -> Result<usize> {
        let released = self.inner.withheld.release(name);
        let count = released.len();
        for (to, outgoing) in released {
            self.inner.engine.get(&to).send(outgoing).await?;
        }
        Ok(count)
    }

    /// How often the function of a step ran, or what replaced it, in all instances together. A plain
    /// name counts `name#2` and scopes as well.
    #[must_use]
    pub fn runs_of(&self, step: &str) -> usize {
        self.inner.steps.runs_of(step)
    }
}
