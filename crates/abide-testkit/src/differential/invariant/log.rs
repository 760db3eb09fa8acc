//! What must hold between waits and what was published.

use std::collections::{HashMap, HashSet};

use abide::{Buffered, InstanceId, Published, Timestamp, Wait, WaitStatus};

use super::{View, fulfilled, held};

fn in_log<'v>(view: &'v View, id: &str) -> Option<&'v Published> {
    let mut all = view.log.iter().map(|logged| &logged.published);
    all.find(|published| published.event.id.as_deref() == Some(id))
}

/// Whether something with this id was published, as far as the log still knows.
pub(super) fn may_be_published(view: &View, id: &str) -> bool {
    let has_forgotten = view.span.oldest.is_none_or(|oldest| oldest > 1)
        || i64::try_from(view.log.len()).is_ok_and(|kept| kept < view.span.newest);
    in_log(view, id).is_some() || (has_forgotten && view.span.newest > 0)
}

/// Who took it once took it for all waits that wanted it then, and for none that came later.
pub(super) fn taken_once(view: &View, _: Timestamp) -> bool {
    let mut met: HashMap<(&InstanceId, &str), Option<Timestamp>> = HashMap::new();
    fulfilled(view).all(|(wait, _)| {
        let Some(by) = wait.fulfilled_by.as_deref().filter(|by| in_log(view, by).is_some()) else {
            return true;
        };
        let key = (&wait.instance_id, by);
        *met.entry(key).or_insert(wait.fulfilled_at) == wait.fulfilled_at
    })
}

fn takers(view: &View) -> HashSet<(i64, &InstanceId)> {
    let all = view.takers.iter();
    all.flat_map(|(seq, takers)| takers.iter().map(move |taker| (*seq, &taker.instance_id)))
        .collect()
}

fn open(view: &View) -> impl Iterator<Item = &Wait> {
    view.waits.iter().filter(|wait| wait.status == WaitStatus::Active)
}

/// Register or publish: whichever comes second sees the other.
pub(super) fn nothing_is_missed(view: &View, _: Timestamp) -> bool {
    let taken = takers(view);
    open(view).filter(|wait| !wait.cut_short).all(|wait| {
        let mut missed = view.log.iter().map(|logged| &logged.published).filter(|published| {
            published.seq > wait.since
                && !taken.contains(&(published.seq, &wait.instance_id))
                && wait.wants(&published.sent(0))
        });
        missed.next().is_none()
    })
}

/// Looks only at waits whose deadline has not passed: those no longer take anything.
pub(super) fn nothing_lies_idle(view: &View, now: Timestamp) -> bool {
    let kept: HashMap<&InstanceId, &Vec<Buffered>> =
        view.buffers.iter().map(|(id, kept)| (id, kept)).collect();
    let is_held = |of: &InstanceId, sent: &Buffered| {
        let mine = open(view).filter(|wait| wait.instance_id == *of);
        mine.flat_map(held).any(|held| held.id == sent.id)
    };
    open(view).filter(|wait| wait.timeout_at.is_none_or(|at| at > now)).all(|wait| {
        let of = &wait.instance_id;
        let mine = kept.get(of).into_iter().flat_map(|kept| kept.iter());
        let mut idle = mine.filter(|sent| sent.log.is_some() && !is_held(of, sent));
        !idle.any(|sent| wait.wants(sent))
    })
}

/// Whoever has it, and whatever the verdict says, is in the log.
pub(super) fn takers_are_told(view: &View, _: Timestamp) -> bool {
    let taken = takers(view);
    let told = |wait: &Wait, id: &str| {
        in_log(view, id).is_none_or(|it| taken.contains(&(it.seq, &wait.instance_id)))
    };
    let met = fulfilled(view).all(|(wait, _)| {
        let all = held(wait).iter().map(|held| &*held.id).chain(wait.fulfilled_by.as_deref());
        all.into_iter().all(|id| told(wait, id))
    });
    let holding = open(view).all(|wait| held(wait).iter().all(|held| told(wait, &held.id)));
    let wanted = view.log.iter().all(|logged| {
        let has_takers = taken.iter().any(|(seq, _)| *seq == logged.published.seq);
        logged.wanted || !(has_takers || logged.verdict.is_wanted())
    });
    met && holding && wanted
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use abide::store::{IfExists, Store};
    use abide::{NewInstance, Transition};

    use super::super::super::BEGIN;
    use super::super::super::contender::Contender;
    use super::super::broken;
    use super::*;
    use crate::fixture::{Does, does, instance, published, wait_for_many};
    use crate::{ManualClock, MemoryStore};

    /// How a store looks in which one instance did something and then two events were published.
    async fn view(first: Transition) -> View {
        let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::at(BEGIN))));
        let contender = Contender::attach(Arc::clone(&store) as _).await;
        let new = NewInstance { first: Some(first), ..instance("a") };
        store.start(vec![new], IfExists::Error).await.unwrap();
        for id in ["p1", "p2"] {
            store.publish(published("e", id)).await.unwrap();
        }
        contender.view(0).await
    }

    fn says(view: &View, what: &str) -> bool {
        broken(view, BEGIN).is_some_and(|told| told.contains(what))
    }

    #[tokio::test]
    async fn each_is_seen_to_be_broken() {
        let both = || view(does().hears("one", "e").hears("two", "e").waits());
        assert_eq!(broken(&both().await, BEGIN), None);

        let mut twice = both().await;
        twice.waits[1].fulfilled_at = Some(Timestamp(BEGIN.0 + 1));
        assert!(says(&twice, "twice"));

        let mut missed = both().await;
        missed.waits[1].status = WaitStatus::Active;
        missed.waits[1].fulfilled_by = None;
        assert!(says(&missed, "has been offered"), "p2 is there");
        missed.waits[1].since = 2;
        assert_eq!(broken(&missed, BEGIN), None);
        missed.waits[1].since = 0;
        missed.waits[1].cut_short = true;
        assert_eq!(broken(&missed, BEGIN), None);

        let mut untold = both().await;
        untold.takers.clear();
        assert!(says(&untold, "told by the log"));

        let mut made_up = both().await;
        made_up.waits[1].fulfilled_by = Some("p9".into());
        assert!(says(&made_up, "names an accepted event"));

        let mut idle =
            view(does().reaches(wait_for_many("w", "e", 3)).hears("v", "f").waits()).await;
        assert_eq!(broken(&idle, BEGIN), None);
        idle.waits[0].count.as_mut().unwrap().held.clear();
        assert!(says(&idle, "let go"));
    }
}
