//! Pausing and resuming: an overlay on whatever the instance does.

use std::time::Duration;

use abide::lifecycle::Control;
use abide::store::IfExists;
use abide::{Clock, NewInstance, Phase};

use crate::Lab;
use crate::fixture::{Does, does, id, instance};

const BEGUN: [Phase; 3] = [Phase::Running, Phase::Waiting, Phase::Sleeping];

pub async fn a_pause_shows_at_once_and_leaves_the_phase(lab: &Lab) {
    for phase in BEGUN {
        let name = phase.as_str();
        let wake = Some(lab.in_ms(50));
        lab.begin_doing(name, does().parks(phase, wake)).await;
        lab.clock.advance(Duration::from_millis(1));
        let answer = lab.pause(name).await;
        assert_eq!(answer, lab.get(name).await, "it answers with what is there then");
        assert_eq!((answer.status().as_str(), answer.phase), ("paused", phase));
        assert_eq!((answer.wake_at, answer.updated_at), (wake, lab.clock.now()));
        assert_eq!(lab.story(name).await, ["1 workflow.started", "2 workflow.paused"]);
        lab.hears(&[&format!("paused {name}")]).await;
    }
}

pub async fn resuming_what_has_begun_makes_it_run(lab: &Lab) {
    for phase in BEGUN {
        let name = phase.as_str();
        lab.begin_doing(name, does().parks(phase, Some(lab.in_ms(50)))).await;
        lab.pause(name).await;
        lab.forget_hints().await;
        let resumed = lab.resume(name).await;
        assert_eq!((resumed.status().as_str(), resumed.wake_at), ("running", None));
        assert_eq!(lab.story(name).await[2..], ["3 workflow.resumed"]);
        lab.hears(&[&format!("runnable {name}")]).await;
    }
}

pub async fn resuming_what_has_not_begun_leaves_it_queued(lab: &Lab) {
    let start = lab.in_ms(50);
    let new = NewInstance { start_at: Some(start), ..instance("a") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    assert_eq!(lab.pause("a").await.status().as_str(), "paused");
    assert!(lab.due(lab.in_ms(100)).await.is_empty());
    let resumed = lab.resume("a").await;
    assert_eq!((resumed.status().as_str(), resumed.wake_at), ("queued", Some(start)));
    assert_eq!(lab.story("a").await, ["1 workflow.paused", "2 workflow.resumed"]);
    assert_eq!(lab.due(lab.in_ms(100)).await, ["a"]);
    lab.hears(&["paused a"]).await;
}

pub async fn a_pause_and_a_resume_leave_the_claim(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.pause("a").await;
    lab.stored(runner, does().completes_step("s")).await;
    lab.resume("a").await;
    lab.stored(runner, does().completes_step("t")).await;
    assert!(lab.runnable().await.is_empty());
}

pub async fn what_pauses_itself_can_be_resumed(lab: &Lab) {
    lab.begin_doing("a", does().waits().pauses()).await;
    assert_eq!(lab.resume("a").await.status().as_str(), "running");
}

pub async fn pausing_twice_or_after_the_end_is_refused(lab: &Lab) {
    lab.begin("paused").await;
    lab.pause("paused").await;
    lab.begin_doing("ended", does().completes(1)).await;
    let before = lab.everything().await;
    for name in ["paused", "ended"] {
        let refused = lab.control(name, Control::Pause).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_TRANSITION");
    }
    assert_eq!(lab.everything().await, before, "what was refused changed something");
}

pub async fn resuming_what_is_not_paused_is_refused(lab: &Lab) {
    lab.begin("running").await;
    lab.begin_doing("ended", does().errs("no")).await;
    lab.begin_doing("waiting", does().waits()).await;
    let before = lab.everything().await;
    for name in ["running", "ended", "waiting"] {
        let refused = lab.control(name, Control::Resume).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_TRANSITION");
    }
    assert_eq!(lab.everything().await, before, "what was refused changed something");
}

pub async fn what_is_not_there_cannot_be_controlled(lab: &Lab) {
    let restart = Control::Restart { from_step: Some("s".to_owned()) };
    for control in [Control::Pause, Control::Resume, restart] {
        let refused = lab.store.control(&id("none"), control).await.unwrap_err();
        assert_eq!(refused.code(), "WORKFLOW_NOT_FOUND");
    }
}

pub async fn children_are_not_paused(lab: &Lab) {
    lab.begin_doing("parent", does().awaits("child", "kid").waits()).await;
    lab.pause("parent").await;
    assert_eq!(lab.status("child").await, "running");
    assert_eq!(lab.runnable().await, ["child"]);
}
