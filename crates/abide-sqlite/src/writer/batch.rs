//! One transaction on its way: what every verb uses to write.
//!
//! A verb decides before it writes, so that a refusal leaves nothing behind. One that can be
//! refused half-way is *guarded*: a savepoint takes back its rows, its claims and its hints
//! without disturbing the rest of the batch.

use abide::history::{Entries, Entry, Recorded};
use abide::metrics::Tally;
use abide::store::Hint;
use abide::{InstanceKey, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::caches::Caches;
use super::hot::Hot;
use super::{Limits, Shared};
use crate::claims::Claims;
use crate::failure::Trouble;

/// Keys that were not used yet. Never reset, so that no key means two things.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) next_instance: i64,
    pub(super) next_row: i64,
    pub(super) next_wait: i64,
    pub(super) next_inbox: i64,
    pub(super) next_event: i64,
    pub(super) next_chunk: i64,
}

impl Keys {
    /// Continues after the highest keys that are, or by the marks of pruning were, in use.
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        connection.query_row(
            "SELECT max(coalesce((SELECT max(key) FROM instances), 0) + 1,
                        coalesce((SELECT value FROM meta WHERE name = 'next_instance'), 1)),
                    max(coalesce((SELECT max(id) FROM history), 0) + 1,
                        coalesce((SELECT value FROM meta WHERE name = 'next_row'), 1)),
                    max(coalesce((SELECT max(key) FROM workflow_event_subscriptions), 0) + 1,
                        coalesce((SELECT value FROM meta WHERE name = 'next_wait'), 1)),
                    max(coalesce((SELECT max(key) FROM inbox), 0) + 1,
                        coalesce((SELECT value FROM meta WHERE name = 'next_inbox'), 1)),
                    max(coalesce((SELECT max(seq) FROM events), 0) + 1,
                        coalesce((SELECT value FROM meta WHERE name = 'next_event'), 1)),
                    max(coalesce((SELECT max(key) FROM chunks), 0) + 1,
                        coalesce((SELECT value FROM meta WHERE name = 'next_chunk'), 1))",
            [],
            |row| {
                let (next_instance, next_row) = (row.get(0)?, row.get(1)?);
                let (next_wait, next_inbox) = (row.get(2)?, row.get(3)?);
                let (next_event, next_chunk) = (row.get(4)?, row.get(5)?);
                Ok(Self { next_instance, next_row, next_wait, next_inbox, next_event, next_chunk })
            },
        )
    }

    pub(super) fn instance(&mut self) -> InstanceKey {
        let key = InstanceKey(self.next_instance);
        self.next_instance += 1;
        key
    }

    pub(super) fn inbox(&mut self) -> i64 {
        self.next_inbox += 1;
        self.next_inbox - 1
    }
}

/// A transaction that is being filled.
pub(super) struct Batch<'w> {
    pub(super) connection: &'w Connection,
    pub(super) claims: &'w mut Claims,
    pub(super) keys: &'w mut Keys,
    pub(super) caches: &'w mut Caches,
    /// The moment of everything in this batch.
    pub(super) now: Timestamp,
    pub(super) limits: Limits,
    /// What the listener hears once all of this is durable.
    pub(super) hints: Vec<Hint>,
    /// How many history rows were written.
    pub(super) rows: u64,
    /// What was written of which kind, and published.
    pub(super) tally: Tally,
    /// How many bytes of history were written.
    pub(super) bytes: usize,
    /// Waits from this key on were just reached, and can't be found yet.
    pub(super) unkeyed_from: i64,
    pub(super) hot: Hot<'w>,
}

/// Where the history of an instance that has not ended goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) run: u32,
    pub(super) next_seq: i64,
}

impl<'w> Batch<'w> {
    pub(super) fn new(
        connection: &'w Connection,
        claims: &'w mut Claims,
        keys: &'w mut Keys,
        caches: &'w mut Caches,
        shared: &Shared,
    ) -> rusqlite::Result<Self> {
        let hot = Hot::new(connection)?;
        let (now, limits) = (shared.clock.now(), shared.limits);
        Ok(Self {
            connection,
            claims,
            keys,
            caches,
            now,
            limits,
            hints: Vec::new(),
            rows: 0,
            tally: Tally::default(),
            bytes: 0,
            unkeyed_from: i64::MAX,
            hot,
        })
    }

