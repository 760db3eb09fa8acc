//! The pool of threads that read.
//!
//! Each has a read-only connection of its own. In WAL mode a read sees everything that was
//! committed before it began, so whoever got an answer from the writer reads what it was about.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use abide::Result;
use crossbeam_channel::{Receiver, Sender};
use rusqlite::Connection;

use crate::failure::Trouble;
use crate::file;
use crate::queue::Reply;
use crate::stats::Counters;

/// How many threads read. Reads are short and the machine has other things to do.
pub(crate) const THREADS: usize = 2;

/// Something to read.
pub(crate) type Job = Box<dyn FnOnce(&Connection) + Send>;

/// A job that answers with what `read` found.
pub(crate) fn job<T: Send + 'static>(
    reply: Reply<T>,
    counters: &Arc<Counters>,
    read: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
) -> Job {
    let counters = Arc::clone(counters);
    Box::new(move |connection| {
        let found = read(connection).inspect_err(|trouble| {
            if trouble.is_of_the_file() {
                counters.read_failed();
            }
        });
        // An answer that nobody waits for any more is dropped.
        drop(reply.send(found.map_err(Into::into)));
    })
}

/// Where jobs are handed in.
#[derive(Clone)]
pub(crate) struct Readers(Sender<Option<Job>>);

impl Readers {
    /// Hands in a job. Once the pool has stopped it is dropped, and with it its reply.
    pub(crate) fn read(&self, job: Job) {
        drop(self.0.send(Some(job)));
    }

    /// How many wait for a thread.
    pub(crate) fn queued(&self) -> usize {
        self.0.len()
    }
}

/// The threads themselves.
pub(crate) struct Pool {
    sender: Sender<Option<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Opens the connections and starts the threads.
    pub(crate) fn start(path: &Path) -> Result<Self> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let mut pool = Self { sender, threads: Vec::new() };
        for _ in 0..THREADS {
            let connection = file::open_reader(path)?;
            let receiver = receiver.clone();
            let thread = thread::Builder::new()
                .name("abide-sqlite-read".to_owned())
                .spawn(move || work(&connection, &receiver))
                .map_err(|error| file::unavailable(path, &error))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    pub(crate) fn readers(&self) -> Readers {
        Readers(self.sender.clone())
    }

    /// Finishes the jobs that were handed in and ends the threads.
    pub(crate) fn stop(self) {
        for _ in &self.threads {
            drop(self.sender.send(None));
        }
        for thread in self.threads {
            // A thread that panicked has nothing left to finish.
            drop(thread.join());
        }
    }
}

fn work(connection: &Connection, jobs: &Receiver<Option<Job>>) {
    while let Ok(Some(job)) = jobs.recv() {
        job(connection);
    }
}
