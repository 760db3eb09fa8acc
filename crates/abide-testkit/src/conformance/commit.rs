//! What a claimed instance did, and who may say so.

use std::time::Duration;

use abide::history::{Entry, EntryKind, StepKind};
use abide::store::Epoch;
use abide::{Clock, InstanceKey, Phase};

use crate::fixture::{Does, does, failure, json, step};
use crate::{Lab, Runner};

fn mark(name: &str) -> Entry {
    Entry::of_step(EntryKind::Seen, &name.into(), StepKind::Child)
}

pub async fn everything_in_a_transition_is_stored_at_once(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.clock.advance(Duration::from_millis(5));
    let wake = lab.in_ms(50);
    let mut failed = step(EntryKind::StepFailed, "f");
    failed.error = Some(failure("no").in_step("f").with_details(&[1]));
    let all = does().completes_step("s").records(&failed).remembers("c").sleeps_until(wake);
    lab.stored(runner, all).await;
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.wake_at), ("sleeping", Some(wake)));
    assert_eq!((a.context, a.updated_at), (Some(json("c")), lab.clock.now()));
    let history = lab.history("a").await;
    assert_eq!((history[2].seq, history[2].run, history[2].at), (3, 1, lab.clock.now()));
    assert_eq!(history[2].entry, failed, "an entry reads back equal");
    assert_eq!(a.next_seq, 4);
}

pub async fn entries_are_numbered_without_gap_across_commits(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().completes_step("r").completes_step("s")).await;
    lab.stored(runner, does().waits()).await;
    lab.stored(runner, does().completes_step("t")).await;
    let story = ["1 workflow.started", "2 step.completed r", "3 step.completed s"];
    assert_eq!(lab.story("a").await[..3], story);
    assert_eq!(lab.story("a").await[3..], ["4 step.completed t"]);
}

pub async fn marks_have_no_number_and_are_not_shown(lab: &Lab) {
    let runner = lab.begin("a").await;
    let marked = does().records(&mark("x")).completes_step("s").records(&mark("y"));
    lab.stored(runner, marked).await;
    lab.stored(runner, does().records(&mark("z")).waits()).await;
    lab.stored(runner, does().completes_step("t")).await;
    let story = ["1 workflow.started", "2 step.completed s", "3 step.completed t"];
    assert_eq!(lab.story("a").await, story);
    assert_eq!(lab.get("a").await.next_seq, 4);
    let numbers: Vec<(i64, EntryKind)> =
        lab.claimed("a").await.history.iter().map(|r| (r.seq, r.entry.entry)).collect();
    let (seen, done) = (EntryKind::Seen, EntryKind::StepCompleted);
    let started = EntryKind::WorkflowStarted;
    assert_eq!(numbers, [(1, started), (1, seen), (2, done), (2, seen), (2, seen), (3, done)]);
}

pub async fn parking_again_replaces_the_wake_up_and_the_reason(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().parks(Phase::Queued, Some(lab.in_ms(5)))).await;
    let queued = lab.get("a").await;
    assert_eq!(queued.queued_reason.as_deref(), Some("limit"));
    assert_eq!((queued.status().as_str(), queued.wake_at), ("queued", Some(lab.in_ms(5))));
    lab.stored(runner, does().parks(Phase::Running, None)).await;
    let running = lab.get("a").await;
    assert_eq!((running.queued_reason, running.wake_at), (None, None));
    assert_eq!(running.phase, Phase::Running);
}

pub async fn what_a_transition_leaves_out_stays(lab: &Lab) {
    let runner = lab.begin("a").await;
    let wake = lab.in_ms(5);
    lab.stored(runner, does().remembers("c").sleeps_until(wake).pauses()).await;
    lab.stored(runner, does().completes_step("s")).await;
    let a = lab.get("a").await;
    assert_eq!((a.phase, a.paused, a.wake_at), (Phase::Sleeping, true, Some(wake)));
    assert_eq!(a.context, Some(json("c")));
}

pub async fn children_come_after_the_park_and_before_the_end(lab: &Lab) {
    let parks = lab.begin("parks").await;
    lab.stored(parks, does().completes_step("s").waits_until(lab.in_ms(5)).detaches("b", "kid"))
        .await;
    let parked = lab.get("parks").await;
    assert_eq!((parked.phase, parked.wake_at), (Phase::Running, None), "the arrival came later");
    let ends = lab.begin("ends").await;
    lab.stored(ends, does().completes_step("s").detaches("c", "kid").pauses().completes(1)).await;
    let story = ["1 workflow.started", "2 step.completed s", "3 step.completed kid"];
    assert_eq!(lab.story("ends").await, story);
    assert_eq!(lab.status("ends").await, "completed", "the end clears the pause");
}

