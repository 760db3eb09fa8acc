//! A store on the bench: the verbs in the words of a test, and the hints by name.

use std::collections::HashMap;
use std::sync::Arc;

use abide::history::Recorded;
use abide::lifecycle::Control;
use abide::store::{
    Claimed, Commit, Committed, Due, Epoch, Hint, IfExists, Listener, Started, Store,
};
use abide::{
    Buffered, Clock, Filter, Instance, InstanceKey, NewInstance, Output, Page, Result, Terminate,
    Timestamp, Transition, Wait,
};

use crate::ManualClock;
use crate::fixture::{id, instance};
use crate::listener::Recorder;

mod events;
mod log;

pub(crate) use log::{ids, outcome};

/// A store under test, with the clock it was made with and somebody who listens.
pub struct Lab {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Its clock.
    pub clock: ManualClock,
    heard: Arc<Recorder>,
}

/// Whoever claimed a run of an instance.
#[derive(Clone, Copy, Debug)]
pub struct Runner {
    /// The instance.
    pub key: InstanceKey,
    /// The run.
    pub run: u32,
    /// The claim.
    pub epoch: Epoch,
}

/// One instance and everything that can be seen of it.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// The instance.
    pub instance: Instance,
    /// Its history.
    pub history: Vec<Recorded>,
    /// Its waits.
    pub waits: Vec<Wait>,
    /// What it keeps for later.
    pub buffer: Vec<Buffered>,
    /// Its outputs.
    pub outputs: Vec<Output>,
}

impl Lab {
    /// Attaches a listener to a store.
    pub async fn new(store: Arc<dyn Store>, clock: ManualClock) -> Self {
        let heard = Recorder::new();
        let listener: Arc<dyn Listener> = heard.clone();
        store.attach(listener).await.unwrap();
        Self { store, clock, heard }
    }

    /// The present moment moved by so many milliseconds.
    #[must_use]
    pub fn in_ms(&self, ms: i64) -> Timestamp {
        Timestamp(self.clock.now().0 + ms)
    }

    /// Starts one instance that begins now.
    pub async fn begin(&self, name: &str) -> Runner {
        self.begin_with(instance(name)).await
    }

    /// Starts one instance that begins now and whose function already did something.
    pub async fn begin_doing(&self, name: &str, first: Transition) -> Runner {
        self.begin_with(NewInstance { first: Some(first), ..instance(name) }).await
    }

    /// Starts one instance that begins now.
    pub async fn begin_with(&self, new: NewInstance) -> Runner {
        match self.start(vec![new], IfExists::Error).await.unwrap()[..] {
            [Started::Running { key, epoch, .. }] => Runner { key, run: 1, epoch },
            ref other => panic!("not one running instance: {other:?}"),
        }
    }

    /// Starts instances.
    pub async fn start(&self, new: Vec<NewInstance>, if_exists: IfExists) -> Result<Vec<Started>> {
        self.store.start(new, if_exists).await
    }

    /// Commits, whatever becomes of it, having heard of everything that arrived.
    pub async fn commit(&self, by: Runner, does: Transition) -> Committed {
        self.commit_having_heard(i64::MAX, by, does).await
    }

    /// Commits, whatever becomes of it, having heard of arrivals up to a number.
    pub async fn commit_having_heard(&self, heard: i64, by: Runner, does: Transition) -> Committed {
        let Runner { key, run, epoch } = by;
        let transition = Arc::new(does);
        self.store.commit(Commit { key, run, epoch, heard, transition }).await.unwrap()
    }

    /// Commits what must be stored.
    pub async fn stored(&self, by: Runner, does: Transition) {
        assert_eq!(self.commit(by, does).await, Committed::Stored, "{by:?}");
    }

    /// Commits what must be fenced, and leave no trace.
    pub async fn fenced(&self, by: Runner, does: Transition) {
        let before = self.everything().await;
        assert_eq!(self.commit(by, does).await, Committed::Fenced, "{by:?}");
        assert_eq!(self.everything().await, before, "a fenced commit changed something");
    }

    /// Claims an instance that can be.
    pub async fn claimed(&self, name: &str) -> Claimed {
        let key = self.get(name).await.key;
        self.store.claim(key).await.unwrap().unwrap()
    }

    /// Becomes the runner of an instance.
    pub async fn take(&self, name: &str) -> Runner {
        let Claimed { instance, epoch, .. } = self.claimed(name).await;
        Runner { key: instance.key, run: instance.run, epoch }
    }

    /// Gives a claim back, and waits until that is visible.
    pub async fn release(&self, by: Runner) {
        self.store.release(by.key, by.epoch);
        self.barrier().await;
    }

    /// A write that changes nothing, behind everything that was asked for before it.
    pub async fn barrier(&self) {
        self.store.control(&id("nobody"), Control::Pause).await.unwrap_err();
    }

    /// Asks something of an instance.
    pub async fn control(&self, name: &str, control: Control) -> Result<Instance> {
        self.store.control(&id(name), control).await
    }

    /// Pauses.
    pub async fn pause(&self, name: &str) -> Instance {
        self.control(name, Control::Pause).await.unwrap()
    }

