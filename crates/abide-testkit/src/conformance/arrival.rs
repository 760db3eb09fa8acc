//! What the end of a child is to its parent.

use std::time::Duration;

use abide::history::StepKind;
use abide::store::Committed;
use abide::{Clock, Phase, Transition};

use crate::fixture::{Does, does, failure, id, json};
use crate::{Lab, Runner};

/// A parent that waits for `child`, and the runners of both.
async fn family(lab: &Lab, parks: Transition) -> (Runner, Runner) {
    let parent = lab.begin("parent").await;
    lab.stored(parent, parks.awaits("child", "kid")).await;
    let child = lab.take("child").await;
    lab.forget_hints().await;
    (parent, child)
}

pub async fn the_result_of_a_child_wakes_its_parent(lab: &Lab) {
    let (parent, child) = family(lab, does().waits_until(lab.in_ms(50))).await;
    lab.clock.advance(Duration::from_millis(3));
    lab.stored(child, does().completes("done")).await;
    let now = lab.get("parent").await;
    assert_eq!((now.phase, now.wake_at), (Phase::Running, None));
    assert_eq!(now.updated_at, lab.clock.now());
    let told = &lab.history("parent").await[1];
    assert_eq!(lab.story("parent").await[1], "2 step.completed kid");
    assert_eq!((told.run, told.at), (1, lab.clock.now()));
    assert_eq!(told.entry.step_kind(), StepKind::Child);
    assert_eq!(told.entry.payload, Some(json("done")));
    assert_eq!(told.entry.child_id, Some(id("child")));
    lab.hears(&["arrived parent step.completed", "ended child completed"]).await;
    // Its runner is still the same and goes on behind the arrival.
    lab.stored(parent, does().completes_step("s")).await;
    assert_eq!(lab.story("parent").await[2], "3 step.completed s");
}

pub async fn the_failure_of_a_child_wakes_its_parent(lab: &Lab) {
    let (_, child) = family(lab, does().sleeps_until(lab.in_ms(50))).await;
    lab.stored(child, does().errs("no")).await;
    let told = &lab.history("parent").await[1].entry;
    assert_eq!(lab.story("parent").await[1], "2 step.failed kid");
    assert_eq!((&told.error, &told.payload), (&Some(failure("no")), &None));
    let now = lab.get("parent").await;
    assert_eq!((now.phase, now.wake_at), (Phase::Running, None));
    lab.hears(&["arrived parent step.failed", "ended child errored"]).await;
}

pub async fn the_termination_of_a_child_wakes_its_parent(lab: &Lab) {
    family(lab, does().waits()).await;
    lab.terminate("child").await;
    let told = &lab.history("parent").await[1].entry;
    assert_eq!(told.error.as_ref().unwrap().code, "WORKFLOW_TERMINATED");
    assert_eq!(lab.status("parent").await, "running");
    lab.hears(&["arrived parent step.failed", "ended child terminated"]).await;
}

pub async fn a_parent_nobody_runs_is_runnable_after_an_arrival(lab: &Lab) {
    let (parent, child) = family(lab, does().waits()).await;
    lab.release(parent).await;
    assert!(lab.runnable().await.is_empty());
    lab.stored(child, does().completes(1)).await;
    assert_eq!(lab.runnable().await, ["parent"]);
}

pub async fn a_parent_that_runs_keeps_its_wake_up(lab: &Lab) {
    let wake = lab.in_ms(50);
    let (_, child) = family(lab, does().parks(Phase::Running, Some(wake))).await;
    lab.stored(child, does().completes(1)).await;
    let now = lab.get("parent").await;
    assert_eq!((now.phase, now.wake_at), (Phase::Running, Some(wake)));
}

pub async fn a_queued_parent_stays_queued(lab: &Lab) {
    let (_, child) = family(lab, does().parks(Phase::Queued, None)).await;
    lab.stored(child, does().completes(1)).await;
    assert_eq!(lab.status("parent").await, "queued");
    assert_eq!(lab.story("parent").await[1], "2 step.completed kid");
}

