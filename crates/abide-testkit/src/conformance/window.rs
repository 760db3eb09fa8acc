//! Triggers whose events hang together.

use std::time::Duration;

use abide::window::{WindowRule, Windowing};
use abide::{NewInstance, Publish, StartBy, Timestamp, Verdict};

use crate::Lab;
use crate::fixture::{Does, does, instance, json, published, starting};

const PERIOD: Duration = Duration::from_millis(10);
const DEBOUNCE: WindowRule = WindowRule::Debounce { period: PERIOD, max_wait: None };
const BATCH: WindowRule = WindowRule::Batch { max_size: 3, period: PERIOD };
const THROTTLE: WindowRule = WindowRule::Throttle { limit: 2, period: PERIOD };

/// The event `p<name>` starts the instance `<name>`, in a window; its input is its name.
async fn falls(lab: &Lab, rule: WindowRule, key: &str, name: &str) -> Verdict {
    let new = NewInstance { correlation_id: Some(format!("c-{name}")), ..instance(name) };
    let window = Some(Windowing { key: key.into(), rule });
    let start = StartBy { instance: new, window, ..starting("t", name) };
    let publish = Publish { starts: vec![start], ..published("e", &format!("p{name}")) };
    lab.publish(publish).await.unwrap()
}

async fn told(lab: &Lab, rule: WindowRule, key: &str, name: &str) -> Vec<String> {
    crate::lab::outcome(&falls(lab, rule, key, name).await)
}

fn advance(lab: &Lab, ms: u64) {
    lab.clock.advance(Duration::from_millis(ms));
}

pub async fn a_burst_is_debounced_to_its_last(lab: &Lab) {
    let verdict = falls(lab, DEBOUNCE, "k", "a").await;
    assert_eq!(crate::lab::outcome(&verdict), ["t defers a"]);
    assert_eq!(verdict.deferred[0].until, lab.in_ms(10));
    lab.hears(&["due a"]).await;
    advance(lab, 6);
    let verdict = falls(lab, DEBOUNCE, "k", "b").await;
    assert_eq!(crate::lab::outcome(&verdict), ["t defers a"], "it joins");
    assert_eq!(verdict.deferred[0].until, lab.in_ms(10));
    lab.hears(&["due a"]).await;
    assert_eq!(lab.find("b").await, None);
    let a = lab.get("a").await;
    assert_eq!((a.input.clone(), a.correlation_id.as_deref()), (json("b"), Some("c-b")));
    assert_eq!((a.wake_at, a.status().as_str()), (Some(lab.in_ms(10)), "queued"));
    assert_eq!(a.queued_reason, Some(format!("starts at {}", lab.in_ms(10))));
    assert_eq!((a.updated_at, a.log_from), (lab.in_ms(0), 1));
    assert_eq!(
        (lab.takers("pa").await, lab.takers("pb").await),
        (vec!["a".to_owned()], vec!["a".to_owned()])
    );
}

pub async fn a_debounce_does_not_wait_for_ever(lab: &Lab) {
    let max_wait = Some(Duration::from_millis(15));
    let rule = WindowRule::Debounce { period: PERIOD, max_wait };
    falls(lab, rule, "k", "a").await;
    advance(lab, 8);
    assert_eq!(falls(lab, rule, "k", "b").await.deferred[0].until, lab.in_ms(7));
    advance(lab, 9);
    let late = falls(lab, rule, "k", "c").await;
    assert_eq!(late.deferred[0].until, lab.in_ms(0), "it should have begun, and begins now");
    assert_eq!(lab.get("a").await.wake_at, Some(lab.in_ms(0)));
    assert_eq!(lab.get("a").await.input, json("c"));
}

pub async fn windows_with_other_keys_or_triggers_do_not_know_of_each_other(lab: &Lab) {
    assert_eq!(told(lab, DEBOUNCE, "k", "a").await, ["t defers a"]);
    assert_eq!(told(lab, DEBOUNCE, "l", "b").await, ["t defers b"]);
    let window = Some(Windowing { key: "k".into(), rule: DEBOUNCE });
    let other = StartBy { window, ..starting("u", "c") };
    let publish = Publish { starts: vec![other], ..published("e", "pc") };
    assert_eq!(lab.published(publish).await, ["u defers c"]);
    assert_eq!(told(lab, DEBOUNCE, "l", "d").await, ["t defers b"]);
}

pub async fn what_has_begun_ended_or_was_claimed_is_joined_no_more(lab: &Lab) {
    falls(lab, DEBOUNCE, "k", "a").await;
    lab.terminate("a").await;
    assert_eq!(told(lab, DEBOUNCE, "k", "b").await, ["t defers b"]);
    let b = lab.take("b").await;
    assert_eq!(told(lab, DEBOUNCE, "k", "c").await, ["t defers c"], "its input was read");
    lab.stored(b, does().parks(abide::Phase::Running, None)).await;
    let c = lab.take("c").await;
    lab.release(c).await;
    assert_eq!(told(lab, DEBOUNCE, "k", "d").await, ["t defers c"], "given back, it can be");
    lab.restart("c").await;
    assert_eq!(told(lab, DEBOUNCE, "k", "f").await, ["t defers f"]);
    assert_eq!(lab.get("a").await.input, json("a"));
    assert_eq!(lab.get("b").await.input, json("b"));
    assert_eq!(lab.get("c").await.input, json("d"));
}

pub async fn a_paused_start_can_be_joined(lab: &Lab) {
    falls(lab, BATCH, "k", "a").await;
    lab.pause("a").await;
    assert_eq!(told(lab, BATCH, "k", "b").await, ["t defers a"]);
    assert_eq!(lab.status("a").await, "paused");
    assert_eq!(lab.get("a").await.input, json(["a", "b"]));
}

