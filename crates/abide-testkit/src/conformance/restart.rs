//! Beginning anew, whole or from a step.

use std::time::Duration;

use abide::history::{Entry, EntryKind, StepKind};
use abide::lifecycle::Control;
use abide::store::IfExists;
use abide::{Clock, Instance, NewInstance, Phase};

use crate::fixture::{Does, does, instance, json, step};
use crate::{Lab, in_words};

pub async fn it_begins_anew_from_every_status(lab: &Lab) {
    let wake = lab.in_ms(50);
    for (name, did) in [
        ("running", does().parks(Phase::Running, Some(wake))),
        ("waiting", does().waits_until(wake)),
        ("sleeping", does().sleeps_until(wake)),
        ("queued", does().parks(Phase::Queued, Some(wake))),
        ("paused", does().waits_until(wake).pauses()),
        ("completed", does().completes(1)),
        ("errored", does().errs("no")),
    ] {
        lab.begin_doing(name, did.completes_step("s").remembers("c")).await;
        assert_eq!(lab.status(name).await, name);
        lab.forget_hints().await;
        assert_anew(lab, name, 3).await;
    }
    lab.begin("terminated").await;
    lab.terminate("terminated").await;
    lab.forget_hints().await;
    assert_anew(lab, "terminated", 3).await;
}

/// Restarts, and compares everything with what a second run looks like.
async fn assert_anew(lab: &Lab, name: &str, run_seq: i64) {
    let before = lab.get(name).await;
    let answer = lab.restart(name).await;
    let anew = Instance {
        run: 2,
        phase: Phase::Running,
        paused: false,
        queued_reason: None,
        context: None,
        output: None,
        error: None,
        completed_at: None,
        wake_at: None,
        updated_at: lab.clock.now(),
        run_seq,
        next_seq: run_seq + 2,
        ..before
    };
    assert_eq!(answer, anew);
    assert_eq!(lab.get(name).await, anew);
    let opened = [(run_seq, "workflow.restarted"), (run_seq + 1, "workflow.started")];
    let opened = opened.map(|(seq, word)| format!("{seq} {word}"));
    let story = lab.story(name).await;
    assert!(story.ends_with(&opened), "the history goes on: {story:?}");
    let last = lab.history(name).await.pop().unwrap();
    assert_eq!((last.run, last.entry.payload), (2, Some(json(name))));
    lab.hears(&[&format!("restarted {name}")]).await;
}

pub async fn whoever_ran_it_has_to_claim_it_again(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.restart("a").await;
    assert_eq!(lab.runnable().await, ["a"]);
    lab.fenced(runner, does().completes(1)).await;
    lab.fenced(crate::Runner { run: 2, ..runner }, does().completes(1)).await;
    let next = lab.take("a").await;
    assert_eq!(next.run, 2);
    lab.stored(next, does().completes(1)).await;
}

pub async fn the_deadline_begins_anew(lab: &Lab) {
    let timeout = Some(Duration::from_millis(100));
    lab.begin_with(NewInstance { timeout, ..instance("a") }).await;
    lab.clock.advance(Duration::from_millis(30));
    assert_eq!(lab.restart("a").await.timeout_at, Some(lab.in_ms(100)));
}

