//! Events that start and cancel instances.

use std::time::Duration;

use abide::{CancelBy, Clock, IfExists, NewInstance, Publish, StartBy};

use crate::Lab;
use crate::fixture::{Does, cancelling, does, event, id, instance, json, published, starting};

fn with(name: &str, correlation_id: &str) -> NewInstance {
    NewInstance { correlation_id: Some(correlation_id.to_owned()), ..instance(name) }
}

fn starts(event_id: &str, starts: Vec<StartBy>) -> Publish {
    Publish { starts, ..published("e", event_id) }
}

fn cancels(event_id: &str, cancels: Vec<CancelBy>) -> Publish {
    Publish { cancels, ..published("e", event_id) }
}

pub async fn what_it_starts_begins_running_and_unclaimed(lab: &Lab) {
    let new = NewInstance {
        input: json(7),
        correlation_id: Some("c".into()),
        tags: vec!["x".into()],
        ..instance("a")
    };
    let start = StartBy { instance: new, ..starting("t", "a") };
    let verdict = lab.publish(starts("p1", vec![start])).await.unwrap();
    assert_eq!((verdict.started_count, verdict.matched_count), (1, 0));
    assert_eq!(crate::lab::outcome(&verdict), ["t starts a"]);
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.input, a.log_from), ("running", json(7), 1));
    assert_eq!((a.correlation_id.as_deref(), &*a.tags), (Some("c"), &["x".to_owned()][..]));
    assert_eq!(lab.story("a").await, ["1 workflow.started"]);
    assert_eq!(lab.runnable().await, ["a"]);
    lab.hears(&["runnable a"]).await;
    assert_eq!(lab.takers("p1").await, ["a"]);
    assert!(lab.log().await[0].wanted);
    assert!(lab.buffered("a").await.is_empty());
}

pub async fn an_id_that_exists_starts_nothing_and_is_not_told(lab: &Lab) {
    lab.begin_doing("a", does().completes(1)).await;
    let both = vec![starting("t", "a"), starting("t", "b"), starting("u", "b")];
    assert_eq!(lab.published(starts("p1", both)).await, ["t starts b"]);
    assert_eq!(lab.takers("p1").await, ["b"]);
    assert_eq!(lab.status("a").await, "completed");
    assert!(lab.published(starts("p2", vec![starting("t", "a")])).await.is_empty());
    assert!(!lab.log().await[1].wanted);
}

pub async fn what_it_starts_later_is_queued_and_told_as_deferred(lab: &Lab) {
    let at = lab.in_ms(9);
    let new = NewInstance { start_at: Some(at), ..instance("a") };
    let start = StartBy { instance: new, ..starting("t", "a") };
    let verdict = lab.publish(starts("p1", vec![start])).await.unwrap();
    assert_eq!(crate::lab::outcome(&verdict), ["t defers a"]);
    assert_eq!((verdict.deferred[0].until, verdict.started_count), (at, 0));
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.wake_at), ("queued", Some(at)));
    assert_eq!(lab.story("a").await.len(), 0);
    lab.hears(&["due a"]).await;
    assert!(lab.log().await[0].wanted);
    assert_eq!(lab.takers("p1").await, ["a"]);
}

pub async fn several_begin_in_the_order_they_are_given(lab: &Lab) {
    let all = vec![starting("t", "c"), starting("u", "a"), starting("t", "b")];
    assert_eq!(lab.published(starts("p1", all)).await, ["t starts c", "u starts a", "t starts b"]);
    assert_eq!(lab.runnable().await, ["c", "a", "b"]);
    assert_eq!(lab.takers("p1").await, ["c", "a", "b"], "in key order");
}

