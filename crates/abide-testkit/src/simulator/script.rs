//! What the outside does to an engine: a few clients, each making one call after another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use abide::prelude::*;
use abide::{Clock, Delivered, Instance, Trigger, Verdict, WaitStatus};
use parking_lot::Mutex;

/// What a client asks for.
#[derive(Clone)]
pub(super) enum Ask {
    /// To start an instance of a workflow.
    Start { workflow: &'static str, id: String },
    /// To send something, by this id.
    Send { to: String, id: String, sent: Box<Outgoing>, delay: Option<Duration> },
    /// To pause an instance.
    Pause(String),
    /// To resume it.
    Resume(String),
    /// To end it.
    Terminate(String),
    /// To begin it anew, whole or from a step.
    Restart(String, Option<&'static str>),
    /// To publish an event whose payload is its id, once an instance is there, if one is named.
    Publish { event_type: &'static str, id: String, knows: Option<String> },
    /// To register a trigger.
    PutTrigger(&'static str, Box<Trigger>),
    /// To move the deadline of its oldest open wait to so long from now.
    EditWait(String, Duration),
}

impl Ask {
    pub(super) fn start(workflow: &'static str, id: &str) -> Self {
        Self::Start { workflow, id: id.to_owned() }
    }

    /// An event whose payload is its id.
    pub(super) fn event(to: &str, name: &str, id: &str) -> Self {
        Self::send(to, id, Outgoing::event(name))
    }

    /// A signal whose payload is its id.
    pub(super) fn signal(to: &str, name: &str, id: &str) -> Self {
        Self::send(to, id, Outgoing::signal(name))
    }

    pub(super) fn send(to: &str, id: &str, sent: Outgoing) -> Self {
        let sent = Box::new(sent.id(id).payload(id));
        Self::Send { to: to.to_owned(), id: id.to_owned(), sent, delay: None }
    }

    /// Something that is not to be seen for so long.
    pub(super) fn delayed(self, delay: Duration) -> Self {
        match self {
            Self::Send { to, id, sent, .. } => {
                let sent = Box::new(sent.delay(delay));
                Self::Send { to, id, sent, delay: Some(delay) }
            }
            other => other,
        }
    }

    /// An event for whoever wants it, published once this instance is there.
    pub(super) fn publish(knows: &str, event_type: &'static str, id: &str) -> Self {
        Self::Publish { event_type, id: id.to_owned(), knows: Some(knows.to_owned()) }
    }

    /// The instance that must be there.
    pub(super) fn about(&self) -> Option<&str> {
        match self {
            Self::Start { id, .. } => Some(id),
            Self::Send { to, .. } => Some(to),
            Self::Pause(id) | Self::Resume(id) | Self::Terminate(id) => Some(id),
            Self::Restart(id, _) | Self::EditWait(id, _) => Some(id),
            Self::Publish { knows, .. } => knows.as_deref(),
            Self::PutTrigger(..) => None,
        }
    }

    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Start { workflow, id } => format!("start {id} ({workflow})"),
            Self::Send { to, id, delay: None, .. } => format!("send {id} to {to}"),
            Self::Send { to, id, delay: Some(delay), .. } => {
                format!("send {id} to {to} with {delay:?} delay")
            }
            Self::Pause(id) => format!("pause {id}"),
            Self::Resume(id) => format!("resume {id}"),
            Self::Terminate(id) => format!("terminate {id}"),
            Self::Restart(id, None) => format!("restart {id}"),
            Self::Restart(id, Some(step)) => format!("restart {id} from {step}"),
            Self::Publish { id, .. } => format!("publish {id}"),
            Self::PutTrigger(name, _) => format!("put trigger {name}"),
            Self::EditWait(id, by) => format!("move the deadline of {id} to {by:?} from now"),
        }
    }

    /// Whether a client that never got an answer may ask again: whatever has an id or a state that
    /// makes the second time harmless.
    fn may_be_repeated(&self) -> bool {
        !matches!(self, Self::Restart(..))
    }

    async fn make(self, engine: Engine, clock: Arc<dyn Clock>) -> Result<Told> {
        let handle = engine.get(&InstanceId::new(self.about().unwrap_or("nobody"))?);
        match self {
            Self::Publish { event_type, id, .. } => {
                let event = Event::new(event_type, id.clone()).id(id).source("outside");
                engine.publish(event).await.map(Told::Published)
            }
            Self::PutTrigger(name, trigger) => {
                engine.put_trigger(name, *trigger).await.map(|_| Told::Nothing)
            }
            Self::Start { workflow, id } => {
                engine.start(workflow, Start::new(&()).id(id)).await.map(|_| Told::Started)
            }
            Self::Send { sent, .. } => handle.send(*sent).await.map(Told::Delivered),
            Self::Pause(_) => handle.pause().await.map(Told::changed),
            Self::Resume(_) => handle.resume().await.map(Told::changed),
            Self::Terminate(_) => handle.terminate(Terminate::default()).await.map(Told::changed),
            Self::Restart(_, None) => handle.restart().await.map(Told::changed),
            Self::Restart(_, Some(step)) => handle.restart_from(step).await.map(Told::changed),
            Self::EditWait(_, by) => {
                let mut waits = handle.waits().await?;
                waits.retain(|wait| wait.status == WaitStatus::Active);
                let Some(open) = waits.first() else { return Ok(Told::Nothing) };
                let at = clock.now().after(by);
                handle.edit_wait(&open.id, Some(at)).await.map(|_| Told::Nothing)
            }
        }
    }
}

/// What a client was told.
#[derive(Clone, Debug)]
pub(super) enum Told {
    /// The instance is there.
    Started,
    /// What became of what was sent.
    Delivered(Delivered),
    /// What became of what was published.
    Published(Verdict),
    /// The instance as it was then.
    Changed(Box<Instance>),
    /// Nothing that would bind anybody.
    Nothing,
}

impl Told {
    fn changed(instance: Instance) -> Self {
        Self::Changed(Box::new(instance))
    }
}

/// One call that was answered.
#[derive(Clone)]
pub(super) struct Acknowledged {
    pub(super) ask: Ask,
    pub(super) told: Told,
}

/// Clients that make their calls independently of each other.
#[derive(Default)]
pub(super) struct Script {
    lanes: Vec<Lane>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Lane {
    asks: VecDeque<Ask>,
    /// The first of them was made and not answered.
    is_flying: bool,
}

#[derive(Default)]
struct Shared {
    /// By lane, not yet looked at.
    answers: Vec<(usize, Result<Told>)>,
}

impl Script {
    /// One more client.
    pub(super) fn client(mut self, asks: impl IntoIterator<Item = Ask>) -> Self {
        self.lanes.push(Lane { asks: asks.into_iter().collect(), is_flying: false });
        self
    }

    pub(super) fn is_over(&self) -> bool {
        self.lanes.iter().all(|lane| lane.asks.is_empty())
    }

    /// The calls that could be made now, each with its client.
    pub(super) fn possible(&self, exists: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
        let lanes = self.lanes.iter().enumerate().filter(|(_, lane)| !lane.is_flying);
        let asks = lanes.filter_map(|(place, lane)| Some((place, lane.asks.front()?)));
        let may = |ask: &Ask| matches!(ask, Ask::Start { .. }) || ask.about().is_none_or(&exists);
        asks.filter(|(_, ask)| may(ask)).map(|(place, ask)| (place, ask.in_words())).collect()
    }

    /// The next call of a client, as a task.
    pub(super) fn make(
        &mut self,
        client: usize,
        engine: Engine,
        clock: Arc<dyn Clock>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let lane = &mut self.lanes[client];
        lane.is_flying = true;
        let ask = lane.asks[0].clone();
        let shared = Arc::clone(&self.shared);
        async move {
            let told = ask.make(engine, clock).await;
            shared.lock().answers.push((client, told));
        }
    }

    /// The process died: nobody will be answered. Clients ask again what they may.
    pub(super) fn crash(&mut self) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.is_flying) {
            lane.is_flying = false;
            if !lane.asks[0].may_be_repeated() {
                lane.asks.pop_front();
            }
        }
    }

    /// What clients were told since the last time.
    pub(super) fn acknowledged(&mut self) -> Vec<Acknowledged> {
        let answers = std::mem::take(&mut self.shared.lock().answers);
        let mut acknowledged = Vec::new();
        for (client, answer) in answers {
            let lane = &mut self.lanes[client];
            lane.is_flying = false;
            let again = match &answer {
                Err(Error::StoreUnavailable { .. }) => true,
                Err(Error::OutcomeUnknown { .. }) => lane.asks[0].may_be_repeated(),
                _ => false,
            };
            if again {
                continue;
            }
            let ask = lane.asks.pop_front().unwrap();
            acknowledged.extend(answer.ok().map(|told| Acknowledged { ask, told }));
        }
        acknowledged
    }
}