pub async fn what_has_not_begun_begins_at_once(lab: &Lab) {
    let start_at = Some(lab.in_ms(50));
    let timeout = Some(Duration::from_millis(100));
    let new = NewInstance { start_at, timeout, ..instance("a") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    let anew = lab.restart("a").await;
    assert_eq!((anew.status().as_str(), anew.wake_at, anew.run), ("running", None, 2));
    assert_eq!(anew.timeout_at, Some(lab.in_ms(100)));
    assert_eq!(lab.story("a").await, ["1 workflow.restarted", "2 workflow.started"]);
    assert!(lab.due(lab.in_ms(1000)).await.is_empty());
}

pub async fn children_live_on(lab: &Lab) {
    lab.begin_doing("parent", does().awaits("child", "kid").waits()).await;
    lab.restart("parent").await;
    assert_eq!(lab.status("child").await, "running");
    let again = lab.take("parent").await;
    lab.stored(again, does().awaits("child", "kid").waits()).await;
    assert_eq!(lab.history("parent").await.pop().unwrap().entry.entry, EntryKind::StepFailed);
}

pub async fn from_a_step_what_was_settled_before_it_is_kept(lab: &Lab) {
    let mut result = step(EntryKind::StepCompleted, "a");
    result.payload = Some(json("kept"));
    let mut retried = step(EntryKind::StepFailed, "b");
    retried.will_retry = true;
    let did = does()
        .records(&step(EntryKind::StepStarted, "a"))
        .records(&result)
        .records(&retried)
        .completes_step("b")
        .records(&step(EntryKind::StepStarted, "c"))
        .completes_step("d")
        .completes_step("c");
    lab.begin_doing("i", did.remembers("c").completes(1)).await;
    let anew = lab.restart_from("i", "c").await.unwrap();
    assert_eq!((anew.run, anew.run_seq, anew.context, anew.output), (2, 9, None, None));
    let claimed = lab.claimed("i").await;
    let story: Vec<String> = claimed.history.iter().map(in_words).collect();
    assert_eq!(story[..2], ["9 workflow.restarted c", "10 workflow.started"]);
    assert_eq!(story[2..], ["11 step.completed a", "12 step.completed b"]);
    let kept = &claimed.history[2].entry;
    assert!(kept.cached && kept.payload == Some(json("kept")), "{kept:?}");
    lab.hears(&["ended i completed", "restarted i"]).await;
}

pub async fn from_a_step_kept_entries_stand_in_the_order_they_were_seen(lab: &Lab) {
    let parent = lab.begin_doing("parent", does().awaits("child", "kid").waits()).await;
    let child = lab.take("child").await;
    lab.stored(child, does().completes("result")).await;
    let seen = Entry::of_step(EntryKind::Seen, &"kid".into(), StepKind::Child);
    let did = does().completes_step("a").records(&seen).completes_step("b").completes_step("z");
    lab.stored(parent, did).await;
    lab.restart_from("parent", "z").await.unwrap();
    let history = lab.claimed("parent").await.history;
    let story: Vec<String> = history.iter().map(in_words).collect();
    assert_eq!(story[2..4], ["8 step.completed a", "9 step.completed kid"]);
    assert_eq!(story[4..], ["9 seen kid", "10 step.completed b"]);
    assert!(history[2..].iter().all(|r| r.run == 2 && (r.entry.cached || r.seq == 9)));
}

pub async fn from_a_step_the_next_entries_follow_the_kept_ones(lab: &Lab) {
    lab.begin_doing("i", does().completes_step("a").completes_step("b")).await;
    lab.restart_from("i", "b").await.unwrap();
    let runner = lab.take("i").await;
    lab.stored(runner, does().completes_step("b")).await;
    let story = lab.story("i").await;
    assert_eq!(story[5..], ["6 step.completed a", "7 step.completed b"]);
}

pub async fn from_an_unknown_step_is_refused_naming_the_known(lab: &Lab) {
    lab.begin_doing("i", does().completes_step("a").completes_step("b")).await;
    let before = lab.everything().await;
    let refused = lab.restart_from("i", "z").await.unwrap_err();
    assert_eq!(refused.code(), "STEP_NOT_FOUND");
    assert!(refused.to_string().ends_with("recorded: a, b"), "{refused}");
    assert_eq!(lab.everything().await, before, "what was refused changed something");
    lab.hears(&[]).await;
}

pub async fn a_step_of_an_earlier_run_is_unknown(lab: &Lab) {
    lab.begin_doing("i", does().completes_step("a")).await;
    lab.restart("i").await;
    let refused = lab.restart_from("i", "a").await.unwrap_err();
    assert_eq!(refused.code(), "STEP_NOT_FOUND");
}

pub async fn every_restart_opens_another_run(lab: &Lab) {
    lab.begin("a").await;
    for run in 2..5 {
        let control = Control::Restart { from_step: None };
        assert_eq!(lab.control("a", control).await.unwrap().run, run);
    }
    let runs: Vec<u32> = lab.history("a").await.iter().map(|recorded| recorded.run).collect();
    assert_eq!(runs, [1, 2, 2, 3, 3, 4, 4]);
}
