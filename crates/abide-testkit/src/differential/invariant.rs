//! What must hold between waits and what they wait for, whatever was done before.

use std::collections::HashSet;
use std::sync::Arc;

use abide::history::{Entry, EntryKind};
use abide::{Hears, Held, InstanceId, Kind, Phase, Timestamp, Wait, WaitStatus};

use super::view::View;

mod log;

type Invariant = fn(&View, Timestamp) -> bool;

const INVARIANTS: [(&str, Invariant); 15] = [
    ("a finished instance owns no open wait and no pending event", finished_own_nothing_open),
    ("an event meets a wait exactly once", consumed_once),
    ("every fulfilled wait names an accepted event", fulfilled_by_what_was_accepted),
    ("nothing is buffered that a wait has consumed", consumed_is_not_buffered),
    ("a parked instance wakes when something falls due at it", parked_wake_in_time),
    ("only a wait that is open or was met holds something", held_by_the_living),
    ("an open wait holds less than it needs", held_is_not_enough),
    ("of each distinct value a wait holds one", held_is_distinct),
    ("what an open wait holds is buffered, or another was met with it", held_is_there),
    ("nobody races on once the race was won", race_is_over),
    ("a signal or message is buffered until the history says where it went", nothing_vanishes),
    ("no instance takes a published event twice", log::taken_once),
    ("what was published and a wait wants, it has been offered", log::nothing_is_missed),
    ("what a wait let go, an open one that wants it has been offered", log::nothing_lies_idle),
    ("what took a published event is told by the log", log::takers_are_told),
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
        wait.fulfilled_by.as_ref().is_some_and(|by| log::may_be_published(view, by))
            || accepted.contains(&(&wait.instance_id, &wait.fulfilled_by))
    })
}

fn consumed_is_not_buffered(view: &View, _: Timestamp) -> bool {
    buffered(view).is_disjoint(&had(view))
}

fn held(wait: &Wait) -> &[Held] {
    wait.count.as_ref().map_or(&[], |count| &count.held)
}

fn held_by_the_living(view: &View, _: Timestamp) -> bool {
    let dead = |wait: &&Wait| matches!(wait.status, WaitStatus::Expired | WaitStatus::Cancelled);
    view.waits.iter().filter(dead).all(|wait| held(wait).is_empty())
}

fn held_is_not_enough(view: &View, _: Timestamp) -> bool {
    let open = view.waits.iter().filter(|wait| wait.status == WaitStatus::Active);
    open.filter_map(|wait| wait.count.as_ref())
        .all(|count| count.held.len() < count.needed as usize)
}

fn held_is_distinct(view: &View, _: Timestamp) -> bool {
    view.waits.iter().all(|wait| {
        let values: Vec<_> = held(wait).iter().filter_map(|held| held.distinct.as_ref()).collect();
        values.iter().collect::<HashSet<_>>().len() == values.len()
    })
}

/// What waits were met with: what fulfilled them, and what they held then.
fn had(view: &View) -> HashSet<(&InstanceId, &Arc<str>)> {
    fulfilled(view)
        .flat_map(|(wait, _)| {
            let all = held(wait).iter().map(|held| &held.id).chain(&wait.fulfilled_by);
            all.map(|id| (&wait.instance_id, id))
        })
        .collect()
}

fn buffered(view: &View) -> HashSet<(&InstanceId, &Arc<str>)> {
    let all = view.buffers.iter();
    all.flat_map(|(id, kept)| kept.iter().map(move |kept| (id, &kept.id))).collect()
}

fn held_is_there(view: &View, _: Timestamp) -> bool {
    let (had, buffered) = (had(view), buffered(view));
    let open = view.waits.iter().filter(|wait| wait.status == WaitStatus::Active);
    open.flat_map(|wait| held(wait).iter().map(move |held| (&wait.instance_id, &held.id)))
        .all(|held| had.contains(&held) != buffered.contains(&held))
}