    /// Resumes.
    pub async fn resume(&self, name: &str) -> Instance {
        self.control(name, Control::Resume).await.unwrap()
    }

    /// Terminates, children too.
    pub async fn terminate(&self, name: &str) -> Instance {
        self.terminate_how(name, Terminate::because("enough")).await
    }

    /// Terminates in a certain way.
    pub async fn terminate_how(&self, name: &str, how: Terminate) -> Instance {
        self.control(name, Control::Terminate(how)).await.unwrap()
    }

    /// Restarts from the beginning.
    pub async fn restart(&self, name: &str) -> Instance {
        self.control(name, Control::Restart { from_step: None }).await.unwrap()
    }

    /// Restarts from a step.
    pub async fn restart_from(&self, name: &str, step: &str) -> Result<Instance> {
        self.control(name, Control::Restart { from_step: Some(step.to_owned()) }).await
    }

    /// An instance that must be there.
    pub async fn get(&self, name: &str) -> Instance {
        self.find(name).await.unwrap_or_else(|| panic!("no instance {name}"))
    }

    /// An instance that may be there.
    pub async fn find(&self, name: &str) -> Option<Instance> {
        self.store.instance(&id(name)).await.unwrap()
    }

    /// The status of an instance, as a word.
    pub async fn status(&self, name: &str) -> &'static str {
        self.get(name).await.status().as_str()
    }

    /// The history of an instance.
    pub async fn history(&self, name: &str) -> Vec<Recorded> {
        self.store.history(&id(name), 0, usize::MAX >> 1).await.unwrap()
    }

    /// The history of an instance in words: `2 step.completed charge`.
    pub async fn story(&self, name: &str) -> Vec<String> {
        self.history(name).await.iter().map(in_words).collect()
    }

    /// The names of those that could be run, in order.
    pub async fn runnable(&self) -> Vec<String> {
        let keys = self.store.runnable(InstanceKey(0), 1000).await.unwrap();
        let names = self.names().await;
        keys.iter().map(|key| name_of(&names, *key)).collect()
    }

    /// The names of those that want to be woken before a moment, in order.
    pub async fn due(&self, until: Timestamp) -> Vec<String> {
        let due = self.store.due(Due::FIRST, until, 1000).await.unwrap();
        let names = self.names().await;
        due.iter().map(|due| name_of(&names, due.key)).collect()
    }

    /// All instances, newest first.
    pub async fn all(&self) -> Vec<Instance> {
        let page = Page { limit: 1000, before: None };
        self.store.instances(Filter::default(), page).await.unwrap().instances
    }

    /// Everything that can be seen from outside.
    pub async fn everything(&self) -> Vec<Seen> {
        let mut everything = Vec::new();
        for instance in self.all().await {
            let name = instance.id.as_str();
            everything.push(Seen {
                history: self.history(name).await,
                waits: self.waits(name).await,
                buffer: self.buffer(name).await,
                outputs: self.outputs(name).await,
                instance,
            });
        }
        everything
    }

    /// Takes the hints heard since the last time and compares them, in order: `ended child
    /// completed`, `arrived parent step.failed`.
    pub async fn hears(&self, expected: &[&str]) {
        self.heard.wait_for(expected.len()).await;
        self.barrier().await;
        let names = self.names().await;
        let heard: Vec<String> = self.heard.take().iter().map(|hint| told(&names, hint)).collect();
        assert_eq!(heard, expected);
    }

    /// Forgets the hints heard so far.
    pub async fn forget_hints(&self) {
        self.barrier().await;
        self.heard.take();
    }

    async fn names(&self) -> HashMap<InstanceKey, String> {
        self.all().await.iter().map(|found| (found.key, found.id.to_string())).collect()
    }
}

/// An entry in words: its number, its type and its step.
#[must_use]
pub fn in_words(recorded: &Recorded) -> String {
    let Recorded { seq, entry, .. } = recorded;
    let name = entry.name.as_deref().map_or_else(String::new, |name| format!(" {name}"));
    format!("{seq} {}{name}", entry.entry)
}

fn name_of(names: &HashMap<InstanceKey, String>, key: InstanceKey) -> String {
    names.get(&key).cloned().unwrap_or_else(|| format!("{key:?}"))
}

fn told(names: &HashMap<InstanceKey, String>, hint: &Hint) -> String {
    let name = |key: &InstanceKey| name_of(names, *key);
    match hint {
        Hint::Runnable(key) => format!("runnable {}", name(key)),
        Hint::Arrived(key, what) => format!("arrived {} {}", name(key), what.entry.entry),
        Hint::Due(due) => format!("due {}", name(&due.key)),
        Hint::OutputSet(id, output) => format!("output {id} {}", output.key),
        Hint::Paused(key) => format!("paused {}", name(key)),
        Hint::Restarted(key) => format!("restarted {}", name(key)),
        Hint::Ended(ended) => format!("ended {} {}", ended.id, ended.status),
        Hint::Recorded => "recorded".to_owned(),
        Hint::Streamed(id) => format!("streamed {id}"),
        Hint::Closed(reason) => format!("closed: {reason}"),
    }
}
