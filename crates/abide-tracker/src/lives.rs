//! The lives of the instances that were told of lately. What is forgotten is read again from the history.

use abide::history::Recorded;
use abide::store::Store;
use abide::{InstanceKey, Result, TailRow};
use hashbrown::HashMap;

use crate::life::Life;

/// Names that half of what is remembered may have.
const MAX_WEIGHT: usize = 50_000;

/// Entries that are read at once.
const PAGE: usize = 1000;

/// Two generations: what was not asked for since the last change of generations is forgotten with the next, which
/// keeps what is in use, costs no order, and bounds the whole.
#[derive(Default)]
pub(crate) struct Lives {
    young: HashMap<InstanceKey, Life>,
    old: HashMap<InstanceKey, Life>,
    weight: usize,
}

impl Lives {
    /// An instance as it was before a row.
    pub(crate) async fn before(&mut self, store: &dyn Store, row: &TailRow) -> Result<Life> {
        let remembered = self.take(row.key);
        let first = row.recorded.first().map_or(1, |first| first.seq);
        let mut life = match remembered {
            Some(life) if life.seq < first => life,
            _ => Life::default(),
        };
        if life.seq == 0 && first > 1 {
            life.seq = run_began(store, row, first).await?;
        }
        while life.seq + 1 < first {
            let page = store.history(&row.id, life.seq, PAGE).await?;
            let earlier: Vec<Recorded> =
                page.into_iter().take_while(|recorded| recorded.seq < first).collect();
            if earlier.is_empty() {
                break;
            }
            life.absorb(&earlier, &row.id);
        }
        Ok(life)
    }

    fn take(&mut self, key: InstanceKey) -> Option<Life> {
        let young = self.young.remove(&key).inspect(|life| self.weight -= life.weight());
        young.or_else(|| self.old.remove(&key))
    }

    /// Remembers an instance as it is now.
    pub(crate) fn keep(&mut self, key: InstanceKey, life: Life) {
        if life.is_over() {
            return;
        }
        self.weight += life.weight();
        self.young.insert(key, life);
        if self.weight > MAX_WEIGHT {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// After which entry the run began that a row is of: what was before does not matter to it.
async fn run_began(store: &dyn Store, row: &TailRow, first: i64) -> Result<i64> {
    let instance = store.instance(&row.id).await?;
    let began = instance.map_or(1, |instance| instance.run_seq);
    // The row may be of an earlier run.
    Ok(if began <= first { began - 1 } else { 0 })
}
