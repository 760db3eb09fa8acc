//! Creating instances.

use std::time::Duration;

use abide::store::{Epoch, IfExists, Started};
use abide::{Clock, InstanceKey, NewInstance};

use crate::Lab;
use crate::fixture::{Does, does, instance, json};

pub async fn what_begins_now_is_running_and_claimed(lab: &Lab) {
    let runner = lab.begin("a").await;
    let a = lab.get("a").await;
    assert_eq!((a.key, a.run, a.status().as_str()), (runner.key, 1, "running"));
    assert_eq!((a.created_at, a.updated_at), (lab.clock.now(), lab.clock.now()));
    assert_eq!((a.run_seq, a.next_seq), (1, 2));
    assert_eq!(lab.story("a").await, ["1 workflow.started"]);
    assert_eq!(lab.history("a").await[0].entry.payload, Some(json("a")));
    assert!(lab.runnable().await.is_empty(), "its claim belongs to the caller");
    lab.stored(runner, does().completes_step("s")).await;
    lab.hears(&[]).await;
}

pub async fn what_was_given_reads_back_equal(lab: &Lab) {
    let odd = "'\"\\ \u{1F600} %_ $1 ?1";
    let given = NewInstance {
        workflow: odd.into(),
        version: 7,
        input: json((odd, '\u{0}', u64::MAX, i64::MIN, 0.1 + 0.2)),
        correlation_id: Some(odd.to_owned()),
        tags: vec!["z".to_owned(), odd.to_owned(), "a".to_owned()],
        timeout: Some(Duration::from_millis(1500)),
        ..instance("ä/1 #[2]")
    };
    lab.begin_with(given.clone()).await;
    let kept = lab.get("ä/1 #[2]").await;
    assert_eq!((kept.workflow, kept.version), (given.workflow, given.version));
    assert_eq!((kept.input, kept.tags), (given.input, given.tags));
    assert_eq!((kept.correlation_id, kept.timeout), (given.correlation_id, given.timeout));
    assert_eq!((kept.context, kept.output, kept.error), (None, None, None));
    assert_eq!((kept.parent, kept.completed_at, kept.wake_at), (None, None, None));
}

pub async fn a_batch_is_answered_in_order_with_rising_keys(lab: &Lab) {
    let batch = ["a", "b", "c"].map(instance).to_vec();
    let answers = lab.start(batch, IfExists::Error).await.unwrap();
    let mut keys = Vec::new();
    for (answer, name) in answers.iter().zip(["a", "b", "c"]) {
        let Started::Running { key, created_at, .. } = *answer else { panic!("{answer:?}") };
        assert_eq!((key, created_at), (lab.get(name).await.key, lab.clock.now()));
        keys.push(key);
    }
    assert!(keys.is_sorted() && keys[0] >= InstanceKey(1), "{keys:?}");
}

pub async fn a_batch_of_nothing_is_answered_with_nothing(lab: &Lab) {
    assert_eq!(lab.start(vec![], IfExists::Error).await.unwrap(), []);
}

pub async fn an_id_that_exists_refuses_the_whole_batch(lab: &Lab) {
    lab.begin("taken").await;
    let batch = ["new", "taken", "other"].map(instance).to_vec();
    let refused = lab.start(batch, IfExists::Error).await.unwrap_err();
    assert_eq!(refused.to_string(), "instance taken already exists");
    assert_eq!(lab.all().await.len(), 1, "all or nothing");
    lab.hears(&[]).await;
}

pub async fn the_id_of_an_ended_instance_is_still_taken(lab: &Lab) {
    lab.begin_doing("a", does().completes(1)).await;
    let refused = lab.start(vec![instance("a")], IfExists::Error).await.unwrap_err();
    assert_eq!(refused.code(), "WORKFLOW_ALREADY_EXISTS");
}

pub async fn an_id_that_comes_twice_refuses_the_whole_batch(lab: &Lab) {
    let batch = ["a", "b", "a"].map(instance).to_vec();
    let refused = lab.start(batch, IfExists::Error).await.unwrap_err();
    assert_eq!(refused.to_string(), "instance a already exists");
    assert!(lab.all().await.is_empty(), "all or nothing");
}

pub async fn asked_to_return_it_answers_the_existing_and_starts_the_rest(lab: &Lab) {
    let runner = lab.begin("taken").await;
    let batch = vec![NewInstance { input: json("ignored"), ..instance("taken") }, instance("new")];
    let answers = lab.start(batch, IfExists::Return).await.unwrap();
    assert_eq!(answers[0], Started::Existing(runner.key));
    assert!(matches!(answers[1], Started::Running { .. }), "{answers:?}");
    assert_eq!(lab.get("taken").await.input, json("taken"));
    // The claim is still that of whoever started it.
    lab.stored(runner, does().completes_step("s")).await;
}

