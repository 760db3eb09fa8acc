//! Starting children.

use abide::history::StepKind;
use abide::{Clock, Filter, Page, Parent, Phase};

use crate::Lab;
use crate::fixture::{Does, does, id, json};

pub async fn a_child_begins_running_unclaimed_and_tied_to_its_parent(lab: &Lab) {
    let parent = lab.begin("parent").await;
    lab.stored(parent, does().awaits("child", "kid").waits()).await;
    let child = lab.get("child").await;
    let tie =
        Parent { key: parent.key, id: id("parent"), run: 1, step: "kid".into(), awaited: true };
    assert_eq!((child.status().as_str(), child.parent), ("running", Some(tie)));
    assert_eq!((child.run, child.created_at, child.input), (1, lab.clock.now(), json("child")));
    assert!(child.key > parent.key);
    assert_eq!(lab.story("child").await, ["1 workflow.started"]);
    assert_eq!(lab.runnable().await, ["child"]);
    assert_eq!(lab.story("parent").await, ["1 workflow.started"], "it only waits");
    assert_eq!(lab.status("parent").await, "waiting");
    lab.hears(&["runnable child"]).await;
}

pub async fn children_begin_in_the_order_they_were_asked_for(lab: &Lab) {
    let parent = lab.begin("parent").await;
    lab.stored(parent, does().awaits("z", "one").awaits("a", "two").waits()).await;
    assert_eq!(lab.runnable().await, ["z", "a"]);
    let filter = Filter { parent: Some(id("parent")), ..Filter::default() };
    let listed = lab.store.instances(filter, Page::default()).await.unwrap();
    assert_eq!(listed.instances.len(), 2);
}

pub async fn a_detached_child_arrives_as_completed_at_once(lab: &Lab) {
    let parent = lab.begin("parent").await;
    lab.stored(parent, does().detaches("child", "kid").waits_until(lab.in_ms(5))).await;
    let history = lab.history("parent").await;
    assert_eq!(lab.story("parent").await, ["1 workflow.started", "2 step.completed kid"]);
    assert_eq!(history[1].entry.step_kind(), StepKind::Detached);
    assert_eq!(history[1].entry.child_id, Some(id("child")));
    let now = lab.get("parent").await;
    assert_eq!((now.phase, now.wake_at), (Phase::Running, None), "it has something to see");
    assert!(!lab.get("child").await.parent.unwrap().awaited);
    lab.stored(parent, does().completes_step("s")).await;
    lab.hears(&["runnable child", "arrived parent step.completed"]).await;
}

pub async fn a_child_whose_id_is_taken_arrives_as_refused(lab: &Lab) {
    lab.begin("taken").await;
    let before = lab.get("taken").await;
    for (parent, awaited) in [("awaits", true), ("detaches", false)] {
        let runner = lab.begin(parent).await;
        lab.stored(runner, does().starts("taken", "kid", awaited).waits()).await;
        let refused = &lab.history(parent).await[1].entry;
        let kind = if awaited { StepKind::Child } else { StepKind::Detached };
        assert_eq!(lab.story(parent).await[1], "2 step.failed kid");
        assert_eq!((refused.step_kind(), &refused.child_id), (kind, &Some(id("taken"))));
        assert_eq!(refused.error.as_ref().unwrap().code, "WORKFLOW_ALREADY_EXISTS");
        assert_eq!(lab.status(parent).await, "running", "it has something to see");
    }
    assert_eq!(lab.get("taken").await, before, "the one that has the id is left alone");
    lab.hears(&["arrived awaits step.failed", "arrived detaches step.failed"]).await;
}

pub async fn a_refused_child_does_not_stop_the_next_one(lab: &Lab) {
    let parent = lab.begin("parent").await;
    let twice = does().awaits("child", "one").awaits("child", "two").awaits("other", "three");
    lab.stored(parent, twice.waits()).await;
    assert_eq!(lab.story("parent").await[1..], ["2 step.failed two"]);
    assert_eq!(lab.get("child").await.parent.unwrap().step.as_ref(), "one");
    assert_eq!(lab.runnable().await, ["child", "other"]);
    lab.hears(&["runnable child", "arrived parent step.failed", "runnable other"]).await;
}

pub async fn an_instance_cannot_be_its_own_child(lab: &Lab) {
    let parent = lab.begin("parent").await;
    lab.stored(parent, does().awaits("parent", "kid").waits()).await;
    assert_eq!(lab.story("parent").await[1..], ["2 step.failed kid"]);
}
