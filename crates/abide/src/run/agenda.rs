//! What falls due at one instance.

use crate::time::Timestamp;

use super::state::OpId;

/// Operations by the moment they fall due, the soonest last. A list, because most instances have one
/// thing on it and a tree keeps room for eleven.
#[derive(Default)]
pub(crate) struct Agenda(Vec<(Timestamp, OpId)>);

impl Agenda {
    pub(crate) fn insert(&mut self, at: Timestamp, id: OpId) {
        let place = self.0.partition_point(|due| *due > (at, id));
        self.0.insert(place, (at, id));
    }

    pub(crate) fn remove(&mut self, at: Timestamp, id: OpId) {
        if let Ok(place) = self.0.binary_search_by(|due| (at, id).cmp(due)) {
            self.0.remove(place);
        }
    }

    /// When the soonest is due.
    pub(crate) fn first(&self) -> Option<Timestamp> {
        self.0.last().map(|(at, _)| *at)
    }

    /// Takes the soonest, with its moment, if it is due by now.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, OpId)> {
        self.0.pop_if(|(at, _)| *at <= now)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_order_and_what_was_removed_does_not() {
        let mut agenda = Agenda::default();
        for (at, id) in [(5, 1), (3, 2), (9, 3), (3, 4), (7, 5)] {
            agenda.insert(Timestamp(at), id);
        }
        agenda.remove(Timestamp(7), 5);
        agenda.remove(Timestamp(8), 3);
        assert_eq!(agenda.first(), Some(Timestamp(3)));
        let mut due = vec![];
        while let Some((_, id)) = agenda.pop_due(Timestamp(5)) {
            due.push(id);
        }
        assert_eq!(due, [2, 4, 1]);
        assert_eq!(agenda.first(), Some(Timestamp(9)));
    }
}
