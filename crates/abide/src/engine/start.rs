//! Starting instances: polled ahead, committed, then let loose.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;

use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::id::InstanceId;
use crate::instance::NewInstance;
use crate::json::Json;
use crate::run::{NewRun, OpId, Run};
use crate::store::{IfExists, Started};
use crate::time::Timestamp;
use crate::trace;
use crate::workflow::Workflow;

use super::handle::Handle;
use super::{Env, Inner};

/// The most instances one call may start.
const MAX_BATCH: usize = 100;

/// How to start an instance.
#[derive(Clone, Debug)]
#[must_use = "pass it to Engine::start"]
pub struct Start {
    input: Result<Json>,
    id: Option<Result<InstanceId>>,
    if_exists: IfExists,
    start_at: Option<Timestamp>,
    timeout: Option<Result<Duration>>,
    correlation_id: Option<String>,
    tags: Vec<String>,
    consumes: Option<i64>,
}

impl Start {
    /// With this input.
    pub fn new<T: Serialize + ?Sized>(input: &T) -> Self {
        Self {
            input: Json::encode(input),
            id: None,
            if_exists: IfExists::Error,
            start_at: None,
            timeout: None,
            correlation_id: None,
            tags: Vec::new(),
            consumes: None,
        }
    }

    /// With this id; generated when not given. Choose it yourself to make a retry harmless.
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.id = Some(InstanceId::new(id));
        self
    }

    /// What to do when the id is taken. A batch goes by its first start.
    pub fn if_exists(mut self, if_exists: IfExists) -> Self {
        self.if_exists = if_exists;
        self
    }

    /// Not before this moment.
    pub fn start_at(mut self, at: Timestamp) -> Self {
        self.start_at = Some(at);
        self
    }

    /// Fails with `WORKFLOW_TIMEOUT` when it takes longer.
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        self.timeout = Some(timeout.into_duration().map_err(|refused| Error::Invalid {
            what: "instance timeout".into(),
            message: refused.to_string(),
        }));
        self
    }

    /// What ties it to events and other instances.
    pub fn correlation_id(mut self, id: impl Into<String>) -> Self {
        self.correlation_id = Some(id.into());
        self
    }

    /// It was started by this published event.
    pub(super) fn consumes(mut self, seq: i64) -> Self {
        self.consumes = Some(seq);
        self
    }

    /// A label to find it by.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    fn instance(self, env: &Env, workflow: &Workflow) -> Result<NewInstance> {
        let input = self.input?;
        let limit = env.config.payload_max;
        if input.size() > limit {
            return Err(Error::TooLarge { what: "the input".into(), size: input.size(), limit });
        }
        let input = workflow.admit(input)?;
        let id = self.id.unwrap_or_else(|| Ok(env.generate_id()))?;
        Ok(NewInstance {
            trace: env.begins_in(trace::current(), &id, 1),
            id,
            workflow: Arc::clone(&workflow.name),
            version: workflow.version,
            input,
            correlation_id: self.correlation_id,
            tags: self.tags,
            start_at: self.start_at,
            timeout: self.timeout.transpose()?,
            consumes: self.consumes,
            first: None,
        })
    }
}

/// An instance polled ahead of its own creation.
struct Launch {
    run: Run,
    held: Vec<OpId>,
}

