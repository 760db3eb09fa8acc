//! What must hold between waits and what they wait for, whatever was done before.

use std::collections::HashSet;

use abide::history::EntryKind;
use abide::{Hears, Kind, Phase, Timestamp, Wait, WaitStatus};

use super::view::View;

type Invariant = fn(&View, Timestamp) -> bool;

const INVARIANTS: [(&str, Invariant); 5] = [
    ("a finished instance owns no open wait and no pending event", finished_own_nothing_open),
    ("an event meets a wait exactly once", consumed_once),
    ("every fulfilled wait names an accepted event", fulfilled_by_what_was_accepted),
    ("nothing is buffered that a wait has consumed", consumed_is_not_buffered),
    ("a parked instance wakes when something falls due at it", parked_wake_in_time),
];

/// The first invariant that does not hold.
pub(crate) fn broken(view: &View, now: Timestamp) -> Option<String> {
    let broken = INVARIANTS.iter().find(|(_, holds)| !holds(view, now));
    broken.map(|(what, _)| format!("the invariant is broken that {what}\n{:#?}", view.waits))
}

fn finished_own_nothing_open(view: &View, _: Timestamp) -> bool {
    let finished: HashSet<_> = view
        .instances
        .iter()
        .filter(|instance| instance.phase.is_terminal())
        .map(|instance| &instance.id)
        .collect();
    let open = view.waits.iter().filter(|wait| wait.status == WaitStatus::Active);
    let waiting = open.map(|wait| &wait.instance_id);
    let keeping = view.buffers.iter().filter(|(_, kept)| !kept.is_empty()).map(|(id, _)| id);
    waiting.chain(keeping).all(|id| !finished.contains(id))
}

fn fulfilled(view: &View) -> impl Iterator<Item = (&Wait, Kind)> {
    view.waits.iter().filter_map(|wait| match wait.hears {
        Hears::Sent { kind, .. } if wait.status == WaitStatus::Fulfilled => Some((wait, kind)),
        _ => None,
    })
}

fn consumed_once(view: &View, _: Timestamp) -> bool {
    let mut consumed = HashSet::new();
    fulfilled(view)
        .filter(|(_, kind)| *kind != Kind::Event)
        .all(|(wait, _)| consumed.insert((&wait.instance_id, &wait.fulfilled_by)))
}

fn fulfilled_by_what_was_accepted(view: &View, _: Timestamp) -> bool {
    let accepted: HashSet<_> = view
        .histories
        .iter()
        .flat_map(|(id, history)| history.iter().map(move |recorded| (id, &recorded.entry)))
        .filter(|(_, entry)| entry.entry == EntryKind::EventReceived)
        .map(|(id, entry)| (id, &entry.event_id))
        .collect();
    fulfilled(view).all(|(wait, _)| {
        wait.fulfilled_by.is_some() && accepted.contains(&(&wait.instance_id, &wait.fulfilled_by))
    })
}

fn consumed_is_not_buffered(view: &View, _: Timestamp) -> bool {
    let buffered: HashSet<_> = view
        .buffers
        .iter()
        .flat_map(|(id, kept)| kept.iter().map(move |kept| (id, Some(&kept.id))))
        .collect();
    fulfilled(view)
        .all(|(wait, _)| !buffered.contains(&(&wait.instance_id, wait.fulfilled_by.as_ref())))
}

fn parked_wake_in_time(view: &View, now: Timestamp) -> bool {
    let parked = view
        .instances
        .iter()
        .filter(|instance| matches!(instance.phase, Phase::Waiting | Phase::Sleeping));
    let wakes = |wake_at: Option<Timestamp>, by: Timestamp| wake_at.is_some_and(|at| at <= by);
    parked.filter(|instance| !instance.paused).all(|instance| {
        let open = view.waits.iter().filter(|wait| wait.status == WaitStatus::Active);
        let mine = open.filter(|wait| wait.instance == instance.key);
        let buffers = view.buffers.iter().filter(|(id, _)| *id == instance.id);
        let later = buffers.flat_map(|(_, kept)| kept).filter_map(|kept| kept.visible_at);
        let moments = mine.filter_map(|wait| wait.timeout_at).chain(later.filter(|at| *at > now));
        moments.into_iter().all(|at| wakes(instance.wake_at, at))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use abide::store::{IfExists, Store};
    use abide::{NewInstance, Transition};

    use super::super::BEGIN;
    use super::super::contender::Contender;
    use super::*;
    use crate::fixture::{Does, does, instance, signal};
    use crate::{ManualClock, MemoryStore};

    /// How a store looks in which one instance did something and then got two signals.
    async fn view(first: Transition) -> View {
        let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::at(BEGIN))));
        let contender = Contender::attach(Arc::clone(&store) as _).await;
        let new = NewInstance { first: Some(first), ..instance("a") };
        store.start(vec![new], IfExists::Error).await.unwrap();
        for id in ["m1", "m2"] {
            store.deliver(signal("a", "s", id)).await.unwrap();
        }
        contender.view(0).await
    }

    fn says(view: &View, what: &str) -> bool {
        broken(view, BEGIN).is_some_and(|told| told.contains(what))
    }

    #[tokio::test]
    async fn each_is_seen_to_be_broken() {
        let waits = || does().hears_signal("one", "s").hears_signal("two", "s").waits();
        let sound = view(waits()).await;
        assert_eq!(broken(&sound, BEGIN), None);

        let mut revived = view(waits()).await;
        revived.instances[0].phase = Phase::Completed;
        assert_eq!(broken(&revived, BEGIN), None);
        revived.waits[0].status = WaitStatus::Active;
        assert!(says(&revived, "owns no open wait"));

        let mut twice = view(waits()).await;
        twice.waits[1].fulfilled_by = Some("m1".into());
        assert!(says(&twice, "exactly once"));

        let mut made_up = view(waits()).await;
        made_up.waits[1].fulfilled_by = Some("m9".into());
        assert!(says(&made_up, "names an accepted event"));

        let mut both = view(does().hears_signal("one", "s").waits()).await;
        both.waits[0].fulfilled_by = Some("m2".into());
        assert!(says(&both, "nothing is buffered"));

        let mut asleep = view(does().hears("w", "e").waits()).await;
        assert_eq!(broken(&asleep, BEGIN), None);
        asleep.waits[0].timeout_at = Some(BEGIN);
        assert!(says(&asleep, "wakes when something falls due"));
    }
}
