//! Messages that a workflow sends.

use abide::{Delivered, Delivery, Kind};

use crate::Lab;
use crate::fixture::{Does, does, event, id, message, wait};

pub async fn it_is_delivered_and_settles_the_step_in_the_same_commit(lab: &Lab) {
    lab.begin_doing("b", does().reaches(wait("w", Kind::Message, "t")).waits()).await;
    let a = lab.begin("a").await;
    let sent = Delivery { source: Some("a".into()), ..message("b", "t", "m1") };
    lab.stored(a, does().completes_step("s").sends("send", sent).waits()).await;
    assert_eq!(lab.subscriptions("b").await, ["w fulfilled by m1"]);
    assert_eq!(lab.news("b", 1).await, ["event.received t", "wait.fulfilled w"]);
    assert_eq!(lab.news("a", 1).await, ["step.completed s", "step.completed send"]);
    let told = lab.history("a").await.pop().unwrap().entry;
    let answer: Delivered = told.payload.unwrap().decode().unwrap();
    assert_eq!(answer, Delivered { event_id: "m1".into(), delivered: 1, buffered: false });
    assert_eq!(told.child_id, Some(id("b")));
    assert_eq!((lab.status("a").await, lab.status("b").await), ("running", "running"));
    lab.hears(&["arrived b wait.fulfilled", "arrived a step.completed"]).await;
}

pub async fn a_refused_one_settles_the_step_and_stops_nothing_else(lab: &Lab) {
    lab.begin_doing("ended", does().completes(1)).await;
    lab.begin("b").await;
    let does = does()
        .sends("one", message("nobody", "t", "m1"))
        .sends("two", message("ended", "t", "m2"))
        .sends("three", message("b", "t", "m3"));
    lab.begin_doing("a", does).await;
    let told = ["step.failed one", "step.failed two", "step.completed three"];
    assert_eq!(lab.news("a", 1).await, told);
    let history = lab.history("a").await;
    let code = |at: usize| history[at].entry.error.as_ref().unwrap().code.clone();
    assert_eq!((code(1), code(2)), ("WORKFLOW_NOT_FOUND".into(), "WORKFLOW_NOT_RUNNING".into()));
    assert_eq!(lab.buffered("b").await, ["m3"]);
}

pub async fn it_can_be_sent_to_itself(lab: &Lab) {
    let a = lab.begin("a").await;
    let both = does().sends("send", message("a", "t", "m1"));
    lab.stored(a, both.reaches(wait("w", Kind::Message, "t")).waits()).await;
    let told = ["event.received t", "event.buffered t", "step.completed send", "wait.fulfilled w"];
    assert_eq!(lab.news("a", 1).await, told);
    assert!(lab.buffered("a").await.is_empty());
}

pub async fn the_same_id_again_is_answered_as_the_first_time(lab: &Lab) {
    lab.begin("b").await;
    let a = lab.begin("a").await;
    lab.stored(a, does().sends("one", message("b", "t", "m1"))).await;
    lab.stored(a, does().sends("two", message("b", "t", "m1"))).await;
    let history = lab.history("a").await;
    assert_eq!(history[1].entry.payload, history[2].entry.payload);
    assert_eq!(lab.buffered("b").await, ["m1"]);
}

pub async fn an_event_may_be_sent_too(lab: &Lab) {
    lab.begin_doing("b", does().hears("w", "e").waits()).await;
    lab.begin_doing("a", does().sends("send", event("b", "e", "m1"))).await;
    assert_eq!(lab.subscriptions("b").await, ["w fulfilled by m1"]);
}
