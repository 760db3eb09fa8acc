//! One of the stores that must agree, with the claims it gave out.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use abide::lifecycle::Control;
use abide::store::{Claimed, Commit, Due, Epoch, IfExists, Started, Store};
use abide::{
    Append, ChunkFilter, DocumentKind, Filter, InstanceId, InstanceKey, Listed, LogFilter,
    NewChunk, NewInstance, Page, Result, Timestamp, Transition, WaitEdit, WaitFilter,
};

use super::operation::{Known, Operation, Speaker};
use super::view::{View, by_acceptance, flat, ranked, without_keys};
use crate::Recorder;
use crate::fixture::id;

/// More than any sequence makes.
const ALL: usize = 1_000_000;

pub(super) struct Contender {
    store: Arc<dyn Store>,
    heard: Arc<Recorder>,
    /// Every claim given out, by instance, oldest first.
    claims: HashMap<InstanceKey, Vec<Epoch>>,
}

impl Contender {
    pub(super) async fn attach(store: Arc<dyn Store>) -> Self {
        let heard = Recorder::new();
        store.attach(Arc::clone(&heard) as _).await.unwrap();
        Self { store, heard, claims: HashMap::new() }
    }

    /// Does it, and tells the answer in words that are the same for every store.
    pub(super) async fn apply(
        &mut self,
        operation: &Operation,
        known: &Known,
        now: Timestamp,
    ) -> String {
        let store = Arc::clone(&self.store);
        match operation.clone() {
            Operation::Advance(_) => String::new(),
            Operation::Attach => words(store.attach(Arc::clone(&self.heard) as _).await),
            Operation::Start(batch, if_exists) => self.start(batch, if_exists).await,
            Operation::Commit(by, transition) => self.commit(&by, *transition, known).await,
            Operation::Append(by, chunk) => self.append(&by, chunk, known).await,
            Operation::Chunks(id, filter, limit) => words(store.chunks(&id, filter, limit).await),
            Operation::Claim(id) => self.claim(&id, known).await,
            Operation::Release(by) => self.release(&by, known).await,
            Operation::Control(id, control) => words(store.control(&id, control).await),
            Operation::Prune(ago, limit) => {
                let ended_before = Timestamp(now.0 - i64::try_from(ago.as_millis()).unwrap());
                words(store.prune(ended_before, limit).await)
            }
            Operation::Runnable(after, limit) => words(store.runnable(after, limit).await),
            Operation::Due(after, until, limit) => words(store.due(after, until, limit).await),
            Operation::List(filter, page) => words(self.list(filter, page).await),
            Operation::History(id, after, limit) => words(store.history(&id, after, limit).await),
            Operation::Deliver(delivery) => words(store.deliver(delivery).await),
            Operation::FallDue(ids) => {
                let keys = ids.iter().map(|id| known.get(id).0).collect();
                words(store.fall_due(keys).await)
            }
            Operation::EditWait(id, edit) => self.edit_wait(&id, edit).await,
            Operation::Waits(filter) => words(store.waits(filter).await.map(ranked)),
            operation => self.apply_to_log(operation).await,
        }
    }

    async fn apply_to_log(&self, operation: Operation) -> String {
        let store = &self.store;
        match operation {
            Operation::Publish(publish) => words(store.publish(publish).await),
            Operation::Log(filter) => words(store.log(filter).await),
            Operation::PruneLog(retention, limit) => words(store.prune_log(retention, limit).await),
            Operation::Overheard(wait, limit) => words(store.overheard(&wait, limit).await),
            Operation::PutDocument(kind, name, body) => {
                words(store.put_document(kind, name, body).await)
            }
            Operation::RemoveDocument(kind, name) => words(store.remove_document(kind, name).await),
            Operation::Document(kind, name, version) => {
                words(store.document(kind, name, version).await)
            }
            other => panic!("nobody does {other:?}"),
        }
    }

    async fn start(&mut self, batch: Vec<NewInstance>, if_exists: IfExists) -> String {
        let answers = match self.store.start(batch, if_exists).await {
            Ok(answers) => answers,
            Err(refused) => return format!("{refused:?}"),
        };
        let mut told = Vec::new();
        for answer in answers {
            told.push(match answer {
                Started::Running { key, epoch, created_at } => {
                    let claim = self.given(key, epoch);
                    format!("running {key:?} since {created_at}, {claim}")
                }
                other => format!("{other:?}"),
            });
        }
        told.join("; ")
    }

    async fn commit(&self, by: &Speaker, transition: Transition, known: &Known) -> String {
        let (key, run) = known.get(&by.id);
        let run = run.saturating_sub(by.runs_since);
        let transition = Arc::new(transition);
        let (epoch, heard) = (self.epoch(by, key), if by.deaf { 0 } else { i64::MAX });
        let commit = Commit { key, run, epoch, heard, transition };
        words(self.store.commit(commit).await)
    }

