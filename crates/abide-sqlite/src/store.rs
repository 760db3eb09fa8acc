//! The handle, and the verbs of the store on their way to the threads that do them.

use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use abide::history::Recorded;
use abide::lifecycle::Control;
use abide::metrics::{Census, Figures};
use abide::store::{
    Answer, Claimed, Commit, Committed, Due, Epoch, IfExists, Listener, Overview, Started, Store,
};
use abide::{
    Append, Buffered, Chunk, ChunkFilter, Delivered, Delivery, Document, DocumentKind, Error,
    Filter, Instance, InstanceId, InstanceKey, Json, Listed, LogFilter, LogRetention, LogSpan,
    Logged, NewInstance, Output, Page, Publish, Published, Result, Tail, Taker, Timestamp, Verdict,
    Wait, WaitEdit, WaitFilter,
};
use parking_lot::Mutex;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::claims::Claims;
use crate::failure::Trouble;
use crate::file::{self, Ownership};
use crate::options::Options;
use crate::queue::{Command, Order, Queue, Reply, Write};
use crate::reader::{Pool, job};
use crate::stats::Stats;
use crate::writer::{Limits, Shared, Writer};
use crate::{census, chunks, documents, inbox, log, outputs, row, search, tail, waits};

/// Keys that are read at once when looking for unclaimed instances.
const RUNNABLE_PAGE: usize = 1024;

/// A store in a SQLite file. Clones are handles on the same store; the last one closes it.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Shared,
    max_queued: usize,
    writer: Option<JoinHandle<()>>,
    /// Dropped after the writer has ended, and the files with it.
    _directory: Option<TempDir>,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens a database, creating it when there is none.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path).await
    }

    /// Opens a new database in a temporary directory, which is removed with the last handle.
    ///
    /// # Errors
    /// As [`Options::open_temporary`].
    pub async fn open_temporary() -> Result<Self> {
        Self::options().open_temporary().await
    }

    /// What can be set before opening.
    #[must_use]
    pub fn options() -> Options {
        Options::default()
    }

    /// What the writer has done so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.shared.counters.read()
    }

    /// Finishes what is queued, ends the threads and gives the file free. Every handle answers
    /// [`Error::StoreClosed`] from then on.
    ///
    /// # Errors
    /// None that a caller could do something about: a store that is closed already stays so.
    pub async fn close(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        let queue = &self.inner.shared.queue;
        if queue.push(Command::Order(Order::Close(reply))).is_ok() {
            queue.close("it was asked to");
            // A writer that is gone has closed too.
            answer.await.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    /// Runs SQL on the writer's connection, for tests of what can't be provoked otherwise.
    #[doc(hidden)]
    pub async fn execute_for_test(&self, sql: &str) -> Result<()> {
        let sql = sql.to_owned();
        self.ask(usize::MAX, |reply| Command::Order(Order::Execute(sql, reply))).await
    }

    #[cfg(test)]
    pub(crate) fn fail_next_commit(&self, code: i32) {
        let order = Command::Order(Order::FailCommit(code));
        self.inner.shared.queue.push(order).unwrap();
    }

    #[cfg(test)]
    pub(crate) fn rest(&self, rests: bool) {
        self.inner.shared.queue.push(Command::Order(Order::Rest(rests))).unwrap();
    }

    /// Opens on the thread that will write, because opening reads and may have to recover.
    pub(crate) async fn open_with(
        options: Options,
        path: PathBuf,
        directory: Option<TempDir>,
    ) -> Result<Self> {
        let (opened, opening) = oneshot::channel();
        let (max_queued, shown) = (options.max_queued, path.clone());
        let writer = thread::Builder::new()
            .name("abide-sqlite-write".to_owned())
            .spawn(move || match open(&options, &path) {
                Ok(open) => {
                    // Whoever gave up opening closed the store by that.
                    if opened.send(Ok(open.shared.clone())).is_ok() {
                        open.work();
                    }
                }
                Err(error) => drop(opened.send(Err(error))),
            })
            .map_err(|error| file::unavailable(&shown, &error))?;
        let stopped = || Error::StoreClosed { reason: "the writer did not start".to_owned() };
        let shared = opening.await.map_err(|_| stopped())??;
        let inner = Inner { shared, max_queued, writer: Some(writer), _directory: directory };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Queues a command, at once and not when the answer is polled.
    fn ask<T: Send + 'static>(
        &self,
        limit: usize,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        match self.inner.shared.queue.push_within(command(reply), limit) {
            Ok(()) => Box::pin(async move {
                let lost = "the writer stopped".to_owned();
                answer.await.unwrap_or(Err(Error::OutcomeUnknown { reason: lost }))
            }),
            Err(refused) => Box::pin(ready(Err(refused))),
        }
    }

    fn write<T: Send + 'static>(&self, write: impl FnOnce(Reply<T>) -> Write) -> Answer<T> {
        self.ask(usize::MAX, |reply| Command::Write(write(reply)))
    }

    /// Outside calls are refused when too much is queued.
    fn write_from_outside<T: Send + 'static>(
        &self,
        write: impl FnOnce(Reply<T>) -> Write,
    ) -> Answer<T> {
        self.ask(self.inner.max_queued, |reply| Command::Write(write(reply)))
    }

    fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Answer<T> {
        let queue = Arc::clone(&self.inner.shared.queue);
        if let Some(closed) = queue.closed() {
            return Box::pin(ready(Err(closed)));
        }
        let (reply, answer) = oneshot::channel();
        let Shared { readers, counters, .. } = &self.inner.shared;
        readers.read(job(reply, counters, read));
        Box::pin(async move {
            let stopped = || Error::StoreClosed { reason: "a reader stopped".to_owned() };
            answer.await.unwrap_or_else(|_| Err(queue.closed().unwrap_or_else(stopped)))
        })
    }

    /// Reads something of an instance, if that is there.
    fn read_of<T: Send + 'static>(
        &self,
        id: &InstanceId,
        read: impl FnOnce(&Connection, InstanceKey) -> Result<T, Trouble> + Send + 'static,
    ) -> Answer<T> {
        let id = id.clone();
        self.read(move |connection| match row::key_of(connection, id.as_str())? {
            Some(key) => read(connection, key),
            None => Err(Error::InstanceNotFound { id }.into()),
        })
    }
}

