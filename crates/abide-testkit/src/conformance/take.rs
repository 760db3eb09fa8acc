//! Taking what is already there.

use abide::history::StepKind;
use abide::{Delivery, Kind};

use crate::Lab;
use crate::fixture::{Does, does, event, signal};

pub async fn the_first_that_matches_is_consumed(lab: &Lab) {
    let a = lab.begin("a").await;
    for id in ["m1", "m2"] {
        lab.accepted(signal("a", "s", id)).await;
    }
    lab.stored(a, does().takes("t", Kind::Signal, "s").waits()).await;
    assert_eq!(lab.buffered("a").await, ["m2"]);
    let told = lab.history("a").await.pop().unwrap().entry;
    assert_eq!((told.step_kind(), told.event_id.as_deref()), (StepKind::Take, Some("m1")));
    let event: serde_json::Value = told.payload.unwrap().decode().unwrap();
    assert_eq!(
        (&event["id"], &event["type"], &event["payload"]),
        (&"m1".into(), &"s".into(), &"m1".into())
    );
    assert_eq!(lab.status("a").await, "running");
    lab.hears(&["arrived a step.completed"]).await;
}

pub async fn if_there_is_none_the_step_is_settled_without(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(signal("a", "other", "m1")).await;
    let later = Delivery { visible_at: Some(lab.in_ms(5)), ..signal("a", "s", "m2") };
    lab.accepted(later).await;
    lab.accepted(event("a", "s", "m3")).await;
    lab.stored(a, does().takes("t", Kind::Signal, "s")).await;
    assert_eq!(lab.buffered("a").await, ["m1", "m3", "m2"]);
    let told = lab.history("a").await.pop().unwrap();
    assert_eq!(told.entry.name.as_deref(), Some("t"));
    assert_eq!(told.entry.payload, None);
}

pub async fn events_are_taken_by_pattern(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(event("a", "e.x", "m1")).await;
    lab.stored(a, does().takes("t", Kind::Event, "e.*")).await;
    assert!(lab.buffered("a").await.is_empty());
}

pub async fn it_comes_before_the_waits_of_the_same_commit(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(signal("a", "s", "m1")).await;
    lab.stored(a, does().hears_signal("w", "s").takes("t", Kind::Signal, "s")).await;
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
}
