//! A store whose every call waits until the schedule executes it, and whose every answer and hint
//! waits until the schedule delivers it. What is executed is executed on a [`MemoryStore`], which
//! is the disk: it outlives the engine.

use std::fmt::Display;
use std::future::pending;
use std::sync::Arc;

use abide::history::Recorded;
use abide::lifecycle::Control;
use abide::metrics::{Census, Figures};
use abide::store::{
    Answer, Claimed, Commit, Committed, Due, Epoch, Hint, IfExists, Listener, Overview, Started,
    Store,
};
use abide::{
    Append, Buffered, Chunk, ChunkFilter, Delivered, Delivery, Document, DocumentKind, Filter,
    Instance, InstanceId, InstanceKey, Json, Listed, LogFilter, LogRetention, LogSpan, Logged,
    NewInstance, Output, Page, Publish, Published, Tail, Taker, Timestamp, Transition, Verdict,
    Wait, WaitEdit, WaitFilter,
};
use parking_lot::Mutex;

use super::sabotage::Sabotage;
use super::traffic::{Call, Traffic};
use crate::MemoryStore;

/// See the module. It serves one life of the engine.
pub(super) struct SimStore {
    pub(super) traffic: Arc<Mutex<Traffic>>,
    pub(super) life: u32,
    pub(super) sabotage: Sabotage,
}

impl SimStore {
    fn ask<T: Send + 'static>(
        &self,
        what: impl Display,
        writes: bool,
        verb: impl FnOnce(&MemoryStore) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let mut traffic = self.traffic.lock();
        if traffic.life != self.life {
            return Box::pin(pending());
        }
        let (call, told) = Call::new(what.to_string(), writes, verb);
        traffic.calls.push(call);
        Box::pin(async move {
            match told.await {
                Ok(answer) => answer,
                // The process died.
                Err(_) => pending().await,
            }
        })
    }

    fn write<T: Send + 'static>(
        &self,
        what: impl Display,
        verb: impl FnOnce(&MemoryStore) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        self.ask(what, true, verb)
    }

    fn read<T: Send + 'static>(
        &self,
        what: impl Display,
        verb: impl FnOnce(&MemoryStore) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        self.ask(what, false, verb)
    }
}

/// Has hints wait until the schedule delivers them.
struct Relay {
    traffic: Arc<Mutex<Traffic>>,
    life: u32,
    listener: Arc<dyn Listener>,
}

impl Listener for Relay {
    fn hint(&self, hint: Hint) {
        let mut traffic = self.traffic.lock();
        // Nobody who watches may depend on it, and it would follow every write.
        if traffic.life == self.life && !matches!(hint, Hint::Recorded) {
            traffic.hints.push_back((hint, Arc::clone(&self.listener)));
        }
    }
}

/// What a transition does, in a few words.
fn told(transition: &Transition) -> String {
    let Transition { park, pause, cancels, sends, publishes, takes, waits, children, end, .. } =
        transition;
    let mut told = vec![format!("{} entries", transition.entries.numbered())];
    told.extend(park.as_ref().map(|park| format!("parks {}", park.phase)));
    told.extend(pause.then(|| "pauses".to_owned()));
    told.extend(cancels.iter().map(|step| format!("cancels {step}")));
    told.extend(sends.iter().map(|send| send.step.to_string()));
    told.extend(publishes.iter().map(|publish| publish.step.to_string()));
    told.extend(takes.iter().map(|take| format!("takes {}", take.step)));
    told.extend(waits.iter().map(|wait| format!("waits {}", wait.step)));
    told.extend(children.iter().map(|_| "starts a child".to_owned()));
    told.extend(end.as_ref().map(|_| "ends".to_owned()));
    told.join(", ")
}

impl Store for SimStore {
    fn attach(&self, listener: Arc<dyn Listener>) -> Answer<()> {
        let relay = Relay { traffic: Arc::clone(&self.traffic), life: self.life, listener };
        self.read("attach", move |disk| disk.attach(Arc::new(relay)))
    }

    fn start(&self, new: Vec<NewInstance>, if_exists: IfExists) -> Answer<Vec<Started>> {
        let first = new.first().and_then(|new| new.first.as_ref()).map(told);
        let what = format!("start ({})", first.unwrap_or_default());
        self.write(what, move |disk| disk.start(new, if_exists))
    }

    fn commit(&self, commit: Commit) -> Answer<Committed> {
        let what = format!("commit {} ({})", commit.key.0, told(&commit.transition));
        let commit = self.sabotage.commit(commit);
        self.write(what, move |disk| disk.commit(commit))
    }

    fn claim(&self, key: InstanceKey) -> Answer<Option<Claimed>> {
        let (sabotage, traffic) = (self.sabotage, Arc::clone(&self.traffic));
        self.read(format!("claim {}", key.0), move |disk| {
            traffic.lock().deaf.remove(&key);
            sabotage.claim(disk.claim(key))
        })
    }

    fn release(&self, key: InstanceKey, epoch: Epoch) {
        drop(self.read(format!("release {}", key.0), move |disk| {
            disk.release(key, epoch);
            Box::pin(std::future::ready(Ok(())))
        }));
    }

    fn control(&self, id: &InstanceId, control: Control) -> Answer<Instance> {
        let id = id.clone();
        self.write(format!("control {id} {control:?}"), move |disk| disk.control(&id, control))
    }

    fn runnable(&self, after: InstanceKey, limit: usize) -> Answer<Vec<InstanceKey>> {
        self.read("runnable", move |disk| disk.runnable(after, limit))
    }