    /// Writes a history row, whose text its caller has. Whoever calls it keeps the claim's numbers right.
    pub(super) fn append(
        &mut self,
        key: InstanceKey,
        head: Head,
        entries: &Entries,
        text: &str,
    ) -> Result<(), Trouble> {
        let id = self.keys.next_row;
        self.hot.append.execute(params![
            id,
            key.0,
            head.run,
            head.next_seq,
            entries.numbered(),
            self.now.0,
            text
        ])?;
        self.keys.next_row += 1;
        self.rows += 1;
        self.tally.add_row(entries);
        self.bytes += text.len();
        Ok(())
    }

    /// Writes what the store itself has to say into the history of an instance.
    pub(super) fn record(
        &mut self,
        key: InstanceKey,
        head: Head,
        entries: &[Entry],
    ) -> Result<(), Trouble> {
        let row = Entries::of(entries);
        self.append(key, head, &row, &row.text())?;
        self.claims.advance(key, head.next_seq + i64::from(row.numbered()));
        Ok(())
    }

    /// Where the history of an instance goes on; `None` when it ended or is gone.
    pub(super) fn head(&self, key: InstanceKey) -> Result<Option<Head>, Trouble> {
        if let Some(claim) = self.claims.get(key) {
            return Ok(Some(Head { run: claim.run, next_seq: claim.next_seq }));
        }
        let mut select = self.connection.prepare_cached(
            "SELECT i.run, coalesce(h.seq + h.numbered, i.run_seq)
               FROM instances i
               LEFT JOIN history h ON h.id = (SELECT id FROM history WHERE instance = i.key
                                               ORDER BY seq DESC, id DESC LIMIT 1)
              WHERE i.key = ?1 AND i.completed_at IS NULL",
        )?;
        let head = select
            .query_row([key.0], |row| Ok(Head { run: row.get(0)?, next_seq: row.get(1)? }))
            .optional()?;
        Ok(head)
    }

    /// Something arrives at an instance, unless it has ended.
    pub(super) fn arrive(&mut self, key: InstanceKey, entry: Entry) -> Result<(), Trouble> {
        self.happen(key, vec![entry])
    }

    /// A row of what happened to an instance, unless it has ended. If there is something for its
    /// runner to see, the row is an arrival, with a hint for each such entry.
    pub(super) fn happen(&mut self, key: InstanceKey, entries: Vec<Entry>) -> Result<(), Trouble> {
        if entries.is_empty() {
            return Ok(());
        }
        let Some(head) = self.head(key)? else { return Ok(()) };
        self.record(key, head, &entries)?;
        if !entries.iter().any(Entry::arrives) {
            return Ok(());
        }
        self.hot.wake.execute([key.0, self.now.0])?;
        for (seq, entry) in (head.next_seq..).zip(entries).filter(|(_, entry)| entry.arrives()) {
            self.claims.arrived(key, seq);
            let recorded = Recorded { seq, run: head.run, at: self.now, entry };
            self.hints.push(Hint::Arrived(key, Box::new(recorded)));
        }
        Ok(())
    }

    /// Runs a part of the batch that may be refused after it has written.
    pub(super) fn guarded<T>(
        &mut self,
        part: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.within_savepoint(part, Result::is_ok)
    }

    /// Runs a part of the batch and takes it back: what would come of it?
    pub(super) fn tried<T>(
        &mut self,
        part: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.within_savepoint(part, |_| false)
    }

    fn within_savepoint<T>(
        &mut self,
        part: impl FnOnce(&mut Self) -> Result<T, Trouble>,
        stays: impl FnOnce(&Result<T, Trouble>) -> bool,
    ) -> Result<T, Trouble> {
        let (mark, caches, hints) = (self.claims.mark(), self.caches.mark(), self.hints.len());
        let (keys, rows, tally) = (*self.keys, self.rows, self.tally);
        self.connection.prepare_cached("SAVEPOINT part")?.execute([])?;
        let result = part(self);
        // What failed takes the whole transaction with it.
        let has_failed = matches!(&result, Err(Trouble::Failed(_)));
        if !has_failed && !stays(&result) {
            self.connection.prepare_cached("ROLLBACK TO part")?.execute([])?;
            self.claims.undo_to(mark);
            self.caches.undo_to(caches);
            self.hints.truncate(hints);
            (*self.keys, self.rows, self.tally) = (keys, rows, tally);
        }
        if !has_failed {
            self.connection.prepare_cached("RELEASE part")?.execute([])?;
        }
        result
    }
}
