//! What a command of a batch is answered, once the batch is durable or taken back.

use abide::store::{Claimed, Committed, Epoch, Started};
use abide::{Delivered, Document, Error, Instance, InstanceKey, Result, Verdict, Wait};

use super::batch::Batch;
use super::{Shared, split};
use crate::claims::Claims;
use crate::failure::Trouble;
use crate::queue::{Command, Reply, Write};
use crate::reader::{Job, job};
use crate::row;

/// An answer that waits for the commit.
pub(super) enum Answer {
    Started(Reply<Vec<Started>>, Result<Vec<Started>>),
    Committed(Reply<Committed>, Result<Committed>),
    Claimed(Reply<Option<Claimed>>, Result<Option<Box<(Instance, Epoch)>>>),
    Released(InstanceKey, Epoch),
    Controlled(Reply<Instance>, Result<Box<Instance>>),
    Delivered(Reply<Delivered>, Result<Delivered>),
    FellDue(Reply<()>, Result<()>),
    Edited(Reply<Wait>, Result<Box<Wait>>),
    Pruned(Reply<usize>, Result<usize>),
    Published(Reply<Verdict>, Result<Box<Verdict>>),
    Put(Reply<Document>, Result<Box<Document>>),
    Removed(Reply<bool>, Result<bool>),
    Read(Job),
}

/// Does one command. The second part is an error that concerns the whole batch.
pub(super) fn execute(batch: &mut Batch<'_>, write: Write) -> (Answer, Option<rusqlite::Error>) {
    match write {
        Write::Commit(commit, text, reply) => {
            let (result, failed) = split(batch.commit(&commit, &text));
            (Answer::Committed(reply, result), failed)
        }
        Write::Append(append, reply) => {
            let (result, failed) = split(batch.append_chunk(&append));
            (Answer::Committed(reply, result), failed)
        }
        Write::Start(new, if_exists, reply) => {
            let (result, failed) = split(batch.start(&new, if_exists));
            (Answer::Started(reply, result), failed)
        }
        Write::Claim(key, reply) => {
            let (result, failed) = split(batch.claim(key));
            (Answer::Claimed(reply, result), failed)
        }
        Write::Release(key, epoch) => {
            batch.claims.release(key, epoch);
            (Answer::Released(key, epoch), None)
        }
        Write::Control(id, control, reply) => {
            let (result, failed) = split(batch.control(&id, &control));
            (Answer::Controlled(reply, result), failed)
        }
        Write::Deliver(delivery, reply) => {
            let (result, failed) = split(batch.deliver(&delivery));
            (Answer::Delivered(reply, result), failed)
        }
        Write::FallDue(keys, reply) => {
            let (result, failed) = split(batch.fall_due(&keys));
            (Answer::FellDue(reply, result), failed)
        }
        Write::EditWait(id, edit, reply) => {
            let (result, failed) = split(batch.edit_wait(&id, &edit));
            (Answer::Edited(reply, result.map(Box::new)), failed)
        }
        Write::Prune(ended_before, limit, reply) => {
            let (result, failed) = split(batch.prune(ended_before, limit));
            (Answer::Pruned(reply, result), failed)
        }
        Write::Publish(publish, reply) => {
            let (result, failed) = split(batch.publish(&publish));
            (Answer::Published(reply, result.map(Box::new)), failed)
        }
        Write::PruneLog(retention, limit, reply) => {
            let (result, failed) = split(batch.prune_log(retention, limit));
            (Answer::Pruned(reply, result), failed)
        }
        Write::PutDocument(kind, name, body, reply) => {
            let (result, failed) = split(batch.put_document(kind, &name, body));
            (Answer::Put(reply, result.map(Box::new)), failed)
        }
        Write::RemoveDocument(kind, name, reply) => {
            let (result, failed) = split(batch.remove_document(kind, &name));
            (Answer::Removed(reply, result), failed)
        }
        Write::ReadAfter(job) => (Answer::Read(job), None),
    }
}