pub async fn an_instance_that_pauses_itself_keeps_its_claim(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().pauses()).await;
    assert_eq!(lab.status("a").await, "paused");
    lab.stored(runner, does().completes_step("s")).await;
    assert_eq!(lab.story("a").await, ["1 workflow.started", "2 step.completed s"]);
    lab.hears(&["paused a"]).await;
}

pub async fn an_end_is_shown_with_its_result(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().sleeps_until(lab.in_ms(9)).pauses()).await;
    lab.clock.advance(Duration::from_millis(3));
    lab.stored(runner, does().remembers("c").completes("done")).await;
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.paused, a.wake_at), ("completed", false, None));
    assert_eq!((a.output, a.error), (Some(json("done")), None));
    assert_eq!(a.completed_at, Some(lab.clock.now()));
    assert_eq!(a.context, Some(json("c")));
}

pub async fn a_failure_is_shown_with_its_error(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().parks(Phase::Queued, None)).await;
    lab.stored(runner, does().errs("no")).await;
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.queued_reason), ("errored", None));
    assert_eq!((a.output, a.error), (None, Some(failure("no"))));
    lab.hears(&["ended a errored"]).await;
}

pub async fn every_stored_commit_is_something_that_happened(lab: &Lab) {
    let runner = lab.begin("a").await;
    let wake = lab.in_ms(50);
    for (did, what) in [
        (does().completes_step("s"), "an entry"),
        (does().sleeps_until(wake), "a park"),
        (does().remembers("c"), "a context"),
        (does().awaits("b", "kid"), "a child"),
        (does().pauses(), "a pause"),
    ] {
        lab.clock.advance(Duration::from_millis(1));
        lab.stored(runner, did).await;
        assert_eq!(lab.get("a").await.updated_at, lab.clock.now(), "{what}");
    }
}

pub async fn an_older_or_made_up_claim_is_fenced(lab: &Lab) {
    let older = lab.begin("a").await;
    let newer = lab.take("a").await;
    lab.fenced(older, does().completes_step("s").completes(1)).await;
    lab.fenced(Runner { epoch: Epoch(newer.epoch.0 + 1), ..newer }, does().waits()).await;
    lab.stored(newer, does().completes_step("s")).await;
}

pub async fn the_claim_of_another_instance_is_fenced(lab: &Lab) {
    let a = lab.begin("a").await;
    let b = lab.begin("b").await;
    let b_again = lab.take("b").await;
    lab.fenced(Runner { epoch: b_again.epoch, ..a }, does().waits()).await;
    lab.fenced(Runner { key: InstanceKey(b.key.0 + 100), ..b_again }, does().waits()).await;
}

pub async fn another_run_is_fenced(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.fenced(Runner { run: 2, ..runner }, does().waits()).await;
    lab.restart("a").await;
    let next = lab.take("a").await;
    lab.fenced(Runner { run: 1, ..next }, does().completes_step("s")).await;
    lab.fenced(runner, does().completes_step("s")).await;
    lab.stored(next, does().completes_step("s")).await;
}

pub async fn after_the_end_everything_is_fenced(lab: &Lab) {
    let completed = lab.begin("completed").await;
    lab.stored(completed, does().completes(1)).await;
    lab.fenced(completed, does().errs("no")).await;
    let terminated = lab.begin("terminated").await;
    lab.terminate("terminated").await;
    lab.fenced(terminated, does().completes(1)).await;
}

pub async fn a_fenced_commit_starts_no_child_and_tells_nobody(lab: &Lab) {
    let older = lab.begin("a").await;
    lab.take("a").await;
    lab.fenced(older, does().awaits("b", "kid").detaches("c", "kid2").completes(1)).await;
    assert!(lab.find("b").await.is_none() && lab.find("c").await.is_none());
    lab.hears(&[]).await;
}

pub async fn what_finishes_during_a_pause_is_stored(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.pause("a").await;
    lab.stored(runner, does().completes_step("s").waits()).await;
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.phase), ("paused", Phase::Waiting));
    lab.stored(runner, does().completes(1)).await;
    assert_eq!(lab.status("a").await, "completed");
}