pub async fn it_cancels_whoever_has_the_correlation_id(lab: &Lab) {
    let a = lab.begin_with(with("a", "c")).await;
    lab.stored(a, does().hears("w", "f").waits()).await;
    lab.begin_with(with("other", "d")).await;
    lab.begin("none").await;
    let elsewhere = NewInstance { workflow: "elsewhere".into(), ..with("elsewhere", "c") };
    lab.begin_with(elsewhere).await;
    let queued = NewInstance { start_at: Some(lab.in_ms(9)), ..with("queued", "c") };
    lab.start(vec![queued], IfExists::Error).await.unwrap();
    lab.begin_with(with("paused", "c")).await;
    lab.pause("paused").await;
    let ended = lab.begin_with(with("ended", "c")).await;
    lab.stored(ended, does().completes(1)).await;
    lab.forget_hints().await;
    let verdict = lab.publish(cancels("p1", vec![cancelling("t", "c")])).await.unwrap();
    let expected = ["t cancels a", "t cancels queued", "t cancels paused"];
    assert_eq!(crate::lab::outcome(&verdict), expected);
    assert_eq!(verdict.cancelled_count, 3);
    for name in ["a", "queued", "paused"] {
        let error = lab.get(name).await.error.unwrap();
        assert_eq!(error.message, r#"cancelled by trigger "t", event "p1""#);
        assert_eq!(lab.status(name).await, "terminated");
    }
    for name in ["other", "none", "elsewhere"] {
        assert_eq!(lab.status(name).await, "running", "{name}");
    }
    assert_eq!(lab.status("ended").await, "completed");
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert!(lab.log().await[0].wanted);
    assert!(lab.takers("p1").await.is_empty(), "to be cancelled is not to take");
    let ends = ["ended a terminated", "ended queued terminated", "ended paused terminated"];
    lab.hears(&ends).await;
}

pub async fn children_of_the_cancelled_end_with_them(lab: &Lab) {
    let a = lab.begin_with(with("a", "c")).await;
    lab.stored(a, does().awaits("child", "s").waits()).await;
    assert_eq!(lab.published(cancels("p1", vec![cancelling("t", "c")])).await, ["t cancels a"]);
    assert_eq!(lab.status("child").await, "terminated");
}

pub async fn whoever_ended_with_another_is_not_told_twice(lab: &Lab) {
    let a = lab.begin_with(with("a", "c")).await;
    let mut does = does().awaits("child", "s").waits();
    does.children[0].instance.correlation_id = Some("c".into());
    lab.stored(a, does).await;
    let both = vec![cancelling("t", "c"), cancelling("u", "c")];
    assert_eq!(lab.published(cancels("p1", both)).await, ["t cancels a"]);
    assert_eq!(lab.status("child").await, "terminated");
}

pub async fn cancels_come_before_waits_and_waits_before_starts(lab: &Lab) {
    let a = lab.begin_with(with("a", "c")).await;
    lab.stored(a, does().hears("cancelled", "e").waits()).await;
    lab.begin_doing("b", does().hears("w", "e").waits()).await;
    let new = StartBy { instance: with("d", "c"), ..starting("t", "d") };
    let all = Publish { starts: vec![new], ..cancels("p1", vec![cancelling("u", "c")]) };
    assert_eq!(lab.published(all).await, ["u cancels a", "w of b", "t starts d"]);
    assert_eq!(lab.subscriptions("a").await, ["cancelled cancelled"]);
    assert_eq!(lab.status("d").await, "running");
    assert_eq!(lab.takers("p1").await, ["b", "d"]);
}

pub async fn a_duplicate_starts_and_cancels_nothing(lab: &Lab) {
    lab.published(published("e", "p1")).await;
    lab.begin_with(with("a", "c")).await;
    let again = Publish {
        cancels: vec![cancelling("t", "c")],
        starts: vec![starting("t", "b")],
        ..published("e", "p1")
    };
    assert!(lab.published(again).await.is_empty());
    assert_eq!(lab.status("a").await, "running");
    assert_eq!(lab.find("b").await, None);
}

pub async fn the_event_that_started_it_is_not_an_addressed_one(lab: &Lab) {
    lab.published(starts("p1", vec![starting("t", "a")])).await;
    assert_eq!(lab.accepted(event("a", "e", "p1")).await, (0, true));
    assert_eq!(lab.buffered("a").await, ["p1"]);
}

pub async fn its_timeout_counts_from_its_start(lab: &Lab) {
    let new = |name| NewInstance { timeout: Some(Duration::from_millis(5)), ..instance(name) };
    let later = NewInstance { start_at: Some(lab.in_ms(9)), ..new("later") };
    let both = [new("now"), later].map(|instance| StartBy { instance, ..starting("t", "x") });
    lab.published(starts("p1", both.into())).await;
    assert_eq!(lab.get("now").await.timeout_at, Some(lab.in_ms(5)));
    assert_eq!(lab.get("later").await.timeout_at, Some(lab.in_ms(14)));
    assert_eq!(lab.get("now").await.created_at, lab.clock.now());
    assert_eq!(lab.get("now").await.id, id("now"));
}