    async fn append(&self, by: &Speaker, chunk: NewChunk, known: &Known) -> String {
        let (key, run) = known.get(&by.id);
        let run = run.saturating_sub(by.runs_since);
        let epoch = self.epoch(by, key);
        words(self.store.append(Append { key, run, epoch, chunk }).await)
    }

    async fn claim(&mut self, id: &InstanceId, known: &Known) -> String {
        let (key, _) = known.get(id);
        match self.store.claim(key).await {
            Ok(Some(Claimed { instance, epoch, history })) => {
                let claim = self.given(key, epoch);
                format!("{claim} on {instance:?} with {history:?}")
            }
            other => format!("{other:?}"),
        }
    }

    async fn release(&self, by: &Speaker, known: &Known) -> String {
        let (key, _) = known.get(&by.id);
        self.store.release(key, self.epoch(by, key));
        self.barrier().await;
        String::new()
    }

    /// In which words it is refused is left to the store.
    async fn edit_wait(&self, id: &str, edit: WaitEdit) -> String {
        match self.store.edit_wait(id, edit).await {
            Ok(wait) => words(Ok(without_keys(wait))),
            Err(refused) => refused.code().to_owned(),
        }
    }

    /// Whether there is a next page is left to the store when a page is exactly full.
    async fn list(&self, filter: Filter, page: Page) -> Result<Vec<String>> {
        let Listed { instances, next } = self.store.instances(filter, page).await?;
        let honest = next.is_none() || instances.len() == page.limit;
        let mut told: Vec<String> = instances.iter().map(|found| found.id.to_string()).collect();
        told.push(format!("a next page only behind a full one: {honest}"));
        Ok(told)
    }

    /// Remembers a claim, and tells how it compares with the ones before.
    fn given(&mut self, key: InstanceKey, epoch: Epoch) -> String {
        let claims = self.claims.entry(key).or_default();
        let rises = claims.iter().all(|earlier| *earlier < epoch);
        claims.push(epoch);
        format!("claim {}, higher than all before: {rises}", claims.len())
    }

    fn epoch(&self, by: &Speaker, key: InstanceKey) -> Epoch {
        let claims = self.claims.get(&key);
        let epoch = claims.and_then(|claims| claims.iter().rev().nth(by.claims_since));
        epoch.copied().unwrap_or(Epoch(-1))
    }

    /// A write that changes nothing, behind everything that was asked for before it.
    async fn barrier(&self) {
        drop(self.store.control(&id("nobody"), Control::Pause).await);
    }

    /// Everything that can be seen, once at least so many hints were heard.
    pub(super) async fn view(&self, hints: usize) -> View {
        self.heard.wait_for(hints).await;
        self.barrier().await;
        let store = &self.store;
        let page = Page { limit: ALL, before: None };
        let instances = store.instances(Filter::default(), page).await.unwrap().instances;
        let (mut histories, mut buffers, mut outputs) = (vec![], vec![], vec![]);
        let mut chunks = Vec::new();
        for instance in &instances {
            let id = &instance.id;
            histories.push((id.clone(), store.history(id, 0, ALL).await.unwrap()));
            buffers.push((id.clone(), store.buffer(id).await.unwrap()));
            outputs.push((id.clone(), store.outputs(id).await.unwrap()));
            let all = ChunkFilter::All { after: 0 };
            chunks.push((id.clone(), store.chunks(id, all, ALL).await.unwrap()));
        }
        let log = store.log(LogFilter { limit: ALL, ..LogFilter::default() }).await.unwrap();
        let mut takers = Vec::new();
        for logged in &log {
            let seq = logged.published.seq;
            takers.push((seq, store.takers(seq).await.unwrap()));
        }
        let mut documents = Vec::new();
        for kind in DocumentKind::ALL {
            documents.extend(store.documents(*kind).await.unwrap());
        }
        View {
            instances,
            histories,
            waits: ranked(store.waits(WaitFilter::default()).await.unwrap()),
            buffers: by_acceptance(buffers),
            outputs,
            chunks,
            tail: flat(store.tail(0, ALL).await.unwrap()),
            log,
            takers,
            span: store.log_span().await.unwrap(),
            documents,
            runnable: store.runnable(InstanceKey(0), ALL).await.unwrap(),
            due: store.due(Due::FIRST, Timestamp::MAX, ALL).await.unwrap(),
            hints: self.heard.take().iter().map(|hint| format!("{hint:?}")).collect(),
        }
    }
}

fn words<T: Debug>(answer: Result<T>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(refused) => format!("{refused:?}"),
    }
}