pub async fn asked_to_return_it_answers_an_id_that_comes_twice_with_the_first(lab: &Lab) {
    let batch = vec![instance("a"), instance("a")];
    let answers = lab.start(batch, IfExists::Return).await.unwrap();
    let key = lab.get("a").await.key;
    assert!(matches!(answers[0], Started::Running { key: first, .. } if first == key));
    assert_eq!(answers[1], Started::Existing(key));
}

pub async fn what_begins_later_is_queued_and_nobodys(lab: &Lab) {
    let later = lab.in_ms(50);
    let new = NewInstance {
        start_at: Some(later),
        first: Some(does().completes_step("s").completes(1)),
        ..instance("a")
    };
    let answers = lab.start(vec![new], IfExists::Error).await.unwrap();
    let a = lab.get("a").await;
    assert_eq!(answers, [Started::Queued(a.key)]);
    assert_eq!((a.status().as_str(), a.wake_at), ("queued", Some(later)));
    assert_eq!((a.run_seq, a.next_seq, a.run), (1, 1, 1));
    assert!(lab.history("a").await.is_empty(), "its runner writes workflow.started");
    assert!(lab.runnable().await.is_empty());
    assert_eq!(lab.due(lab.in_ms(51)).await, ["a"]);
    lab.hears(&[]).await;
}

pub async fn a_start_that_is_not_later_begins_now(lab: &Lab) {
    for (name, ms) in [("past", -1), ("now", 0)] {
        let new = NewInstance { start_at: Some(lab.in_ms(ms)), ..instance(name) };
        lab.begin_with(new).await;
        let kept = lab.get(name).await;
        assert_eq!((kept.status().as_str(), kept.wake_at), ("running", None));
    }
}

pub async fn the_timeout_counts_from_acceptance_or_start(lab: &Lab) {
    let timeout = Some(Duration::from_millis(100));
    let now = NewInstance { timeout, ..instance("now") };
    let later = NewInstance { timeout, start_at: Some(lab.in_ms(50)), ..instance("later") };
    let past = NewInstance { timeout, start_at: Some(lab.in_ms(-50)), ..instance("past") };
    lab.start(vec![now, later, past], IfExists::Error).await.unwrap();
    assert_eq!(lab.get("now").await.timeout_at, Some(lab.in_ms(100)));
    assert_eq!(lab.get("later").await.timeout_at, Some(lab.in_ms(150)));
    assert_eq!(lab.get("past").await.timeout_at, Some(lab.in_ms(100)));
}

pub async fn the_first_transition_applies_behind_workflow_started(lab: &Lab) {
    let wake = lab.in_ms(9);
    let first = does().completes_step("s").remembers("c").sleeps_until(wake).awaits("b", "kid");
    lab.begin_doing("a", first).await;
    assert_eq!(lab.story("a").await, ["1 workflow.started", "2 step.completed s"]);
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.wake_at), ("sleeping", Some(wake)));
    assert_eq!((a.context, a.next_seq), (Some(json("c")), 3));
    assert_eq!(lab.runnable().await, ["b"]);
    lab.hears(&["runnable b"]).await;
}

pub async fn an_end_in_the_first_transition_ends_it(lab: &Lab) {
    let runner = lab.begin_doing("a", does().completes("done")).await;
    let a = lab.get("a").await;
    assert_eq!((a.status().as_str(), a.output), ("completed", Some(json("done"))));
    lab.fenced(runner, does().completes_step("s")).await;
    lab.hears(&["ended a completed"]).await;
}

pub async fn a_first_transition_may_pause_or_continue(lab: &Lab) {
    lab.begin_doing("paused", does().pauses()).await;
    lab.begin_doing("next", does().completes_step("s").continues(2)).await;
    assert_eq!(lab.status("paused").await, "paused");
    let next = lab.get("next").await;
    assert_eq!((next.run, next.run_seq, next.input), (2, 3, json(2)));
    assert_eq!(lab.runnable().await, ["next"]);
    lab.hears(&["paused paused", "restarted next"]).await;
}

pub async fn every_instance_of_a_batch_has_a_claim_of_its_own(lab: &Lab) {
    let batch = ["a", "b"].map(instance).to_vec();
    let answers = lab.start(batch, IfExists::Error).await.unwrap();
    for answer in answers {
        let Started::Running { key, epoch, .. } = answer else { panic!("{answer:?}") };
        let runner = crate::Runner { key, run: 1, epoch };
        lab.fenced(crate::Runner { epoch: Epoch(epoch.0 + 100), ..runner }, does().waits()).await;
        lab.stored(runner, does().waits()).await;
    }
}
