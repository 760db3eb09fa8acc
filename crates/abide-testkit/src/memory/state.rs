//! What is kept: instances by key, each with everything it owns.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use abide::history::{EntryKind, Recorded, decode_row};
use abide::meeting::BufferLimit;
use abide::metrics::Tally;
use abide::store::{Epoch, Hint};
use abide::{
    Document, Error, Instance, InstanceId, InstanceKey, Logged, Output, Result, Timestamp,
};

use super::chunk::Chunks;
use super::mailbox::Mailbox;
use super::tail::Row;
use super::trigger::Opened;

/// Everything there is. It is cloned for a dry run, which leaves no trace.
#[derive(Clone, Default)]
pub(super) struct State {
    /// By key, which is the order in which they were created.
    pub(super) kept: BTreeMap<InstanceKey, Kept>,
    pub(super) keys: HashMap<InstanceId, InstanceKey>,
    /// The last key given out. It only rises, so that a pruned key never comes back.
    pub(super) last_key: i64,
    /// The last keys given out to a wait and to something that was sent, of whichever instance.
    pub(super) last_wait: i64,
    pub(super) last_mail: i64,
    /// Every row of history by its number, and the last number given out.
    pub(super) rows: BTreeMap<i64, Row>,
    pub(super) last_row: i64,
    /// The last number given out to a chunk, of whichever instance.
    pub(super) last_chunk: i64,
    /// What was published, by number.
    pub(super) log: BTreeMap<i64, Logged>,
    /// The last number that was given to a source and id; the log may have lost it.
    pub(super) numbers: HashMap<(Option<String>, String), i64>,
    /// The last number given out to a published event.
    pub(super) last_published: i64,
    /// The windows of triggers, by trigger and key.
    pub(super) windows: HashMap<(Arc<str>, Arc<str>), Opened>,
    /// All versions of documents, oldest first, by kind and name.
    pub(super) documents: BTreeMap<(&'static str, Arc<str>), Vec<Document>>,
    /// The last epoch given out, to whichever instance.
    pub(super) last_epoch: i64,
    /// The moment of the present verb: everything in one transaction happens at once.
    pub(super) now: Timestamp,
    /// What to tell the listener once the present verb is done.
    pub(super) hints: Vec<Hint>,
    pub(super) limits: Limits,
    /// Everything that was recorded, and published.
    pub(super) tally: Tally,
}

/// How much an instance may make the store keep.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) buffer: BufferLimit,
    /// `event.rememberedIds`.
    pub(super) remembered_ids: usize,
    /// `lookback.maxScanned`.
    pub(super) scanned: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { buffer: BufferLimit::default(), remembered_ids: 10_000, scanned: 10_000 }
    }
}

/// One instance with everything it owns.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) instance: Instance,
    /// Who may write for it. The claim of an ended or restarted instance is gone.
    pub(super) claim: Option<Epoch>,
    /// The number of the last arrival.
    pub(super) arrived: i64,
    /// All runs, marks included.
    pub(super) history: Vec<Recorded>,
    pub(super) chunks: Chunks,
    pub(super) mailbox: Mailbox,
    pub(super) outputs: BTreeMap<Arc<str>, Output>,
}

impl State {
    /// An instance that must be there, because something that is there names it.
    pub(super) fn kept(&mut self, key: InstanceKey) -> Result<&mut Kept> {
        self.kept.get_mut(&key).ok_or_else(|| Error::corrupt(format!("no instance {key:?}")))
    }

    /// Adds a row to the history of an instance, and numbers its entries.
    pub(super) fn record(&mut self, key: InstanceKey, row: &str) -> Result<()> {
        let now = self.now;
        let mut tally = self.tally;
        let Kept { instance, history, .. } = self.kept(key)?;
        let recorded = decode_row(row, instance.next_seq, instance.run, now)?;
        let from = history.len();
        for entry in recorded {
            tally.add(&entry.entry);
            if is_numbered(&entry) {
                instance.next_seq = entry.seq + 1;
            }
            history.push(entry);
        }
        instance.updated_at = now;
        let to = history.len();
        self.tally = tally;
        if to > from {
            self.last_row += 1;
            self.rows.insert(self.last_row, Row { key, from, to });
        }
        Ok(())
    }

    /// The right to run an instance that nobody had before.
    pub(super) fn next_epoch(&mut self) -> Epoch {
        self.last_epoch += 1;
        Epoch(self.last_epoch)
    }
}

impl Kept {
    /// An instance that owns nothing yet.
    pub(super) fn new(instance: Instance) -> Self {
        Self {
            instance,
            claim: None,
            arrived: 0,
            history: vec![],
            chunks: Chunks::new(),
            mailbox: Mailbox::default(),
            outputs: BTreeMap::new(),
        }
    }

    /// The history of the current run, marks included: what replay needs.
    pub(super) fn current_run(&self) -> Vec<Recorded> {
        let run = self.instance.run;
        self.history.iter().filter(|recorded| recorded.run == run).cloned().collect()
    }
}

/// Whether it is shown outside. Marks are not.
pub(super) fn is_numbered(recorded: &Recorded) -> bool {
    recorded.entry.entry != EntryKind::Seen
}
