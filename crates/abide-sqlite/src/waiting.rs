//! The open waits for events, in memory: a cache of `subscription_keys`.
//!
//! It is built from rows in pieces after the store was opened, and asked once it is complete. What
//! is registered meanwhile is added at once. A wait stays until the batch that closed it is durable,
//! so what is found here may be closed; whoever finds it looks.

use abide::expr::Folded;
use abide::index::{Finding, Index};
use abide::publication::{Parsed, Seen};
use abide::{Error, Hears, InstanceKey, Kind, Published, Result, Wait};
use hashbrown::HashMap;
use rusqlite::{Connection, params};

use crate::failure::Trouble;
use crate::log;

/// Waits that are read at once: about a millisecond of work.
const PIECE: i64 = 256;

/// Additions between two looks at the size.
const WEIGHED_EVERY: usize = 1024;

/// All of them, or as many as were read so far.
pub(crate) struct Waiting {
    index: Index,
    instances: HashMap<i64, InstanceKey>,
    state: State,
    max_bytes: usize,
    journal: Vec<Undo>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Read up to this instance and wait.
    Building(i64, i64),
    Complete,
    /// It would take more memory than it may, or could not be read. Rows serve.
    Off,
}

/// How to take back one change, or finish it.
enum Undo {
    Opened(i64),
    Closed(i64),
    Edited(Box<Wait>),
}

impl Waiting {
    pub(crate) fn new(max_bytes: usize) -> Self {
        let state = if max_bytes == 0 { State::Off } else { State::Building(i64::MIN, 0) };
        let (index, instances) = (Index::default(), HashMap::new());
        Self { index, instances, state, max_bytes, journal: Vec::new() }
    }

    /// Whether there is more to be read.
    pub(crate) fn is_building(&self) -> bool {
        matches!(self.state, State::Building(..))
    }

    /// Whether it knows all.
    pub(crate) fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// How many of those that are known are asked about every event that their pattern covers.
    pub(crate) fn scanned(&self) -> usize {
        self.index.scanned()
    }

    /// Reads some more. To be called between batches: a batch may be taken back, and with it the
    /// closing of a wait that was not read for that.
    pub(crate) fn build(&mut self, connection: &Connection) {
        if let Err(trouble) = self.read(connection) {
            let error = Error::from(trouble);
            tracing::error!(%error, "waits are not kept in memory: one of them can't be read");
            self.give_up();
        }
    }

    fn read(&mut self, connection: &Connection) -> Result<(), Trouble> {
        let State::Building(instance, wait) = self.state else { return Ok(()) };
        let mut select = connection.prepare_cached(
            "SELECT instance, key, kind, event_pattern, filter_folded
               FROM workflow_event_subscriptions
                    INDEXED BY workflow_event_subscriptions_open_idx
              WHERE status = 'active' AND (instance, key) > (?1, ?2)
              ORDER BY instance, key LIMIT ?3",
        )?;
        let mut rows = select.query(params![instance, wait, PIECE])?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            read += 1;
            let (instance, wait): (i64, i64) = (row.get(0)?, row.get(1)?);
            self.state = State::Building(instance, wait);
            if row.get::<_, String>(2)? != Kind::Event.as_str() {
                continue;
            }
            let (pattern, filter): (String, Option<String>) = (row.get(3)?, row.get(4)?);
            let corrupt =
                |refused| Error::corrupt(format!("filter of wait with key {wait}: {refused}"));
            let filter = filter.map(|text| Folded::parse(&text)).transpose().map_err(corrupt)?;
            self.insert(wait, InstanceKey(instance), &pattern, filter.as_ref());
            if self.state == State::Off {
                return Ok(());
            }
        }
        if read < PIECE {
            self.state = State::Complete;
        }
        Ok(())
    }

    fn insert(&mut self, wait: i64, key: InstanceKey, pattern: &str, filter: Option<&Folded>) {
        self.index.insert(wait, pattern, filter);
        self.instances.insert(wait, key);
        if self.instances.len().is_multiple_of(WEIGHED_EVERY) {
            let bytes = self.index.bytes() + self.instances.allocation_size();
            if bytes > self.max_bytes {
                tracing::warn!(bytes, "waits take too much memory and are read from the file");
                self.give_up();
            }
        }
    }

    fn give_up(&mut self) {
        self.state = State::Off;
        self.index = Index::default();
        self.instances = HashMap::new();
    }

    fn put(&mut self, wait: &Wait) {
        if let Hears::Sent { kind: Kind::Event, pattern } = &wait.hears
            && self.state != State::Off
        {
            let filter = wait.filter.as_ref().map(|filter| &filter.folded);
            self.insert(wait.key, wait.instance, pattern, filter);
        }
    }

    fn remove(&mut self, wait: i64) {
        self.index.remove(wait);
        self.instances.remove(&wait);
    }

    /// A wait is open from now on.
    pub(crate) fn opened(&mut self, wait: &Wait) {
        self.put(wait);
        self.journal.push(Undo::Opened(wait.key));
    }

    /// A wait is no longer open, once that is durable.
    pub(crate) fn closed(&mut self, wait: i64) {
        self.journal.push(Undo::Closed(wait));
    }

    /// A wait wants something else from now on.
    pub(crate) fn edited(&mut self, before: &Wait, after: &Wait) {
        self.put(after);
        self.journal.push(Undo::Edited(Box::new(before.clone())));
    }

    pub(crate) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Takes back everything since a mark, newest first.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        while self.journal.len() > mark {
            match self.journal.pop() {
                Some(Undo::Opened(wait)) => self.remove(wait),
                Some(Undo::Edited(before)) => self.put(&before),
                Some(Undo::Closed(_)) | None => {}
            }
        }
    }

    /// The batch is durable: what it closed goes.
    pub(crate) fn settle(&mut self) {
        let mut journal = std::mem::take(&mut self.journal);
        for undo in journal.drain(..) {
            if let Undo::Closed(wait) = undo {
                self.remove(wait);
            }
        }
        self.journal = journal;
    }

    /// The waits that want an event, by key, and their instances.
    pub(crate) fn found(&self, event: &Published) -> Vec<(i64, InstanceKey)> {
        let (publication, parsed) = (log::timed(event), Parsed::default());
        let seen = Seen::of(&publication, &parsed).numbered(event.seq);
        let mut found = Vec::new();
        self.index.matching(&publication.event_type, &seen, |wait, finding| match finding {
            Finding::Match => found.extend(self.instances.get(&wait).map(|key| (wait, *key))),
            Finding::NearMiss => {}
            Finding::Failed(error) => {
                tracing::warn!(wait, event = event.seq, %error, "a filter failed on an event");
            }
        });
        found.sort_unstable();
        found
    }
}
