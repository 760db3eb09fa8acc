//! Who may run an instance.

use std::sync::Arc;

use abide::history::{Entry, EntryKind, StepKind};
use abide::store::{Epoch, IfExists};
use abide::{InstanceKey, NewInstance, Phase};

use crate::fixture::{Does, does, instance};
use crate::{Lab, Recorder, Runner, in_words};

pub async fn every_claim_is_higher_and_fences_the_one_before(lab: &Lab) {
    let first = lab.begin("a").await;
    let second = lab.take("a").await;
    let third = lab.take("a").await;
    assert!(first.epoch < second.epoch && second.epoch < third.epoch);
    lab.fenced(first, does().waits()).await;
    lab.fenced(second, does().waits()).await;
    lab.stored(third, does().waits()).await;
    lab.release(third).await;
    assert!(third.epoch < lab.take("a").await.epoch, "also after a release");
}

pub async fn what_is_gone_ended_or_paused_cannot_be_claimed(lab: &Lab) {
    assert_eq!(lab.store.claim(InstanceKey(77)).await.unwrap(), None);
    let ended = lab.begin_doing("ended", does().completes(1)).await;
    assert_eq!(lab.store.claim(ended.key).await.unwrap(), None);
    let paused = lab.begin("paused").await;
    lab.pause("paused").await;
    assert_eq!(lab.store.claim(paused.key).await.unwrap(), None);
    lab.stored(paused, does().completes_step("s")).await;
}

pub async fn what_is_parked_or_queued_can_be_claimed(lab: &Lab) {
    for phase in [Phase::Running, Phase::Waiting, Phase::Sleeping, Phase::Queued] {
        let name = phase.as_str();
        lab.begin_doing(name, does().parks(phase, Some(lab.in_ms(5)))).await;
        let runner = lab.take(name).await;
        assert_eq!(lab.status(name).await, name, "a claim is not seen");
        lab.stored(runner, does().completes_step("s")).await;
    }
    let new = NewInstance { start_at: Some(lab.in_ms(5)), ..instance("later") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    let claimed = lab.claimed("later").await;
    assert!(claimed.history.is_empty());
}

pub async fn a_claim_reads_the_instance_and_its_current_run_with_marks(lab: &Lab) {
    let runner = lab.begin("a").await;
    lab.stored(runner, does().completes_step("old")).await;
    lab.restart("a").await;
    let next = lab.take("a").await;
    let mark = Entry::of_step(EntryKind::Seen, &"kid".into(), StepKind::Child);
    lab.stored(next, does().completes_step("new").records(&mark).waits()).await;
    let claimed = lab.claimed("a").await;
    assert_eq!(claimed.instance, lab.get("a").await);
    let story: Vec<String> = claimed.history.iter().map(in_words).collect();
    assert_eq!(story[..2], ["3 workflow.restarted", "4 workflow.started"]);
    assert_eq!(story[2..], ["5 step.completed new", "5 seen kid"]);
    assert!(claimed.history.iter().all(|recorded| recorded.run == 2));
}

pub async fn attaching_voids_every_claim(lab: &Lab) {
    let a = lab.begin("a").await;
    let b = lab.begin_doing("b", does().waits()).await;
    lab.store.attach(Recorder::new()).await.unwrap();
    lab.fenced(a, does().completes_step("s")).await;
    lab.fenced(b, does().completes_step("s")).await;
    assert_eq!(lab.runnable().await, ["a"]);
    let again = lab.take("a").await;
    assert!(again.epoch > a.epoch);
    lab.stored(again, does().completes_step("s")).await;
}

pub async fn only_the_last_one_attached_hears(lab: &Lab) {
    let second = Recorder::new();
    lab.store.attach(Arc::clone(&second) as _).await.unwrap();
    lab.begin_doing("a", does().completes(1)).await;
    second.wait_for(1).await;
    assert_eq!(second.take().len(), 1);
    lab.hears(&[]).await;
}

pub async fn a_released_instance_is_nobodys(lab: &Lab) {
    let runner = lab.begin("a").await;
    assert!(lab.runnable().await.is_empty());
    lab.release(runner).await;
    assert_eq!(lab.runnable().await, ["a"]);
    lab.fenced(runner, does().completes_step("s")).await;
}

pub async fn releasing_another_claim_than_the_present_one_changes_nothing(lab: &Lab) {
    let older = lab.begin("a").await;
    let newer = lab.take("a").await;
    lab.release(older).await;
    lab.release(Runner { epoch: Epoch(newer.epoch.0 + 1), ..newer }).await;
    lab.release(Runner { key: InstanceKey(77), ..newer }).await;
    assert!(lab.runnable().await.is_empty());
    lab.stored(newer, does().completes_step("s")).await;
}
