//! A handle on one instance.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chunk::StreamPosition;
use crate::context::ContextMap;
use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::event::{Buffered, Delivered};
use crate::failure::Failure;
use crate::history::{EntryKind, Recorded};
use crate::id::{InstanceId, InstanceKey};
use crate::instance::{Instance, Output};
use crate::json::Json;
use crate::lifecycle::{Control, Terminate};
use crate::listing::WaitFilter;
use crate::status::Status;
use crate::steps::{StepRecord, fold};
use crate::store::{Ended, Overview};
use crate::terms;
use crate::time::Timestamp;
use crate::wait::{Wait, WaitEdit};

use super::Inner;
use super::feed::{Frames, Watch, Watched};
use super::outgoing::{self, Outgoing};

/// A handle on one instance: its result, its status, its history, its life. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    inner: Arc<Inner>,
    id: InstanceId,
    /// Known when this engine started the instance.
    key: Option<InstanceKey>,
}

impl Handle {
    pub(super) fn new(inner: &Arc<Inner>, id: InstanceId, key: Option<InstanceKey>) -> Self {
        Self { inner: Arc::clone(inner), id, key }
    }

    /// The instance's id.
    #[must_use]
    pub fn id(&self) -> &InstanceId {
        &self.id
    }

    /// Waits until the instance has ended, and reads its result.
    ///
    /// # Errors
    /// [`Error::InstanceFailed`] or [`Error::InstanceTerminated`] when it ended so,
    /// [`Error::InstanceNotFound`], a result that is not a `T`, or the store's own.
    pub async fn result<T: DeserializeOwned>(&self) -> Result<T> {
        let ended = self.ended().await?;
        match ended.status {
            Status::Completed => ended.output.unwrap_or_else(Json::null).decode(),
            Status::Terminated => {
                let reason = ended.error.map_or_else(String::new, |failure| failure.message);
                Err(Error::InstanceTerminated { id: self.id.clone(), reason })
            }
            _ => {
                let unknown = || Failure::new("WORKFLOW_FAILED", "no reason was recorded");
                let failure = ended.error.unwrap_or_else(unknown);
                Err(Error::InstanceFailed { id: self.id.clone(), failure })
            }
        }
    }

    /// Waits until the instance has ended, however it did.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`], [`Error::ShutDown`] when the engine stops before that, or the
    /// store's own.
    pub async fn ended(&self) -> Result<Ended> {
        let waiter = self.inner.waiters.add(self.id.clone());
        // What is in memory will tell us. Anything else may have ended before we asked.
        if !self.key.is_some_and(|key| self.inner.residents.is_live(key)) {
            let instance = self.instance().await;
            if !matches!(&instance, Ok(instance) if !instance.phase.is_terminal()) {
                let Instance { key, id, output, error, phase, .. } = instance?;
                return Ok(Ended { key, id, status: phase.status(false), output, error });
            }
        }
        if self.inner.is_killed() {
            // Asked after everybody who waits was told.
            self.inner.waiters.forget_all();
        }
        waiter.told().await.ok_or_else(|| self.inner.gone())
    }

    /// Waits until the instance rests: it has ended, is paused, or waits or sleeps with everything
    /// that came before seen. After a [`Handle::send_event`], that is when the workflow has dealt with
    /// the event as far as it can.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`], [`Error::ShutDown`] when the engine stops before that, or the
    /// store's own.
    pub async fn settled(&self) -> Result<Status> {
        let waiter = self.inner.settling.add(self.id.clone());
        // What is at work in memory will tell us. Anything else may rest already.
        if !self.key.is_some_and(|key| self.inner.residents.is_busy(key)) {
            let status = self.status().await;
            if !matches!(status, Ok(Status::Running)) {
                return status;
            }
        }
        if self.inner.is_killed() {
            // Asked after everybody who waits was told.
            self.inner.settling.forget_all();
        }
        waiter.told().await.ok_or_else(|| self.inner.gone())
    }