fn race_is_over(view: &View, _: Timestamp) -> bool {
    let in_race = |status: WaitStatus| {
        let waits = view.waits.iter().filter(move |wait| wait.status == status);
        waits.filter_map(|wait| wait.race.as_ref().map(|race| (&wait.instance_id, wait.run, race)))
    };
    let won: Vec<_> = in_race(WaitStatus::Fulfilled).collect();
    let once: HashSet<_> = won.iter().copied().collect();
    once.len() == won.len() && in_race(WaitStatus::Active).all(|racing| !once.contains(&racing))
}

/// Looks at what came in the current run of an instance: a restart forgets what was there. An event
/// may be dropped in its time without a word; signals and messages, which have a kind, may not.
fn nothing_vanishes(view: &View, _: Timestamp) -> bool {
    let (had, buffered) = (had(view), buffered(view));
    view.instances.iter().zip(&view.histories).all(|(instance, (id, history))| {
        let history = history.iter().filter(|recorded| recorded.run == instance.run);
        let entries: Vec<_> = history.map(|recorded| &recorded.entry).collect();
        let last = |event: &Arc<str>| {
            entries.iter().rev().find(|entry| entry.event_id.as_ref() == Some(event))
        };
        let is_kept = |entry: &&&Entry| entry.entry == EntryKind::EventBuffered;
        let came = entries.iter().filter(is_kept).filter(|entry| entry.kind.is_some());
        came.filter_map(|entry| entry.event_id.as_ref()).all(|event| {
            let place = (id, event);
            let is_there = buffered.contains(&place) || had.contains(&place);
            is_there || last(event).is_some_and(|entry| entry.entry != EntryKind::EventBuffered)
        })
    })
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
    use abide::store::{IfExists, Store};
    use abide::{Count, NewInstance, NewWait, Transition};

    use super::super::BEGIN;
    use super::super::contender::Contender;
    use super::*;
    use crate::fixture::{Does, does, instance, signal, wait};
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

        let mut vanished = view(does().waits()).await;
        assert_eq!(broken(&vanished, BEGIN), None);
        vanished.buffers[0].1.clear();
        assert!(says(&vanished, "until the history says"));

        let mut asleep = view(does().hears("w", "e").waits()).await;
        assert_eq!(broken(&asleep, BEGIN), None);
        asleep.waits[0].timeout_at = Some(BEGIN);
        assert!(says(&asleep, "wakes when something falls due"));
    }

    #[tokio::test]
    async fn each_about_what_is_held_is_seen_to_be_broken() {
        let count = Some(Count { needed: 3, distinct_by: None, held: vec![] });
        let counted = NewWait { count, ..wait("w", Kind::Signal, "s") };
        let holding = || view(does().reaches(counted.clone()).waits());
        assert_eq!(broken(&holding().await, BEGIN), None);

        let mut dead = holding().await;
        dead.waits[0].status = WaitStatus::Expired;
        assert!(says(&dead, "open or was met"));

        let mut enough = holding().await;
        enough.waits[0].count.as_mut().unwrap().needed = 2;
        assert!(says(&enough, "less than it needs"));

        let mut same = holding().await;
        let held = &mut same.waits[0].count.as_mut().unwrap().held;
        held.iter_mut().for_each(|held| held.distinct = Some("1".into()));
        assert!(says(&same, "each distinct value"));

        let mut gone = holding().await;
        gone.buffers[0].1.clear();
        assert!(says(&gone, "holds is buffered"));
    }

    #[tokio::test]
    async fn a_race_that_goes_on_is_seen_to_be_broken() {
        let racing = |step| NewWait { race: Some("r".into()), ..wait(step, Kind::Signal, "s") };
        let both = || view(does().reaches(racing("w")).reaches(racing("v")).waits());
        assert_eq!(broken(&both().await, BEGIN), None);
        let mut goes_on = both().await;
        goes_on.waits[1].status = WaitStatus::Active;
        assert!(says(&goes_on, "once the race was won"));
    }
}
