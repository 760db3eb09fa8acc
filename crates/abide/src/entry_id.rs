//! The id under which an entry of a history is told outside.

use uuid::Uuid;

use crate::history::Recorded;
use crate::id::InstanceId;
use crate::sip_hash::sip_hash;

impl Recorded {
    /// The id of this entry: the same whenever, wherever and by whomever it is told.
    #[must_use]
    pub fn event_id(&self, instance: &InstanceId) -> String {
        self.event_id_as(instance, "")
    }

    /// The id of something that is told because of this entry, and is not the entry itself.
    ///
    /// A `UUIDv7` of its moment, so that ids sort by time. The other 74 bits are a hash of what it is, so they
    /// have to tell apart only what was recorded in the same millisecond: for 10 000 such entries the chance that
    /// two share an id is 1 in 10^14. Nobody gains by finding two on purpose, so the hash needs no secret.
    #[must_use]
    pub fn event_id_as(&self, instance: &InstanceId, what: &str) -> String {
        // Neither an id nor a word of ours has a line break, so no two triples have the same text.
        let text = format!("{}\n{}\n{what}", instance.as_str(), self.seq);
        let mut bytes = [0; 10];
        let (high, low) = bytes.split_at_mut(8);
        high.copy_from_slice(&sip_hash([0, 1], text.as_bytes()).to_le_bytes());
        low.copy_from_slice(&sip_hash([2, 3], text.as_bytes()).to_le_bytes()[..2]);
        let ms = u64::try_from(self.at.0).unwrap_or(0);
        let uuid: Uuid = uuid::Builder::from_unix_timestamp_millis(ms, &bytes).into_uuid();
        format!("evt_{}", uuid.simple())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::history::{Entry, EntryKind};
    use crate::time::Timestamp;

    fn recorded(seq: i64, at: i64) -> Recorded {
        Recorded { seq, run: 1, at: Timestamp(at), entry: Entry::new(EntryKind::Update) }
    }

    #[test]
    fn an_entry_has_one_id_and_shares_it_with_nobody() {
        let mut ids = BTreeSet::new();
        for id in ["i", "i2", "j"] {
            let id = InstanceId::new(id).unwrap();
            for seq in [1, 2, 21] {
                assert_eq!(recorded(seq, 5).event_id(&id), recorded(seq, 5).event_id(&id));
                ids.insert(recorded(seq, 5).event_id(&id));
                ids.insert(recorded(seq, 5).event_id_as(&id, "timeout.set"));
            }
        }
        assert_eq!(ids.len(), 18);
        let id = InstanceId::new("i").unwrap();
        assert!(recorded(9, 1000).event_id(&id) < recorded(1, 1001).event_id(&id), "by time");
    }
}