pub async fn a_paused_parent_is_told_underneath_its_pause(lab: &Lab) {
    let (_, child) = family(lab, does().waits_until(lab.in_ms(50))).await;
    lab.pause("parent").await;
    lab.stored(child, does().completes(1)).await;
    let now = lab.get("parent").await;
    assert_eq!((now.phase, now.paused, now.wake_at), (Phase::Running, true, None));
    assert_eq!(lab.story("parent").await[1..], ["2 workflow.paused", "3 step.completed kid"]);
    lab.hears(&["paused parent", "arrived parent step.completed", "ended child completed"]).await;
}

pub async fn an_ended_parent_is_told_nothing(lab: &Lab) {
    let (parent, child) = family(lab, does().waits()).await;
    lab.stored(parent, does().completes(1)).await;
    let before = lab.get("parent").await;
    lab.stored(child, does().completes(1)).await;
    assert_eq!(lab.get("parent").await, before);
    lab.hears(&["ended parent completed", "ended child completed"]).await;
}

pub async fn a_parent_in_another_run_is_told_nothing(lab: &Lab) {
    let (_, child) = family(lab, does().waits()).await;
    lab.restart("parent").await;
    let before = lab.get("parent").await;
    lab.stored(child, does().completes(1)).await;
    assert_eq!(lab.get("parent").await, before);
    lab.hears(&["restarted parent", "ended child completed"]).await;
}

pub async fn a_pruned_parent_is_told_nothing(lab: &Lab) {
    let (parent, child) = family(lab, does().waits()).await;
    lab.stored(parent, does().completes(1)).await;
    assert_eq!(lab.store.prune(lab.in_ms(1), 10).await.unwrap(), 1);
    lab.begin("parent").await;
    lab.stored(child, does().completes(1)).await;
    assert_eq!(lab.story("parent").await, ["1 workflow.started"], "another one with that id");
}

pub async fn a_parent_is_told_once(lab: &Lab) {
    let (_, child) = family(lab, does().waits()).await;
    lab.stored(child, does().completes(1)).await;
    assert!(!lab.get("child").await.parent.unwrap().awaited);
    lab.restart("child").await;
    let again = lab.take("child").await;
    lab.stored(again, does().completes(2)).await;
    assert_eq!(lab.story("parent").await, ["1 workflow.started", "2 step.completed kid"]);
}

pub async fn a_child_restarted_before_its_end_still_tells_its_parent(lab: &Lab) {
    family(lab, does().waits()).await;
    lab.restart("child").await;
    let again = lab.take("child").await;
    lab.stored(again, does().completes(2)).await;
    assert_eq!(lab.history("parent").await[1].entry.payload, Some(json(2)));
}

pub async fn a_restarted_parent_is_told_of_the_children_of_its_new_run(lab: &Lab) {
    lab.begin("parent").await;
    lab.restart("parent").await;
    let parent = lab.take("parent").await;
    lab.stored(parent, does().awaits("child", "kid").waits()).await;
    assert_eq!(lab.get("child").await.parent.unwrap().run, 2);
    let child = lab.take("child").await;
    lab.stored(child, does().completes(1)).await;
    assert_eq!(lab.story("parent").await.pop().unwrap(), "4 step.completed kid");
}

pub async fn the_end_of_a_detached_child_is_told_to_nobody(lab: &Lab) {
    let parent = lab.begin("parent").await;
    lab.stored(parent, does().detaches("child", "kid").waits()).await;
    let child = lab.take("child").await;
    let before = lab.get("parent").await;
    lab.forget_hints().await;
    lab.stored(child, does().completes(1)).await;
    assert_eq!(lab.get("parent").await, before);
    lab.hears(&["ended child completed"]).await;
}

pub async fn a_rest_decided_before_an_arrival_was_heard_is_left_out(lab: &Lab) {
    let (parent, child) = family(lab, does()).await;
    lab.stored(child, does().completes("done")).await;
    let arrived = lab.history("parent").await[1].seq;
    let rests = || does().completes_step("s").waits();
    let deaf = lab.commit_having_heard(arrived - 1, parent, rests()).await;
    assert_eq!(deaf, Committed::Stored);
    assert_eq!(lab.status("parent").await, "running", "or nobody would look at what arrived");
    assert_eq!(lab.story("parent").await[2], "3 step.completed s");
    lab.commit_having_heard(arrived, parent, does().waits()).await;
    assert_eq!(lab.status("parent").await, "waiting");
}
