//! Values that an instance publishes, and waits for them.

use std::time::Duration;

use abide::history::StepKind;
use abide::{Clock, NewWait, Output};

use crate::Lab;
use crate::fixture::{Does, does, id, json, wait_for_output};

pub async fn setting_it_again_replaces_value_and_time(lab: &Lab) {
    let a = lab.begin_doing("a", does().sets("k", 1).sets("j", false)).await;
    lab.clock.advance(Duration::from_millis(3));
    lab.stored(a, does().sets("k", 2).sets("k", 3)).await;
    let expected = |key: &str, value, updated_at| Output { key: key.into(), value, updated_at };
    let found =
        [expected("j", json(false), lab.in_ms(-3)), expected("k", json(3), lab.clock.now())];
    assert_eq!(lab.outputs("a").await, found);
    lab.hears(&["output a k", "output a j", "output a k", "output a k"]).await;
    assert!(lab.store.outputs(&id("nobody")).await.is_err());
}

pub async fn a_wait_is_met_when_it_is_there_already(lab: &Lab) {
    lab.begin_doing("b", does().sets("k", "done").completes(1)).await;
    let late = NewWait { timeout_at: Some(lab.in_ms(-1)), ..wait_for_output("w", "b", "k") };
    lab.begin_doing("a", does().reaches(late).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled"]);
    let told = lab.history("a").await.pop().unwrap().entry;
    assert_eq!((told.step_kind(), told.payload), (StepKind::Output, Some(json("done"))));
    assert_eq!(lab.status("a").await, "running");
}

pub async fn open_waits_of_all_instances_are_met_when_it_is_set(lab: &Lab) {
    let b = lab.begin("b").await;
    for (name, step) in [("a", "w"), ("c", "v")] {
        lab.begin_doing(name, does().reaches(wait_for_output(step, "b", "k")).waits()).await;
    }
    lab.begin_doing("d", does().reaches(wait_for_output("u", "b", "other")).waits()).await;
    lab.forget_hints().await;
    lab.stored(b, does().sets("k", 7).reaches(wait_for_output("own", "b", "k"))).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled"]);
    assert_eq!(lab.subscriptions("c").await, ["v fulfilled"]);
    assert_eq!(lab.subscriptions("d").await, ["u active"]);
    assert_eq!(lab.subscriptions("b").await, ["own fulfilled"], "its own too");
    assert_eq!(lab.status("a").await, "running");
    let arrived = "wait.fulfilled";
    let hints = [
        "output b k",
        &format!("arrived a {arrived}"),
        &format!("arrived c {arrived}"),
        &format!("arrived b {arrived}"),
    ];
    lab.hears(&hints).await;
}

pub async fn an_instance_that_is_not_there_yet_can_be_waited_for(lab: &Lab) {
    lab.begin_doing("a", does().reaches(wait_for_output("w", "b", "k")).waits()).await;
    lab.begin_doing("b", does().sets("k", 1)).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled"]);
}

pub async fn what_is_set_after_the_deadline_comes_too_late(lab: &Lab) {
    let b = lab.begin("b").await;
    let late = NewWait { timeout_at: Some(lab.in_ms(5)), ..wait_for_output("w", "b", "k") };
    lab.begin_doing("a", does().reaches(late).waits()).await;
    lab.clock.advance(Duration::from_millis(5));
    lab.stored(b, does().sets("k", 1)).await;
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired"]);
    assert_eq!(lab.news("a", 1).await, ["wait.expired w"]);
}

pub async fn an_event_of_that_name_does_not_meet_a_wait_for_an_output(lab: &Lab) {
    lab.begin_doing("a", does().reaches(wait_for_output("w", "b", "k")).waits()).await;
    assert_eq!(lab.accepted(crate::fixture::event("a", "k", "m1")).await, (0, true));
}
