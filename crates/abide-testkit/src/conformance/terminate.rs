//! Ending instances from outside, with or without their children, with or without compensation.

use std::time::Duration;

use abide::lifecycle::Control;
use abide::store::IfExists;
use abide::{Clock, NewInstance, Phase, Terminate};

use crate::Lab;
use crate::fixture::{Does, does, instance};

pub async fn termination_ends_it_with_the_reason(lab: &Lab) {
    let runner = lab.begin_doing("a", does().sleeps_until(lab.in_ms(50)).pauses()).await;
    lab.clock.advance(Duration::from_millis(2));
    let answer = lab.terminate("a").await;
    assert_eq!(answer, lab.get("a").await, "it answers with what is there then");
    assert_eq!((answer.status().as_str(), answer.paused), ("terminated", false));
    assert_eq!((answer.wake_at, answer.completed_at), (None, Some(lab.clock.now())));
    let error = answer.error.unwrap();
    assert_eq!((&*error.code, &*error.message), ("WORKFLOW_TERMINATED", "enough"));
    assert_eq!(lab.story("a").await[1..], ["2 workflow.terminated"]);
    lab.fenced(runner, does().completes(1)).await;
    lab.hears(&["paused a", "ended a terminated"]).await;
}

pub async fn terminating_after_the_end_is_refused(lab: &Lab) {
    lab.begin_doing("completed", does().completes(1)).await;
    lab.begin("terminated").await;
    lab.terminate("terminated").await;
    let before = lab.everything().await;
    for name in ["completed", "terminated"] {
        for how in [Terminate::default(), Terminate::default().compensate()] {
            let refused = lab.control(name, Control::Terminate(how)).await.unwrap_err();
            assert_eq!(refused.code(), "INVALID_TRANSITION");
        }
    }
    assert_eq!(lab.everything().await, before, "what was refused changed something");
}

/// `top` with the children `one` and `two`, and `grand` under `one`.
async fn grow(lab: &Lab) {
    lab.begin_doing("top", does().awaits("one", "k1").detaches("two", "k2").waits()).await;
    let one = lab.take("one").await;
    lab.stored(one, does().awaits("grand", "k3").waits()).await;
    lab.forget_hints().await;
}

pub async fn children_and_their_children_are_terminated_too(lab: &Lab) {
    grow(lab).await;
    lab.terminate("top").await;
    for name in ["top", "one", "two", "grand"] {
        assert_eq!(lab.status(name).await, "terminated");
    }
    let reason = lab.get("grand").await.error.unwrap().message;
    assert_eq!(reason, "parent one terminated: parent top terminated: enough");
    assert_eq!(lab.story("one").await, ["1 workflow.started", "2 workflow.terminated"]);
    let ended = ["top", "one", "grand", "two"].map(|name| format!("ended {name} terminated"));
    lab.hears(&ended.each_ref().map(String::as_str)).await;
}

pub async fn children_can_be_left_running(lab: &Lab) {
    grow(lab).await;
    lab.terminate_how("top", Terminate::because("enough").leave_children()).await;
    assert_eq!(lab.status("one").await, "waiting");
    assert_eq!(lab.status("two").await, "running");
    assert_eq!(lab.status("grand").await, "running");
    lab.hears(&["ended top terminated"]).await;
}

pub async fn children_that_ended_are_left_as_they_are(lab: &Lab) {
    grow(lab).await;
    let one = lab.take("one").await;
    lab.stored(one, does().completes(1)).await;
    let before = lab.get("one").await;
    lab.terminate("top").await;
    assert_eq!(lab.get("one").await, before);
    assert_eq!(lab.status("grand").await, "running", "nobody told the child of an ended child");
}

pub async fn paused_and_queued_children_are_terminated_too(lab: &Lab) {
    lab.begin_doing("top", does().awaits("paused", "k1").awaits("queued", "k2").waits()).await;
    lab.pause("paused").await;
    let queued = lab.take("queued").await;
    lab.stored(queued, does().parks(Phase::Queued, None)).await;
    lab.terminate("top").await;
    assert_eq!(lab.status("paused").await, "terminated");
    let queued = lab.get("queued").await;
    assert_eq!((queued.status().as_str(), queued.queued_reason), ("terminated", None));
}

pub async fn compensation_arrives_and_unpauses(lab: &Lab) {
    for phase in [Phase::Running, Phase::Waiting, Phase::Sleeping] {
        let name = phase.as_str();
        let wake = (phase != Phase::Running).then(|| lab.in_ms(50));
        let runner = lab.begin_doing(name, does().parks(phase, wake)).await;
        lab.pause(name).await;
        lab.forget_hints().await;
        let answer = lab.terminate_how(name, Terminate::because("enough").compensate()).await;
        assert_eq!((answer.status().as_str(), answer.wake_at), ("running", None));
        assert_eq!(lab.story(name).await[2..], ["3 workflow.terminating"]);
        let recorded = &lab.history(name).await[2].entry;
        assert_eq!(recorded.reason.as_deref(), Some("enough"));
        lab.hears(&[&format!("arrived {name} workflow.terminating")]).await;
        lab.stored(runner, does().completes_step("undo")).await;
    }
}

pub async fn compensation_leaves_the_wake_up_of_what_runs_as_any_arrival_does(lab: &Lab) {
    let wake = Some(lab.in_ms(50));
    lab.begin_doing("a", does().parks(Phase::Running, wake)).await;
    let answer = lab.terminate_how("a", Terminate::because("enough").compensate()).await;
    assert_eq!((answer.phase, answer.wake_at), (Phase::Running, wake));
}

pub async fn after_compensation_it_ends_as_terminated(lab: &Lab) {
    let how = Terminate::because("enough").compensate();
    let runner = lab.begin_doing("a", does().waits()).await;
    lab.terminate_how("a", how.clone()).await;
    let end = abide::End::Terminated(how.failure());
    lab.stored(runner, does().completes_step("undo").ends(end)).await;
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.error), ("terminated", Some(how.failure())));
    lab.hears(&["arrived a workflow.terminating", "ended a terminated"]).await;
}

pub async fn what_has_not_begun_has_nothing_to_compensate(lab: &Lab) {
    let new = NewInstance { start_at: Some(lab.in_ms(50)), ..instance("a") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    let ended = lab.terminate_how("a", Terminate::because("enough").compensate()).await;
    assert_eq!((ended.status().as_str(), ended.wake_at), ("terminated", None));
    assert_eq!(lab.story("a").await, ["1 workflow.terminated"]);
}

pub async fn children_compensate_too(lab: &Lab) {
    grow(lab).await;
    lab.terminate_how("top", Terminate::because("enough").compensate()).await;
    for name in ["top", "one", "two", "grand"] {
        assert_eq!(lab.status(name).await, "running");
        let last = lab.history(name).await.pop().unwrap();
        assert_eq!(last.entry.entry.as_str(), "workflow.terminating");
    }
    let told =
        ["top", "one", "grand", "two"].map(|name| format!("arrived {name} workflow.terminating"));
    lab.hears(&told.each_ref().map(String::as_str)).await;
}

pub async fn a_child_that_ends_at_once_arrives_at_a_parent_that_compensates(lab: &Lab) {
    lab.begin_doing("top", does().awaits("child", "kid").waits()).await;
    let child = lab.take("child").await;
    lab.stored(child, does().parks(Phase::Queued, None)).await;
    lab.terminate_how("top", Terminate::because("enough").compensate()).await;
    assert_eq!(lab.status("child").await, "terminated");
    assert_eq!(lab.story("top").await[1..], ["2 workflow.terminating", "3 step.failed kid"]);
}
