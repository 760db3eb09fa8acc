//! A handle on one instance that moves the clock while a test awaits something.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use abide::{
    Delivered, Error, Failure, Handle, Outgoing, Result, Status, StepRecord, StepStatus, Wait,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Inner;

/// A handle on one instance. It offers everything an ordinary [`Handle`] does; what it awaits, moves
/// the clock when nothing else is left to happen, and fails the test when nothing ever will.
#[derive(Clone)]
pub struct TestHandle {
    inner: Arc<Inner>,
    handle: Handle,
}

impl Deref for TestHandle {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl TestHandle {
    pub(super) fn new(inner: &Arc<Inner>, handle: Handle) -> Self {
        Self { inner: Arc::clone(inner), handle }
    }

    /// Waits until the instance has ended, and reads its result.
    ///
    /// # Errors
    /// As [`Handle::result`].
    pub async fn result<T: DeserializeOwned>(&self) -> Result<T> {
        self.inner.drive(&self.named("the result"), self.handle.result()).await
    }

    /// Waits until the instance has failed, and answers how.
    pub async fn failure(&self) -> Failure {
        match self.result::<serde_json::Value>().await {
            Err(Error::InstanceFailed { failure, .. }) => failure,
            other => panic!("{} did not fail: {other:?}", self.id()),
        }
    }

    /// Waits until it has published a value.
    ///
    /// # Errors
    /// As [`Handle::wait_for_output`].
    pub async fn until_output<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        let what = self.named(&format!("output {key:?}"));
        self.inner.drive(&what, self.handle.wait_for_output(key)).await
    }

    /// Waits until it has this status, which it may already have. Every status in which an instance
    /// rests is seen; `running` may pass by unseen.
    pub async fn until_status(&self, status: Status) {
        let what = self.named(&format!("status {status}"));
        let has = async || (self.found().await? == status).then_some(());
        self.inner.until(&what, has).await;
    }

    /// Waits until a step, sleep or wait of the current run (`name`, `name#2`, `item[3].name`) has
    /// begun, which it may have long ago.
    pub async fn until_step_started(&self, step: &str) {
        let what = self.named(&format!("the start of step {step:?}"));
        self.inner.until(&what, async || self.step(step).await).await;
    }

    /// Waits until a step of the current run is settled: completed, failed for good or cancelled.
    /// Answers its record. That may have been long ago.
    pub async fn until_step(&self, step: &str) -> StepRecord {
        let settled = async || {
            let record = self.step(step).await?;
            let settled = matches!(
                record.status,
                StepStatus::Completed | StepStatus::Failed | StepStatus::Cancelled
            );
            settled.then_some(record)
        };
        self.inner.until(&self.named(&format!("step {step:?}")), settled).await
    }

    /// Waits until it has reached the wait of this step (`name`, `name#2`), and answers its record.
    /// It may have been met or have expired by now, if that was before the test asked.
    pub async fn until_wait(&self, step: &str) -> Wait {
        let reached = async || {
            let waits = self.handle.waits().await.unwrap();
            waits.into_iter().find(|wait| *wait.step == *step)
        };
        self.inner.until(&self.named(&format!("the wait of step {step:?}")), reached).await
    }

    /// Sends an event; `None` when its type is withheld. See [`Handle::send_event`].
    ///
    /// # Errors
    /// As [`Handle::send_event`].
    pub async fn send_event<T: Serialize + ?Sized>(
        &self,
        event_type: &str,
        payload: &T,
    ) -> Result<Option<Delivered>> {
        self.send(self.numbered(Outgoing::event(event_type).payload(payload))).await
    }

    /// Sends a signal; `None` when its name is withheld. See [`Handle::signal`].
    ///
    /// # Errors
    /// As [`Handle::send_event`].
    pub async fn signal<T: Serialize + ?Sized>(
        &self,
        name: &str,
        payload: &T,
    ) -> Result<Option<Delivered>> {
        self.send(self.numbered(Outgoing::signal(name).payload(payload))).await
    }

    /// Sends a message; `None` when its topic is withheld.
    ///
    /// # Errors
    /// As [`Handle::send_event`].
    pub async fn message<T: Serialize + ?Sized>(
        &self,
        topic: &str,
        payload: &T,
    ) -> Result<Option<Delivered>> {
        self.send(self.numbered(Outgoing::message(topic).payload(payload))).await
    }

    /// Sends something with everything that can be said about it; `None` when it is withheld.
    ///
    /// # Errors
    /// As [`Handle::send_event`].
    pub async fn send(&self, outgoing: Outgoing) -> Result<Option<Delivered>> {
        // In an earlier life it may have had its effect, which may have been the end.
        let again = self.inner.life.is_some();
        let outgoing = if again { outgoing.ignore_terminal() } else { outgoing };
        match self.inner.withheld.pass(self.id(), outgoing) {
            Some(outgoing) => self.handle.send(outgoing).await.map(Some),
            None => Ok(None),
        }
    }

    /// With an id that is the same whenever a test sends the same things in the same order.
    fn numbered(&self, outgoing: Outgoing) -> Outgoing {
        let number = self.inner.sent.fetch_add(1, Ordering::SeqCst) + 1;
        outgoing.id(&format!("sent-{number}"))
    }

    fn named(&self, what: &str) -> String {
        format!("{what} of {}", self.id())
    }

    /// Its status; `None` while it is yet to start.
    async fn found(&self) -> Option<Status> {
        match self.handle.status().await {
            Ok(status) => Some(status),
            Err(Error::InstanceNotFound { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    }

    async fn step(&self, name: &str) -> Option<StepRecord> {
        self.found().await?;
        let steps = self.handle.steps().await.unwrap();
        steps.into_iter().find(|step| *step.name == *name)
    }
}