/// A store that was opened: what its thread needs to work and to clean up after itself.
struct Open {
    shared: Shared,
    writer: Writer,
    pool: Pool,
    ownership: Ownership,
}

fn open(options: &Options, path: &Path) -> Result<Open> {
    let ownership = file::own(path)?;
    let connection = file::open_writer(path)?;
    let pool = Pool::start(path)?;
    let shared = Shared {
        queue: Arc::new(Queue::default()),
        claims: Arc::new(Mutex::new(Claims::default())),
        counters: Arc::default(),
        readers: pool.readers(),
        clock: Arc::clone(&options.clock),
        limits: Limits {
            buffer: options.buffer_limit,
            remembered_ids: options.remembered_ids,
            scanned: options.lookback_max_scanned,
            fanout_chunk: options.fanout_chunk,
            index_bytes: options.index_max_bytes,
        },
    };
    let writer = Writer::new(connection, shared.clone())?;
    Ok(Open { shared, writer, pool, ownership })
}

impl Open {
    /// Writes until the store is closed. The writer's connection is the last to go, so that SQLite
    /// tidies up the WAL; then the lock; then whoever closed it hears of it.
    fn work(self) {
        let (connection, farewells) = self.writer.run();
        self.pool.stop();
        drop(connection);
        drop(self.ownership);
        farewells.into_iter().for_each(|reply| drop(reply.send(Ok(()))));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.queue.close("its last handle was dropped");
        if let Some(writer) = self.writer.take()
            // A listener may have held the last handle: then this is the writer itself.
            && writer.thread().id() != thread::current().id()
        {
            drop(writer.join());
        }
    }
}

impl Store for SqliteStore {
    fn attach(&self, listener: Arc<dyn Listener>) -> Answer<()> {
        self.ask(usize::MAX, |reply| Command::Order(Order::Attach(listener, reply)))
    }

    fn start(&self, new: Vec<NewInstance>, if_exists: IfExists) -> Answer<Vec<Started>> {
        self.write_from_outside(|reply| Write::Start(new, if_exists, reply))
    }

    fn commit(&self, commit: Commit) -> Answer<Committed> {
        let entries = &commit.transition.entries;
        // A mark alone has no number, but replay needs it: what has text is written.
        let text = if entries.size() > 1 { entries.text() } else { String::new() };
        self.write(|reply| Write::Commit(commit, text, reply))
    }

    fn claim(&self, key: InstanceKey) -> Answer<Option<Claimed>> {
        self.write(|reply| Write::Claim(key, reply))
    }

    fn release(&self, key: InstanceKey, epoch: Epoch) {
        // A closed store has no claims left to give back.
        drop(self.inner.shared.queue.push(Command::Write(Write::Release(key, epoch))));
    }

    fn control(&self, id: &InstanceId, control: Control) -> Answer<Instance> {
        let id = id.clone();
        self.write_from_outside(|reply| Write::Control(id, control, reply))
    }

    fn runnable(&self, after: InstanceKey, limit: usize) -> Answer<Vec<InstanceKey>> {
        let Shared { claims, counters, .. } = &self.inner.shared;
        let claims = Arc::clone(claims);
        self.write(|reply| {
            Write::ReadAfter(job(reply, counters, move |connection| {
                unclaimed(connection, &claims, after, limit)
            }))
        })
    }

    fn due(&self, after: Due, until: Timestamp, limit: usize) -> Answer<Vec<Due>> {
        self.read(move |connection| search::due(connection, after, until, limit))
    }

    fn instance(&self, id: &InstanceId) -> Answer<Option<Instance>> {
        let id = id.clone();
        self.read(move |connection| row::instance_by_id(connection, &id))
    }

