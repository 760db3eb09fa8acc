//! Runs that hand over to the next one.

use std::time::Duration;

use abide::{NewInstance, Phase};

use crate::fixture::{Does, does, instance, json};
use crate::{Lab, Runner};

pub async fn the_next_run_opens_with_its_input(lab: &Lab) {
    let timeout = Some(Duration::from_millis(100));
    let runner = lab.begin_with(NewInstance { timeout, ..instance("a") }).await;
    lab.clock.advance(Duration::from_millis(30));
    let did = does().completes_step("s").remembers("c").sleeps_until(lab.in_ms(5));
    lab.stored(runner, did.continues("next")).await;
    let a = lab.get("a").await;
    assert_eq!((a.run, a.phase, a.input), (2, Phase::Running, json("next")));
    assert_eq!((a.context, a.wake_at, a.completed_at), (None, None, None));
    assert_eq!((a.run_seq, a.next_seq), (3, 4));
    assert_eq!(a.timeout_at, Some(lab.in_ms(100)), "the deadline begins anew");
    let story = ["1 workflow.started", "2 step.completed s", "3 workflow.started"];
    assert_eq!(lab.story("a").await, story);
    let opened = &lab.history("a").await[2];
    assert_eq!((opened.run, &opened.entry.payload), (2, &Some(json("next"))));
    lab.hears(&["restarted a"]).await;
}

pub async fn whoever_ran_it_has_to_claim_it_again(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().continues(2)).await;
    lab.fenced(runner, does().completes_step("s")).await;
    lab.fenced(Runner { run: 2, ..runner }, does().completes_step("s")).await;
    assert_eq!(lab.runnable().await, ["a"]);
    let next = lab.claimed("a").await;
    assert_eq!((next.instance.run, next.history.len()), (2, 1));
}

pub async fn a_restart_keeps_the_input_of_the_last_run(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().continues("next")).await;
    let anew = lab.restart("a").await;
    assert_eq!((anew.run, anew.input), (3, json("next")));
}

pub async fn a_waiting_parent_gets_the_result_of_the_last_run(lab: &Lab) {
    lab.begin_doing("parent", does().awaits("child", "kid").waits()).await;
    let child = lab.take("child").await;
    lab.stored(child, does().continues(2)).await;
    assert_eq!(lab.status("parent").await, "waiting", "a handover is no end");
    assert!(lab.get("child").await.parent.unwrap().awaited);
    let next = lab.take("child").await;
    lab.stored(next, does().completes("last")).await;
    assert_eq!(lab.history("parent").await[1].entry.payload, Some(json("last")));
}

pub async fn a_parent_that_continues_waits_for_its_children_no_more(lab: &Lab) {
    let parent = lab.begin_doing("parent", does().awaits("child", "kid").waits()).await;
    let child = lab.take("child").await;
    lab.stored(parent, does().continues(2)).await;
    lab.stored(child, does().completes(1)).await;
    assert_eq!(lab.story("parent").await, ["1 workflow.started", "2 workflow.started"]);
}

pub async fn children_of_the_handover_belong_to_the_run_that_started_them(lab: &Lab) {
    let parent = lab.begin("parent").await;
    lab.stored(parent, does().detaches("child", "kid").continues(2)).await;
    assert_eq!(lab.get("child").await.parent.unwrap().run, 1);
    let history = lab.history("parent").await;
    let runs: Vec<u32> = history.iter().map(|recorded| recorded.run).collect();
    assert_eq!(runs, [1, 1, 2]);
}

pub async fn a_pause_stays_when_the_run_hands_over(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.pause("a").await;
    lab.stored(runner, does().continues(2)).await;
    let a = lab.get("a").await;
    assert_eq!((a.run, a.paused), (2, true));
    assert!(lab.runnable().await.is_empty());
}
