//! What a store counts, and how much it says there is.

use abide::history::EntryKind;
use abide::metrics::{Census, Tally};
use abide::{Delivery, IfExists, NewInstance, Publish, Status};

use crate::Lab;
use crate::fixture::{Does, does, event, instance, published, signal};

/// What the history of all instances says, marks aside.
async fn told(lab: &Lab) -> Tally {
    let mut tally = Tally::default();
    for instance in lab.all().await {
        for recorded in lab.history(instance.id.as_str()).await {
            tally.add(&recorded.entry);
        }
    }
    tally
}

#[track_caller]
fn agree(counted: &Tally, told: &Tally) {
    for kind in EntryKind::ALL.iter().filter(|kind| **kind != EntryKind::Seen) {
        assert_eq!(counted.of(*kind), told.of(*kind), "{kind}");
    }
    assert_eq!(counted.steps_failed(), told.steps_failed());
}

pub async fn every_entry_is_counted_once_whoever_wrote_it(lab: &Lab) {
    let a = lab.begin_doing("a", does().completes_step("first").hears("w", "paid").waits()).await;
    lab.accepted(event("a", "paid", "e1")).await;
    lab.accepted(event("a", "later", "e2")).await;
    lab.stored(a, does().completes_step("second").awaits("b", "child").waits()).await;
    lab.terminate("b").await;
    lab.stored(a, does().completes(1)).await;
    lab.restart("a").await;
    let counted = lab.store.figures().tally;
    agree(&counted, &told(lab).await);
    let of = |kind| counted.of(kind);
    assert_eq!((of(EntryKind::WaitFulfilled), of(EntryKind::EventDiscarded)), (1, 1));
    assert_eq!((of(EntryKind::WorkflowTerminated), of(EntryKind::WorkflowRestarted)), (1, 1));
}

pub async fn what_is_refused_or_fenced_is_not_counted(lab: &Lab) {
    let a = lab.begin("a").await;
    let newer = lab.take("a").await;
    let before = lab.store.figures().tally;
    lab.fenced(a, does().completes_step("late")).await;
    lab.refused(event("nobody", "x", "e")).await;
    assert_eq!(lab.store.figures().tally, before);
    lab.stored(newer, does().completes(1)).await;
    agree(&lab.store.figures().tally, &told(lab).await);
}

pub async fn published_events_are_counted_by_whether_anybody_wanted_them(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "paid").waits()).await;
    let dry = |publish: Publish| Publish { dry_run: true, ..publish };
    lab.publish(dry(published("paid", "e1"))).await.unwrap();
    let nothing = lab.store.figures().tally;
    assert_eq!((nothing.published_wanted(), nothing.of(EntryKind::WaitFulfilled)), (0, 0));
    for (id, name) in [("e1", "paid"), ("e2", "paid"), ("e3", "x"), ("e1", "paid")] {
        lab.publish(published(name, id)).await.unwrap();
    }
    lab.publish(dry(published("x", "e3"))).await.unwrap();
    let tally = lab.store.figures().tally;
    let counts = (tally.published_wanted(), tally.published_unwanted(), tally.published_again());
    assert_eq!(counts, (1, 2, 1));
    agree(&tally, &told(lab).await);
}

pub async fn a_census_counts_instances_by_status_and_what_is_open(lab: &Lab) {
    assert_eq!(lab.store.census().await.unwrap(), Census::default());
    lab.begin("running").await;
    lab.begin_doing("waiting", does().hears("w", "a").hears("v", "b").waits()).await;
    lab.begin_doing("sleeping", does().sleeps_until(lab.in_ms(50))).await;
    lab.begin_doing("paused", does().hears("u", "a").waits()).await;
    lab.pause("paused").await;
    lab.begin_doing("errored", does().errs("no")).await;
    lab.begin("terminated").await;
    lab.terminate("terminated").await;
    lab.begin_doing("completed", does().completes(1)).await;
    let later = NewInstance { start_at: Some(lab.in_ms(90)), ..instance("queued") };
    lab.start(vec![later], IfExists::Error).await.unwrap();
    lab.accepted(event("running", "kept", "e1")).await;
    let later = Delivery { visible_at: Some(lab.in_ms(9)), ..signal("running", "later", "s1") };
    lab.accepted(later).await;
    lab.accepted(event("waiting", "a", "e2")).await;
    let census = lab.store.census().await.unwrap();
    for status in Status::ALL {
        // Whoever waited for `a` goes on.
        let expected = match status {
            Status::Waiting => 0,
            Status::Running => 2,
            _ => 1,
        };
        assert_eq!(census.instances(*status), expected, "{status}");
    }
    assert_eq!((census.open_waits, census.buffered), (2, 2));
}