    fn instances(&self, filter: Filter, page: Page) -> Answer<Listed> {
        self.read(move |connection| search::instances(connection, &filter, page))
    }

    fn history(&self, id: &InstanceId, after: i64, limit: usize) -> Answer<Vec<Recorded>> {
        self.read_of(id, move |connection, key| row::history_after(connection, key, after, limit))
    }

    fn tail(&self, after: i64, limit: usize) -> Answer<Tail> {
        self.read(move |connection| tail::tail(connection, after, limit))
    }

    fn append(&self, append: Append) -> Answer<Committed> {
        self.write(|reply| Write::Append(append, reply))
    }

    fn chunks(&self, id: &InstanceId, filter: ChunkFilter, limit: usize) -> Answer<Vec<Chunk>> {
        self.read_of(id, move |connection, key| chunks::chunks(connection, key, &filter, limit))
    }

    fn deliver(&self, delivery: Delivery) -> Answer<Delivered> {
        self.write_from_outside(|reply| Write::Deliver(delivery, reply))
    }

    fn fall_due(&self, keys: Vec<InstanceKey>) -> Answer<()> {
        self.write(|reply| Write::FallDue(keys, reply))
    }

    fn waits(&self, filter: WaitFilter) -> Answer<Vec<Wait>> {
        self.read(move |connection| waits::listed(connection, &filter))
    }

    fn edit_wait(&self, id: &str, edit: WaitEdit) -> Answer<Wait> {
        let id = id.to_owned();
        self.write_from_outside(|reply| Write::EditWait(id, edit, reply))
    }

    fn buffer(&self, id: &InstanceId) -> Answer<Vec<Buffered>> {
        self.read_of(id, inbox::buffer)
    }

    fn overview(&self, id: &InstanceId) -> Answer<Option<Overview>> {
        let id = id.clone();
        self.read(move |connection| row::overview(connection, id))
    }

    fn outputs(&self, id: &InstanceId) -> Answer<Vec<Output>> {
        self.read_of(id, outputs::all)
    }

    fn publish(&self, publish: Publish) -> Answer<Verdict> {
        self.write_from_outside(|reply| Write::Publish(publish, reply))
    }

    fn log(&self, filter: LogFilter) -> Answer<Vec<Logged>> {
        self.read(move |connection| log::listed(connection, &filter))
    }

    fn log_span(&self) -> Answer<LogSpan> {
        self.read(log::span)
    }

    fn takers(&self, seq: i64) -> Answer<Vec<Taker>> {
        self.read(move |connection| log::takers(connection, seq))
    }

    fn overheard(&self, wait: &str, limit: usize) -> Answer<Vec<Published>> {
        let wait = wait.to_owned();
        self.read(move |connection| log::overheard(connection, &wait, limit))
    }

    fn prune_log(&self, retention: LogRetention, limit: usize) -> Answer<usize> {
        self.write(|reply| Write::PruneLog(retention, limit, reply))
    }

    fn documents(&self, kind: DocumentKind) -> Answer<Vec<Document>> {
        self.read(move |connection| documents::latest(connection, kind))
    }

    fn document(
        &self,
        kind: DocumentKind,
        name: &str,
        version: Option<u32>,
    ) -> Answer<Option<Document>> {
        let name = name.to_owned();
        self.read(move |connection| documents::document(connection, kind, &name, version))
    }

    fn put_document(&self, kind: DocumentKind, name: &str, body: Json) -> Answer<Document> {
        let name = name.to_owned();
        self.write_from_outside(|reply| Write::PutDocument(kind, name, body, reply))
    }

    fn remove_document(&self, kind: DocumentKind, name: &str) -> Answer<bool> {
        let name = name.to_owned();
        self.write_from_outside(|reply| Write::RemoveDocument(kind, name, reply))
    }

    fn prune(&self, ended_before: Timestamp, limit: usize) -> Answer<usize> {
        self.write(|reply| Write::Prune(ended_before, limit, reply))
    }

    fn census(&self) -> Answer<Census> {
        self.read(census::census)
    }

    fn figures(&self) -> Figures {
        let Shared { counters, queue, readers, .. } = &self.inner.shared;
        counters.figures(queue.len() as u64, readers.queued() as u64)
    }
}

/// Instances that should be running and that nobody runs. Most of those that should are claimed, so
/// the rows come in pages and the claims are looked at between them.
fn unclaimed(
    connection: &Connection,
    claims: &Mutex<Claims>,
    mut after: InstanceKey,
    limit: usize,
) -> Result<Vec<InstanceKey>, Trouble> {
    let mut found = Vec::new();
    while found.len() < limit {
        let page = search::runnable(connection, after, RUNNABLE_PAGE)?;
        let Some(last) = page.last() else { break };
        after = *last;
        let claims = claims.lock();
        found.extend(page.into_iter().filter(|key| claims.get(*key).is_none()));
    }
    found.truncate(limit);
    Ok(found)
}

#[cfg(test)]
mod tests;