pub(super) async fn start_all(
    inner: &Arc<Inner>,
    workflow: &str,
    starts: Vec<Start>,
) -> Result<Vec<Handle>> {
    if starts.len() > MAX_BATCH {
        let message = format!("{} instances, at most {MAX_BATCH} may start at once", starts.len());
        return Err(Error::Invalid { what: "batch".into(), message });
    }
    if inner.is_shutting_down() {
        return Err(Error::ShutDown);
    }
    let workflow = &*inner.env.registry.latest(workflow)?;
    let if_exists = starts.first().map_or(IfExists::Error, |start| start.if_exists);
    let mut new = Vec::with_capacity(starts.len());
    let mut launches = Vec::with_capacity(starts.len());
    for start in starts {
        let mut instance = start.instance(&inner.env, workflow)?;
        launches.push(poll_ahead(inner, workflow, &mut instance)?);
        new.push(instance);
    }
    let ids: Vec<_> = new.iter().map(|instance| instance.id.clone()).collect();
    let timeouts: Vec<_> = new.iter().map(|instance| instance.timeout).collect();
    // In a task of its own: a caller who stops waiting must not leave a created instance idle.
    let (tell, told) = oneshot::channel();
    let inner_too = Arc::clone(inner);
    // Before it is asked for: the store tells of what happens to a new instance before it answers.
    let starting = inner.residents.starting();
    let create = inner.store.start(new, if_exists);
    let doubtful = ids.clone();
    tokio::spawn(async move {
        match create.await {
            Err(error) => {
                inner_too.started(&starting);
                let unknown = matches!(error, Error::OutcomeUnknown { .. });
                // Whoever asked may have stopped waiting.
                let _ = tell.send(Err(error));
                if unknown {
                    look_for(&inner_too, &doubtful).await;
                }
            }
            Ok(started) => {
                let_loose(&inner_too, launches, &timeouts, &started, tell);
                inner_too.started(&starting);
            }
        }
    });
    let keys = told.await.map_err(|_| Error::ShutDown)??;
    let handles = ids.into_iter().zip(keys);
    Ok(handles.map(|(id, key)| Handle::new(inner, id, Some(key))).collect())
}

/// Polls a new instance's workflow, unless it begins later, so that what it asks for first rides in
/// the commit that creates it.
fn poll_ahead(
    inner: &Arc<Inner>,
    workflow: &Workflow,
    new: &mut NewInstance,
) -> Result<Option<Launch>> {
    let of = NewRun { workflow, id: &new.id, run: 1, input: &new.input };
    let mut run = Run::fresh(inner, &of, new.trace)?;
    if new.start_at.is_some_and(|at| at > inner.env.clock.now()) {
        return Ok(None);
    }
    run.set_timeout_at(new.timeout.map(|timeout| inner.env.clock.now().after(timeout)));
    let (first, held) = run.first_transition();
    new.first = Some(first);
    new.start_at = None;
    Ok(Some(Launch { run, held }))
}

/// Nobody knows whether these were created. Those that were are claimed by nobody who runs them.
async fn look_for(inner: &Inner, ids: &[InstanceId]) {
    for id in ids {
        match inner.store.instance(id).await {
            Ok(Some(found)) if !found.phase.is_terminal() => inner.wake(found.key),
            Ok(_) => {}
            Err(error) => tracing::warn!(instance = %id, %error, "a start stays in doubt"),
        }
    }
}

/// Runs what was created, each in a task of its own that is no larger than it must be: it may be
/// parked for long. The caller hears of it once every instance is in memory.
fn let_loose(
    inner: &Arc<Inner>,
    launches: Vec<Option<Launch>>,
    timeouts: &[Option<Duration>],
    started: &[Started],
    tell: oneshot::Sender<Result<Vec<crate::id::InstanceKey>>>,
) {
    let mut keys = Vec::with_capacity(started.len());
    let mut runs = Vec::new();
    for ((launch, timeout), started) in launches.into_iter().zip(timeouts).zip(started) {
        match (started, launch) {
            (Started::Running { key, epoch, created_at }, Some(mut launch)) => {
                keys.push(*key);
                if launch.run.has_ended() {
                    continue;
                }
                launch.run.set_timeout_at(timeout.map(|timeout| created_at.after(timeout)));
                launch.run.started(*key, *epoch, *created_at, launch.held);
                inner.residents.enter(*key, launch.run.resident());
                runs.push(launch.run);
            }
            (Started::Running { key, .. }, None) => keys.push(*key),
            (Started::Queued(key), _) => {
                keys.push(*key);
                inner.wake(*key);
            }
            (Started::Existing(key), _) => keys.push(*key),
        }
    }
    // Whoever asked may have stopped waiting.
    let _ = tell.send(Ok(keys));
    for run in runs {
        tokio::spawn(run);
    }
}
