//! Forgetting instances that ended.

use std::time::Duration;

use abide::{Filter, InstanceKey, Page};

use crate::Lab;
use crate::fixture::{Does, does, id};

/// Three that ended 10 ms apart, not in the order in which they were created.
async fn end_three(lab: &Lab) {
    let mut runners = Vec::new();
    for name in ["third", "first", "second"] {
        runners.push(lab.begin(name).await);
    }
    for runner in [1, 2, 0].map(|place| runners[place]) {
        lab.stored(runner, does().completes(1)).await;
        lab.clock.advance(Duration::from_millis(10));
    }
}

async fn left(lab: &Lab) -> Vec<String> {
    lab.all().await.iter().map(|found| found.id.to_string()).collect()
}

pub async fn only_what_ended_before_the_moment_goes(lab: &Lab) {
    end_three(lab).await;
    let second_ended = lab.get("second").await.completed_at.unwrap();
    assert_eq!(lab.store.prune(second_ended, 100).await.unwrap(), 1);
    assert_eq!(left(lab).await, ["second", "third"]);
    assert_eq!(lab.store.prune(second_ended, 100).await.unwrap(), 0);
}

pub async fn at_most_so_many_go_and_the_oldest_first(lab: &Lab) {
    end_three(lab).await;
    assert_eq!(lab.store.prune(lab.in_ms(1), 2).await.unwrap(), 2);
    assert_eq!(left(lab).await, ["third"]);
    assert_eq!(lab.store.prune(lab.in_ms(1), 2).await.unwrap(), 1);
    assert!(left(lab).await.is_empty());
    lab.forget_hints().await;
}

pub async fn what_has_not_ended_stays(lab: &Lab) {
    lab.begin("running").await;
    lab.begin_doing("waiting", does().waits()).await;
    lab.begin_doing("paused", does().pauses()).await;
    lab.begin_doing("again", does().completes(1)).await;
    lab.restart("again").await;
    assert_eq!(lab.store.prune(lab.in_ms(1000), 100).await.unwrap(), 0);
    assert_eq!(left(lab).await.len(), 4);
}

pub async fn everything_it_owned_goes_with_it(lab: &Lab) {
    let runner = lab.begin_doing("a", does().completes_step("s").completes(1)).await;
    lab.store.prune(lab.in_ms(1), 1).await.unwrap();
    assert!(lab.find("a").await.is_none());
    assert!(lab.store.history(&id("a"), 0, 10).await.is_err());
    assert_eq!(lab.store.claim(runner.key).await.unwrap(), None);
    lab.fenced(runner, does().waits()).await;
    lab.hears(&["ended a completed"]).await;
}

pub async fn its_id_is_free_again_and_its_key_is_not(lab: &Lab) {
    let before = lab.begin_doing("a", does().completes_step("s").completes(1)).await;
    lab.store.prune(lab.in_ms(1), 1).await.unwrap();
    let after = lab.begin("a").await;
    assert!(after.key > before.key, "a key is never used twice");
    assert_eq!(lab.story("a").await, ["1 workflow.started"]);
    assert_eq!(lab.get("a").await.run, 1);
    lab.fenced(before, does().completes_step("s")).await;
    assert_eq!(lab.store.claim(before.key).await.unwrap(), None);
}

pub async fn children_of_a_pruned_parent_stay(lab: &Lab) {
    let parent = lab.begin_doing("parent", does().awaits("child", "kid").completes(1)).await;
    assert_eq!(lab.store.prune(lab.in_ms(1), 9).await.unwrap(), 1);
    let child = lab.get("child").await;
    assert_eq!(child.parent.map(|tie| tie.key), Some(parent.key));
    let filter = Filter { parent: Some(id("parent")), ..Filter::default() };
    let listed = lab.store.instances(filter, Page::default()).await.unwrap();
    assert_eq!(listed.instances.len(), 1);
    assert!(lab.store.runnable(InstanceKey(0), 9).await.unwrap() == [child.key]);
}