pub async fn a_batch_collects_until_it_is_full(lab: &Lab) {
    let verdict = falls(lab, BATCH, "k", "a").await;
    assert_eq!(verdict.deferred[0].until, lab.in_ms(10));
    assert_eq!(lab.get("a").await.input, json(["a"]));
    advance(lab, 2);
    assert_eq!(falls(lab, BATCH, "k", "b").await.deferred[0].until, lab.in_ms(8));
    advance(lab, 2);
    lab.forget_hints().await;
    let last = falls(lab, BATCH, "k", "c").await;
    assert_eq!(crate::lab::outcome(&last), ["t defers a"]);
    assert_eq!((last.deferred[0].until, last.started_count), (lab.in_ms(0), 0));
    let a = lab.get("a").await;
    assert_eq!((a.input.clone(), a.wake_at), (json(["a", "b", "c"]), Some(lab.in_ms(0))));
    assert_eq!(a.correlation_id.as_deref(), Some("c-a"), "that of the first");
    assert_eq!(a.status().as_str(), "queued");
    lab.hears(&["due a"]).await;
    assert_eq!(told(lab, BATCH, "k", "d").await, ["t defers d"], "a full one takes no more");
    for id in ["pa", "pb", "pc"] {
        assert_eq!(lab.takers(id).await, ["a"]);
    }
}

pub async fn a_batch_of_one_begins_at_once(lab: &Lab) {
    let rule = WindowRule::Batch { max_size: 1, period: PERIOD };
    assert_eq!(told(lab, rule, "k", "a").await, ["t starts a"]);
    assert_eq!(lab.get("a").await.input, json(["a"]));
    assert_eq!(lab.story("a").await, ["1 workflow.started"]);
    assert_eq!(lab.history("a").await[0].entry.payload, Some(json(["a"])));
    assert_eq!(told(lab, rule, "k", "b").await, ["t starts b"]);
}

pub async fn a_throttle_gives_each_its_period(lab: &Lab) {
    let mut begins = Vec::new();
    let opened = lab.in_ms(0);
    for (name, ms) in [("a", 0), ("b", 1), ("c", 1), ("d", 1), ("e", 1), ("f", 21)] {
        advance(lab, ms);
        let verdict = falls(lab, THROTTLE, "k", name).await;
        let at = verdict.deferred.first().map_or(lab.in_ms(0), |deferred| deferred.until);
        begins.push((crate::lab::outcome(&verdict).remove(0), at.0 - opened.0));
    }
    let expected = [
        ("t starts a", 0),
        ("t starts b", 1),
        ("t defers c", 10),
        ("t defers d", 10),
        ("t defers e", 20),
        ("t starts f", 25),
    ];
    assert_eq!(begins, expected.map(|(told, at)| (told.to_owned(), at)));
    assert_eq!(lab.get("c").await.wake_at, Some(Timestamp(opened.0 + 10)));
    assert_eq!(lab.get("c").await.input, json("c"));
}

pub async fn an_id_that_exists_leaves_the_window_as_it_was(lab: &Lab) {
    lab.begin("taken").await;
    assert!(falls(lab, THROTTLE, "k", "taken").await.deferred.is_empty());
    assert_eq!(told(lab, THROTTLE, "k", "a").await, ["t starts a"]);
    assert_eq!(told(lab, THROTTLE, "k", "b").await, ["t starts b"], "two of two");
    assert_eq!(told(lab, THROTTLE, "k", "c").await, ["t defers c"]);
    falls(lab, DEBOUNCE, "l", "d").await;
    assert_eq!(told(lab, DEBOUNCE, "l", "taken2").await, ["t defers d"]);
}

pub async fn a_joined_start_has_its_timeout_from_its_new_moment(lab: &Lab) {
    let new = |name: &str| {
        let instance = NewInstance { timeout: Some(Duration::from_millis(5)), ..instance(name) };
        let window = Some(Windowing { key: "k".into(), rule: DEBOUNCE });
        let start = StartBy { instance, window, ..starting("t", name) };
        Publish { starts: vec![start], ..published("e", name) }
    };
    lab.published(new("a")).await;
    assert_eq!(lab.get("a").await.timeout_at, Some(lab.in_ms(15)));
    advance(lab, 3);
    lab.published(new("b")).await;
    assert_eq!(lab.get("a").await.timeout_at, Some(lab.in_ms(15)));
}

pub async fn a_dry_run_leaves_the_window_as_it_was(lab: &Lab) {
    falls(lab, BATCH, "k", "a").await;
    let window = Some(Windowing { key: "k".into(), rule: BATCH });
    let start = StartBy { window, ..starting("t", "b") };
    let dry = Publish { starts: vec![start], dry_run: true, ..published("e", "pb") };
    for _ in 0..5 {
        assert_eq!(lab.published(dry.clone()).await, ["t defers a"]);
    }
    assert_eq!(lab.get("a").await.input, json(["a"]));
    falls(lab, BATCH, "k", "b").await;
    assert_eq!(lab.get("a").await.input, json(["a", "b"]));
}

pub async fn a_batch_does_not_join_what_is_no_list(lab: &Lab) {
    falls(lab, DEBOUNCE, "k", "a").await;
    assert_eq!(told(lab, BATCH, "k", "b").await, ["t defers b"], "the trigger was changed");
    assert_eq!(lab.get("a").await.input, json("a"));
    assert_eq!(told(lab, DEBOUNCE, "k", "c").await, ["t defers b"]);
    assert_eq!(lab.get("b").await.input, json("c"));
}