    /// The instance, the history of its current run and its waits, all of the same moment.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn overview(&self) -> Result<Overview> {
        let found = self.inner.store.overview(&self.id).await?;
        found.ok_or_else(|| Error::InstanceNotFound { id: self.id.clone() })
    }

    /// Everything the store knows about the instance.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn instance(&self) -> Result<Instance> {
        let found = self.inner.store.instance(&self.id).await?;
        found.ok_or_else(|| Error::InstanceNotFound { id: self.id.clone() })
    }

    /// Its status.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn status(&self) -> Result<Status> {
        Ok(self.instance().await?.status())
    }

    /// What happened to it, in order.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn history(&self) -> Result<Vec<Recorded>> {
        const PAGE: usize = 1000;
        let mut history = Vec::new();
        loop {
            let after = history.last().map_or(0, |last: &Recorded| last.seq);
            let mut page = self.history_page(after, PAGE).await?;
            let full = page.len() == PAGE;
            history.append(&mut page);
            if !full {
                return Ok(history);
            }
        }
    }

    /// A page of what happened, after a number.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn history_page(&self, after: i64, limit: usize) -> Result<Vec<Recorded>> {
        self.inner.store.history(&self.id, after, limit).await
    }

    /// Watches the instance: its history after a number, then whatever is recorded as it happens, each
    /// entry once and in order. Ends once the instance has ended and everything was given.
    ///
    /// A reader is served from the store at its own pace: a slow one misses nothing and holds up nobody. Whoever comes
    /// back with the number of the last entry that it was given gets exactly the rest, also after the end.
    /// Unknown instances are [`Error::InstanceNotFound`]; a stopping engine ends it with [`Error::ShutDown`].
    pub fn watch(&self, after: i64) -> Watch {
        Watch::new(&self.inner, &self.id, after)
    }

    /// Waits for an update of this name ([`crate::Cx::emit`]), and reads what it said: the first one, which may
    /// have come already.
    ///
    /// # Errors
    /// [`Error::NotRunning`] when the instance ends without, a value that is not a `T`, or as
    /// [`Handle::watch`].
    pub async fn wait_for_update<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let mut watch = self.watch(0);
        while let Some(watched) = watch.next().await {
            if let Watched::Recorded(Recorded { entry, .. }) = watched?
                && entry.entry == EntryKind::Update
                && entry.name.as_deref() == Some(name)
            {
                return entry.payload.unwrap_or_else(Json::null).decode();
            }
        }
        let status = self.status().await?;
        Err(Error::NotRunning { id: self.id.clone(), status })
    }

    /// Reads a streaming step ([`crate::Cx::stream_step`]) as it is stored, from the beginning or after a place
    /// that was given before.
    ///
    /// It may be asked for before the step has begun, while it runs, or when all is over, and reads the
    /// same. When an attempt fails and another begins, [`FrameKind::Rollback`] says that what was given is void.
    /// The last frame is [`FrameKind::Done`], once the result is stored, or [`FrameKind::Failed`]. Errors are
    /// [`Error::InstanceNotFound`], [`Error::StepNotFound`] when the instance ended without it,
    /// [`Error::Invalid`] when it is no streaming step, [`Error::ShutDown`], and the store's own.
    ///
    /// [`FrameKind::Rollback`]: crate::FrameKind::Rollback
    /// [`FrameKind::Done`]: crate::FrameKind::Done
    /// [`FrameKind::Failed`]: crate::FrameKind::Failed
    pub fn step_stream(&self, step: &str, after: Option<StreamPosition>) -> Frames {
        Frames::of_step(&self.inner, &self.id, step, after)
    }

    /// Reads all streaming steps as they are stored, one frame at a time. Ends once the instance has ended
    /// and everything was given.
    pub fn streams(&self) -> Frames {
        Frames::of_all(&self.inner, &self.id)
    }

    /// The steps of the current run, in order of start.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn steps(&self) -> Result<Vec<StepRecord>> {
        Ok(fold(&self.history().await?))
    }

    /// Sends an event.
    ///
    /// An event that comes **before** its wait is reached is kept, unless its declaration says
    /// otherwise: by default the last one of its type wins, and replaces the payload and the time
    /// of the one before. A wait that finds it there is met at once and does not suspend. A wait
    /// that is open is fulfilled at once, and so is every other one of
    /// the instance that hears it. The answer says how many were, and whether it was kept.
    ///
    /// # Errors
    /// [`Error::NotRunning`] when the instance has ended, naming how; [`Error::EventInvalid`],
    /// [`Error::BufferFull`], [`Error::InstanceNotFound`], or the store's own.
    pub async fn send_event<T: Serialize + ?Sized>(
        &self,
        event_type: &str,
        payload: &T,
    ) -> Result<Delivered> {
        self.send(Outgoing::event(event_type).payload(payload)).await
    }

    /// Sends a signal: queued, and met by exactly one wait.
    ///
    /// # Errors
    /// As [`Handle::send_event`].
    pub async fn signal<T: Serialize + ?Sized>(
        &self,
        name: &str,
        payload: &T,
    ) -> Result<Delivered> {
        self.send(Outgoing::signal(name).payload(payload)).await
    }

    /// Sends an event, a signal or a message with everything that can be said about it.
    ///
    /// # Errors
    /// As [`Handle::send_event`].
    pub async fn send(&self, outgoing: Outgoing) -> Result<Delivered> {
        outgoing::send(&self.inner, &self.id, outgoing).await
    }

    /// What it accepted and has not consumed.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn buffer(&self) -> Result<Vec<Buffered>> {
        self.inner.store.buffer(&self.id).await
    }

    /// What it waits or waited for, oldest first.
    ///
    /// # Errors
    /// The store's own.
    pub async fn waits(&self) -> Result<Vec<Wait>> {
        let filter = WaitFilter { instance: Some(self.id.clone()), ..WaitFilter::default() };
        self.inner.store.waits(filter).await
    }

    /// Gives an open wait (by the id of its record) another deadline, or none.
    ///
    /// # Errors
    /// [`Error::SubscriptionNotFound`], [`Error::InvalidTransition`] when it is no longer open, or
    /// the store's own.
    pub async fn edit_wait(&self, id: &str, timeout_at: Option<Timestamp>) -> Result<Wait> {
        self.edit_wait_and_filter(id, Some(timeout_at), None).await
    }

    /// Gives an open wait (by the id of its record) another filter, or none. It knows the context as
    /// it is now, and the wait is offered what is already there.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the position of what is wrong, [`Error::SubscriptionNotFound`],
    /// [`Error::InvalidTransition`] when it is no longer open, or the store's own.
    pub async fn edit_filter(&self, id: &str, filter: Option<&str>) -> Result<Wait> {
        self.edit_wait_and_filter(id, None, Some(filter)).await
    }

    /// [`Handle::edit_wait`] and [`Handle::edit_filter`] at once: both or, when one is refused, none.
    /// What is not given stays.
    ///
    /// # Errors
    /// As those.
    pub async fn edit_wait_and_filter(
        &self,
        id: &str,
        timeout_at: Option<Option<Timestamp>>,
        filter: Option<Option<&str>>,
    ) -> Result<Wait> {
        let filter = match filter {
            None => None,
            Some(None) => Some(None),
            Some(Some(text)) => {
                let filter = terms::expression("filter", text, [])?;
                let instance = self.instance().await?;
                Some(Some(ContextMap::of(&instance)?.fold(&self.id, &filter, &[])?))
            }
        };
        self.inner.store.edit_wait(id, WaitEdit { timeout_at, filter }).await
    }

    /// Everything it published.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn outputs(&self) -> Result<Vec<Output>> {
        self.inner.store.outputs(&self.id).await
    }

    /// A value it published; `None` when it has not.
    ///
    /// # Errors
    /// When it is not a `T`, [`Error::InstanceNotFound`], or the store's own.
    pub async fn output<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let outputs = self.outputs().await?;
        let found = outputs.into_iter().find(|output| *output.key == *key);
        found.map(|output| output.value.decode()).transpose()
    }

    /// Waits until it has published a value.
    ///
    /// # Errors
    /// As [`Handle::output`], [`Error::NotRunning`] when it ends without, and [`Error::ShutDown`] when
    /// the engine stops before that.
    pub async fn wait_for_output<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        let waiter = self.inner.output_waiters.add((self.id.clone(), key.into()));
        if let Some(value) = self.output(key).await? {
            return Ok(value);
        }
        tokio::select! {
            value = waiter.told() => value.ok_or_else(|| self.inner.gone())?.decode(),
            ended = self.ended() => {
                let Ended { id, status, .. } = ended?;
                // It may have set it with its last commit.
                self.output(key).await?.ok_or(Error::NotRunning { id, status })
            }
        }
    }

    /// Pauses: what runs now finishes and is recorded, nothing new begins.
    ///
    /// # Errors
    /// [`Error::InvalidTransition`] when it is paused or has ended, [`Error::InstanceNotFound`], or
    /// the store's own.
    pub async fn pause(&self) -> Result<Instance> {
        self.control(Control::Pause).await
    }

    /// Resumes a paused instance.
    ///
    /// # Errors
    /// [`Error::InvalidTransition`] when it is not paused, [`Error::InstanceNotFound`], or the
    /// store's own.
    pub async fn resume(&self) -> Result<Instance> {
        self.control(Control::Resume).await
    }

    /// Has it looked at, at once or after a delay: for what was sent without waking it. Nothing else
    /// needs this, whatever happens to an instance wakes it.
    ///
    /// # Errors
    /// [`Error::InvalidTransition`] when it has ended, a delay that is none,
    /// [`Error::InstanceNotFound`], or the store's own.
    pub async fn wake(&self, delay: impl IntoDuration) -> Result<Instance> {
        let delay = delay.into_duration().map_err(|refused| Error::Invalid {
            what: "delay".into(),
            message: refused.to_string(),
        })?;
        let at = (!delay.is_zero()).then(|| self.inner.env.clock.now().after(delay));
        self.control(Control::Wake { at }).await
    }

    /// Ends it for good.
    ///
    /// # Errors
    /// [`Error::InvalidTransition`] when it has ended, [`Error::InstanceNotFound`], or the store's
    /// own.
    pub async fn terminate(&self, how: Terminate) -> Result<Instance> {
        self.control(Control::Terminate(how)).await
    }

    /// Begins a new run with the same input.
    ///
    /// # Errors
    /// [`Error::InstanceNotFound`] or the store's own.
    pub async fn restart(&self) -> Result<Instance> {
        self.control(Control::Restart { from_step: None }).await
    }

    /// Begins a new run that keeps what was settled before a step (`name` or `name#n`). Everything
    /// later, in any branch, may run again.
    ///
    /// # Errors
    /// [`Error::StepNotFound`], [`Error::InstanceNotFound`] or the store's own.
    pub async fn restart_from(&self, step: &str) -> Result<Instance> {
        self.control(Control::Restart { from_step: Some(step.to_owned()) }).await
    }

    async fn control(&self, control: Control) -> Result<Instance> {
        self.inner.store.control(&self.id, control).await
    }
}