    fn due(&self, after: Due, until: Timestamp, limit: usize) -> Answer<Vec<Due>> {
        self.read("due", move |disk| disk.due(after, until, limit))
    }

    fn instance(&self, id: &InstanceId) -> Answer<Option<Instance>> {
        let id = id.clone();
        self.read(format!("instance {id}"), move |disk| disk.instance(&id))
    }

    fn instances(&self, filter: Filter, page: Page) -> Answer<Listed> {
        self.read("instances", move |disk| disk.instances(filter, page))
    }

    fn history(&self, id: &InstanceId, after: i64, limit: usize) -> Answer<Vec<Recorded>> {
        let id = id.clone();
        self.read(format!("history {id}"), move |disk| disk.history(&id, after, limit))
    }

    fn tail(&self, after: i64, limit: usize) -> Answer<Tail> {
        self.read(format!("tail after {after}"), move |disk| disk.tail(after, limit))
    }

    fn append(&self, append: Append) -> Answer<Committed> {
        let Append { key, chunk, .. } = &append;
        let what = format!("append {} {} {}.{}", key.0, chunk.step, chunk.attempt, chunk.index);
        self.write(what, move |disk| disk.append(append))
    }

    fn chunks(&self, id: &InstanceId, filter: ChunkFilter, limit: usize) -> Answer<Vec<Chunk>> {
        let id = id.clone();
        self.read(format!("chunks {id}"), move |disk| disk.chunks(&id, filter, limit))
    }

    fn deliver(&self, delivery: Delivery) -> Answer<Delivered> {
        let sabotage = self.sabotage;
        self.write(format!("deliver {} to {}", delivery.id, delivery.to), move |disk| {
            sabotage.deliver(disk, delivery)
        })
    }

    fn fall_due(&self, keys: Vec<InstanceKey>) -> Answer<()> {
        let listed: Vec<String> = keys.iter().map(|key| key.0.to_string()).collect();
        let sabotage = self.sabotage;
        self.write(format!("fall due {}", listed.join(" ")), move |disk| {
            sabotage.fall_due(disk, keys)
        })
    }

    fn waits(&self, filter: WaitFilter) -> Answer<Vec<Wait>> {
        self.read("waits", move |disk| disk.waits(filter))
    }

    fn edit_wait(&self, id: &str, edit: WaitEdit) -> Answer<Wait> {
        let id = id.to_owned();
        self.write("edit wait", move |disk| disk.edit_wait(&id, edit))
    }

    fn buffer(&self, id: &InstanceId) -> Answer<Vec<Buffered>> {
        let id = id.clone();
        self.read(format!("buffer {id}"), move |disk| disk.buffer(&id))
    }

    fn overview(&self, id: &InstanceId) -> Answer<Option<Overview>> {
        let id = id.clone();
        self.read(format!("overview {id}"), move |disk| disk.overview(&id))
    }

    fn outputs(&self, id: &InstanceId) -> Answer<Vec<Output>> {
        let id = id.clone();
        self.read(format!("outputs {id}"), move |disk| disk.outputs(&id))
    }

    fn publish(&self, publish: Publish) -> Answer<Verdict> {
        let id = publish.event.id.clone().unwrap_or_default();
        let sabotage = self.sabotage;
        self.write(format!("publish {id}"), move |disk| sabotage.publish(disk, publish))
    }

    fn log(&self, filter: LogFilter) -> Answer<Vec<Logged>> {
        self.read("log", move |disk| disk.log(filter))
    }

    fn log_span(&self) -> Answer<LogSpan> {
        self.read("log span", |disk| disk.log_span())
    }

    fn takers(&self, seq: i64) -> Answer<Vec<Taker>> {
        self.read(format!("takers of {seq}"), move |disk| disk.takers(seq))
    }

    fn overheard(&self, wait: &str, limit: usize) -> Answer<Vec<Published>> {
        let wait = wait.to_owned();
        self.read(format!("overheard by {wait}"), move |disk| disk.overheard(&wait, limit))
    }

    fn prune_log(&self, retention: LogRetention, limit: usize) -> Answer<usize> {
        self.write("prune the log", move |disk| disk.prune_log(retention, limit))
    }

    fn documents(&self, kind: DocumentKind) -> Answer<Vec<Document>> {
        self.read(format!("documents {kind}"), move |disk| disk.documents(kind))
    }

    fn document(
        &self,
        kind: DocumentKind,
        name: &str,
        version: Option<u32>,
    ) -> Answer<Option<Document>> {
        let name = name.to_owned();
        self.read(format!("document {name}"), move |disk| disk.document(kind, &name, version))
    }

    fn put_document(&self, kind: DocumentKind, name: &str, body: Json) -> Answer<Document> {
        let name = name.to_owned();
        self.write(format!("put {name}"), move |disk| disk.put_document(kind, &name, body))
    }

    fn remove_document(&self, kind: DocumentKind, name: &str) -> Answer<bool> {
        let name = name.to_owned();
        self.write(format!("remove {name}"), move |disk| disk.remove_document(kind, &name))
    }

    fn prune(&self, ended_before: Timestamp, limit: usize) -> Answer<usize> {
        self.write("prune", move |disk| disk.prune(ended_before, limit))
    }

    fn census(&self) -> Answer<Census> {
        self.read("census", MemoryStore::census)
    }

    /// Not part of any schedule: nothing depends on it.
    fn figures(&self) -> Figures {
        Figures::default()
    }
}