impl Batch<'_> {
    /// Claims an instance if there is something to run. The history is read later, by a reader:
    /// it may be long, and its numbers say where it ended now.
    fn claim(&mut self, key: InstanceKey) -> Result<Option<Box<(Instance, Epoch)>>, Trouble> {
        let instance = row::instance_by_key(self.connection, key)?
            .filter(|instance| !instance.phase.is_terminal() && !instance.paused);
        let Some(instance) = instance else { return Ok(None) };
        let id = instance.id.clone();
        let has_parent = instance.parent.is_some();
        let Instance { run, next_seq, log_from, .. } = instance;
        let epoch = self.claims.insert(key, id, run, next_seq, has_parent, log_from);
        let mail = self.mail_of(key)?;
        self.claims.note(key, |known| *known = mail);
        Ok(Some(Box::new((instance, epoch))))
    }
}

impl Answer {
    /// Answers after the batch became durable. Whoever stopped waiting is not missed.
    pub(super) fn send(self, shared: &Shared) {
        match self {
            Self::Started(reply, result) => drop(reply.send(result)),
            Self::Committed(reply, result) => drop(reply.send(result)),
            Self::Claimed(reply, Ok(Some(claimed))) => {
                read_claimed(reply, *claimed, shared);
            }
            Self::Claimed(reply, result) => drop(reply.send(result.map(|_| None))),
            Self::Released(..) => {}
            Self::Controlled(reply, result) => drop(reply.send(result.map(|instance| *instance))),
            Self::Delivered(reply, result) => drop(reply.send(result)),
            Self::FellDue(reply, result) => drop(reply.send(result)),
            Self::Edited(reply, result) => drop(reply.send(result.map(|wait| *wait))),
            Self::Pruned(reply, result) => drop(reply.send(result)),
            Self::Published(reply, result) => drop(reply.send(result.map(|verdict| *verdict))),
            Self::Put(reply, result) => drop(reply.send(result.map(|document| *document))),
            Self::Removed(reply, result) => drop(reply.send(result)),
            Self::Read(job) => shared.readers.read(job),
        }
    }

    /// Answers after the batch was taken back. A release holds all the same: whoever gave a claim
    /// back no longer runs the instance.
    pub(super) fn fail(self, error: &Error, claims: &mut Claims, shared: &Shared) {
        let error = error.clone();
        match self {
            Self::Started(reply, _) => drop(reply.send(Err(error))),
            Self::Committed(reply, _) => drop(reply.send(Err(error))),
            Self::Claimed(reply, _) => drop(reply.send(Err(error))),
            Self::Released(key, epoch) => claims.release(key, epoch),
            Self::Controlled(reply, _) => drop(reply.send(Err(error))),
            Self::Delivered(reply, _) => drop(reply.send(Err(error))),
            Self::FellDue(reply, _) => drop(reply.send(Err(error))),
            Self::Edited(reply, _) => drop(reply.send(Err(error))),
            Self::Pruned(reply, _) => drop(reply.send(Err(error))),
            Self::Published(reply, _) => drop(reply.send(Err(error))),
            Self::Put(reply, _) => drop(reply.send(Err(error))),
            Self::Removed(reply, _) => drop(reply.send(Err(error))),
            Self::Read(job) => shared.readers.read(job),
        }
    }
}

/// Answers a claim with its history. A claim whose history can't be read is given back, because
/// its caller never learns of it.
fn read_claimed(
    reply: Reply<Option<Claimed>>,
    (instance, epoch): (Instance, Epoch),
    shared: &Shared,
) {
    let queue = std::sync::Arc::clone(&shared.queue);
    shared.readers.read(job(reply, &shared.counters, move |connection| {
        let key = instance.key;
        match row::history_of_run(connection, &instance) {
            Ok(history) => Ok(Some(Claimed { instance, epoch, history })),
            Err(trouble) => {
                drop(queue.push(Command::Write(Write::Release(key, epoch))));
                Err(trouble)
            }
        }
    }));
}
