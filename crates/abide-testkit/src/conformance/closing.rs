//! What becomes of waits, of what is buffered and of outputs when a run is over.

use abide::{Delivery, Kind, WaitFilter};

use crate::fixture::{Does, does, event, id, message, signal, step};
use crate::{Lab, Runner};

/// Waits for `e`, keeps `m1` and `m2`, one of them for later, and has an output.
async fn busy(lab: &Lab) -> Runner {
    let all = does().completes_step("s").hears("w", "e").sets("k", 1).waits();
    let runner = lab.begin_doing("a", all).await;
    lab.accepted(signal("a", "s", "m1")).await;
    let later = Delivery { visible_at: Some(lab.in_ms(99)), ..message("a", "t", "m2") };
    lab.accepted(later).await;
    lab.forget_hints().await;
    runner
}

pub async fn an_end_cancels_and_discards_in_a_row_before_its_own(lab: &Lab) {
    let a = busy(lab).await;
    let known = lab.get("a").await.next_seq - 1;
    let completed = step(abide::history::EntryKind::WorkflowCompleted, "end");
    lab.stored(a, does().records(&completed).completes(1)).await;
    let told =
        ["wait.cancelled w", "event.discarded s", "event.discarded t", "workflow.completed end"];
    assert_eq!(lab.news("a", known).await, told);
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert!(lab.buffered("a").await.is_empty());
    assert_eq!(lab.outputs("a").await.len(), 1, "outputs can still be read");
    lab.hears(&["ended a completed"]).await;
}

pub async fn a_failure_and_a_termination_do_so_too(lab: &Lab) {
    let a = busy(lab).await;
    lab.stored(a, does().errs("no")).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert!(lab.buffered("a").await.is_empty());
    lab.begin_doing("b", does().hears("v", "e").waits()).await;
    lab.accepted(signal("b", "s", "m1")).await;
    lab.terminate("b").await;
    let told = ["wait.cancelled v", "event.discarded s", "workflow.terminated "];
    assert_eq!(lab.news("b", 3).await, told);
    assert!(lab.buffered("b").await.is_empty());
}

pub async fn a_wait_that_the_last_commit_drops_is_not_cancelled_twice(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").hears("v", "e").waits()).await;
    lab.stored(a, does().drops("w").completes(1)).await;
    assert_eq!(lab.news("a", 1).await, ["wait.cancelled v"]);
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v cancelled"]);
}

pub async fn what_the_last_commit_itself_leaves_open_is_closed_too(lab: &Lab) {
    let a = lab.begin("a").await;
    let all = does().sends("send", message("a", "t", "m1")).hears("w", "e").completes(1);
    lab.stored(a, all).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert!(lab.buffered("a").await.is_empty());
    assert_eq!(lab.news("a", 4).await, ["wait.cancelled w", "event.discarded t"]);
}

pub async fn what_was_consumed_by_a_wait_that_ended_with_its_run_is_gone(lab: &Lab) {
    let a = busy(lab).await;
    lab.accepted(event("a", "e", "m3")).await;
    lab.stored(a, does().completes(1)).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m3"]);
    assert!(lab.buffered("a").await.is_empty());
}

pub async fn a_whole_restart_deletes_all_of_it(lab: &Lab) {
    busy(lab).await;
    lab.restart("a").await;
    assert!(lab.waits("a").await.is_empty() && lab.buffered("a").await.is_empty());
    assert!(lab.outputs("a").await.is_empty());
    assert_eq!(lab.accepted(signal("a", "s", "m1")).await, (0, true), "nothing is remembered");
    assert_eq!(lab.buffered("a").await, ["m1"]);
    assert_eq!(lab.get("a").await.wake_at, None);
}

pub async fn a_restart_from_a_step_cancels_open_waits_and_keeps_the_rest(lab: &Lab) {
    let a = busy(lab).await;
    lab.accepted(event("a", "e", "m3")).await;
    lab.stored(a, does().hears("v", "f").waits()).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.restart_from("a", "s").await.unwrap();
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m3", "v cancelled"]);
    assert_eq!(lab.news("a", known).await[0], "wait.cancelled v");
    assert_eq!(lab.history("a").await[usize::try_from(known).unwrap()].run, 1);
    assert_eq!(lab.buffered("a").await, ["m1", "m2"]);
    assert_eq!(lab.outputs("a").await.len(), 1);
    let before = lab.everything().await;
    lab.accepted(signal("a", "s", "m1")).await;
    assert_eq!(lab.everything().await, before, "its id is remembered");
}

pub async fn a_continue_cancels_open_waits_and_keeps_the_rest(lab: &Lab) {
    let a = busy(lab).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.stored(a, does().continues("next")).await;
    assert_eq!(lab.news("a", known).await, ["wait.cancelled w", "workflow.started "]);
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert_eq!(lab.buffered("a").await, ["m1", "m2"]);
    assert_eq!(lab.outputs("a").await.len(), 1);
    let next = lab.take("a").await;
    lab.stored(next, does().hears_signal("v", "s").waits()).await;
    assert_eq!(lab.subscriptions("a").await[1], "v fulfilled by m1");
    assert_eq!(lab.waits("a").await[1].run, 2);
}

pub async fn a_wait_of_an_earlier_run_is_not_dropped_by_a_later_one(lab: &Lab) {
    let a = lab.begin_doing("a", does().completes_step("s").hears("w", "e").waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().continues("next")).await;
    let next = lab.take("a").await;
    lab.stored(next, does().drops("w")).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1"]);
    assert!(lab.buffered("a").await.is_empty());
}

pub async fn a_terminated_instance_is_not_revived_by_what_it_waited_for(lab: &Lab) {
    busy(lab).await;
    lab.terminate("a").await;
    assert_eq!(lab.refused(event("a", "e", "m9")).await, "WORKFLOW_NOT_RUNNING");
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.status("a").await, "terminated");
}

pub async fn pruning_removes_all_of_it(lab: &Lab) {
    let a = busy(lab).await;
    lab.stored(a, does().completes(1)).await;
    lab.store.prune(lab.in_ms(1), 1).await.unwrap();
    assert!(lab.store.waits(WaitFilter::default()).await.unwrap().is_empty());
    assert!(lab.store.buffer(&id("a")).await.is_err());
    assert!(lab.store.outputs(&id("a")).await.is_err());
    lab.begin("a").await;
    assert!(lab.outputs("a").await.is_empty());
    assert_eq!(lab.accepted(signal("a", "s", "m1")).await, (0, true));
    let waits = does().takes("t", Kind::Signal, "s");
    let a = lab.take("a").await;
    lab.stored(a, waits).await;
    assert!(lab.buffered("a").await.is_empty());
}
