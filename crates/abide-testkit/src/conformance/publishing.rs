//! Events that a workflow publishes.

use abide::{Kind, NewInstance, Publish, Since, Verdict};

use crate::Lab;
use crate::fixture::{Does, cancelling, does, event, instance, message, published, starting, wait};

pub async fn it_is_accepted_and_settles_the_step_in_the_same_commit(lab: &Lab) {
    lab.begin_doing("b", does().hears("w", "e").waits()).await;
    let a = lab.begin("a").await;
    let publish = Publish { starts: vec![starting("t", "c")], ..published("e", "p1") };
    lab.stored(a, does().completes_step("s").publishes("tell", publish).waits()).await;
    assert_eq!(lab.subscriptions("b").await, ["w fulfilled by p1"]);
    assert_eq!(lab.status("c").await, "running");
    assert_eq!(lab.news("a", 1).await, ["step.completed s", "step.completed tell"]);
    let told = lab.history("a").await.pop().unwrap().entry;
    let verdict: Verdict = told.payload.unwrap().decode().unwrap();
    assert_eq!(crate::lab::outcome(&verdict), ["w of b", "t starts c"]);
    assert_eq!((verdict.seq, told.event_id.as_deref()), (Some(1), Some("p1")));
    assert_eq!(lab.log().await[0].verdict, verdict);
    assert_eq!(lab.status("a").await, "running", "it is woken to see the answer");
    lab.hears(&["arrived b wait.fulfilled", "runnable c", "arrived a step.completed"]).await;
}

pub async fn a_refused_one_settles_the_step_and_stops_nothing_else(lab: &Lab) {
    let a = lab.begin("a").await;
    let wrong = Publish { refused: Some("no n".into()), ..published("e", "p1") };
    let both = does().publishes("one", wrong).publishes("two", published("e", "p2"));
    lab.stored(a, both.waits()).await;
    assert_eq!(lab.news("a", 1).await, ["step.failed one", "step.completed two"]);
    assert_eq!(&*lab.history("a").await[1].entry.error.as_ref().unwrap().code, "EVENT_INVALID");
    assert_eq!(lab.log_ids().await, ["p2"]);
}

pub async fn the_same_again_is_answered_as_the_first_time(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.stored(a, does().publishes("one", published("e", "p1"))).await;
    lab.stored(a, does().publishes("two", published("e", "p1"))).await;
    let told = lab.history("a").await.pop().unwrap().entry;
    let verdict: Verdict = told.payload.unwrap().decode().unwrap();
    assert!(verdict.duplicate && verdict.seq == Some(1), "{verdict:?}");
    assert_eq!(lab.log_ids().await, ["p1"]);
}

pub async fn its_own_open_waits_may_take_it(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e")).await;
    lab.stored(a, does().publishes("tell", published("e", "p1")).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1"]);
    assert_eq!(lab.news("a", 1).await, ["wait.fulfilled w", "step.completed tell"]);
}

pub async fn waits_of_the_same_commit_find_it_by_looking_back(lab: &Lab) {
    let a = lab.begin("a").await;
    let does = does().publishes("tell", published("e", "p1")).hears("w", "e");
    let now = abide::NewWait { since: Since::Now, ..wait("now", Kind::Event, "e") };
    lab.stored(a, does.reaches(now).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1", "now active"]);
    assert_eq!(lab.news("a", 1).await, ["step.completed tell", "wait.fulfilled w"]);
    assert_eq!(lab.log().await[0].verdict.matched_count, 0);
}

pub async fn several_are_accepted_one_after_the_other(lab: &Lab) {
    lab.begin_doing("b", does().hears("one", "e").waits()).await;
    let a = lab.begin("a").await;
    let two = does().publishes("p", published("e", "p1")).publishes("q", published("e", "p2"));
    lab.stored(a, two.waits()).await;
    assert_eq!(lab.subscriptions("b").await, ["one fulfilled by p1"]);
    assert_eq!(lab.log_ids().await, ["p1", "p2"]);
    assert!(!lab.log().await[1].wanted);
}

pub async fn they_come_after_what_is_sent_and_before_what_is_taken(lab: &Lab) {
    lab.begin_doing("b", does().hears("one", "*").hears("two", "*").waits()).await;
    let a = lab.begin("a").await;
    let all = does()
        .publishes("tell", published("e", "p1"))
        .sends("send", event("b", "e", "m1"))
        .sends("self", message("a", "t", "m2"))
        .takes("take", Kind::Message, "t");
    lab.stored(a, all.waits()).await;
    assert_eq!(lab.subscriptions("b").await, ["one fulfilled by m1", "two fulfilled by m1"]);
    let told: Vec<String> = lab.news("a", 1).await;
    let steps: Vec<&str> =
        told.iter().filter_map(|it| it.strip_prefix("step.completed ")).collect();
    assert_eq!(steps, ["send", "self", "tell", "take"]);
}

pub async fn a_fenced_commit_publishes_nothing(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.take("a").await;
    lab.fenced(a, does().publishes("tell", published("e", "p1"))).await;
    assert!(lab.log().await.is_empty());
}

pub async fn the_first_transition_of_a_start_publishes_too(lab: &Lab) {
    lab.begin_doing("b", does().hears("w", "e").waits()).await;
    lab.begin_doing("a", does().publishes("tell", published("e", "p1")).waits()).await;
    assert_eq!(lab.subscriptions("b").await, ["w fulfilled by p1"]);
    assert_eq!(lab.story("a").await, ["1 workflow.started", "2 step.completed tell"]);
}

pub async fn the_last_commit_publishes_too(lab: &Lab) {
    lab.begin_doing("b", does().hears("w", "e").waits()).await;
    let a = lab.begin_doing("a", does().hears("own", "e")).await;
    lab.stored(a, does().publishes("tell", published("e", "p1")).completes(1)).await;
    assert_eq!(lab.status("a").await, "completed");
    assert_eq!(lab.subscriptions("a").await, ["own cancelled"]);
    assert_eq!(lab.subscriptions("b").await, ["w fulfilled by p1"]);
}

pub async fn whoever_is_cancelled_by_its_own_event_does_nothing_more(lab: &Lab) {
    let new = NewInstance { correlation_id: Some("c".into()), ..instance("a") };
    let a = lab.begin_with(new).await;
    let suicide = Publish { cancels: vec![cancelling("t", "c")], ..published("e", "p1") };
    let all = does()
        .completes_step("s")
        .sets("k", 1)
        .publishes("tell", suicide)
        .publishes("more", published("e", "p2"))
        .takes("take", Kind::Event, "e")
        .hears("w", "e")
        .awaits("child", "c")
        .completes(1);
    lab.stored(a, all).await;
    assert_eq!(lab.status("a").await, "terminated");
    assert_eq!(lab.get("a").await.output, None);
    assert_eq!(lab.news("a", 1).await, ["step.completed s", "workflow.terminated "]);
    assert_eq!(lab.outputs("a").await.len(), 1);
    assert_eq!(lab.log_ids().await, ["p1"]);
    assert!(lab.waits("a").await.is_empty());
    assert_eq!(lab.find("child").await, None);
}
