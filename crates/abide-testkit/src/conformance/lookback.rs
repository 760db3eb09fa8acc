//! Waits that are reached after what they want was published.

use std::time::Duration;

use abide::{Kind, NewWait, Since, Timestamp};

use crate::Lab;
use crate::fixture::{
    Does, does, event, published, published_with, wait, wait_for_many, wait_racing, wait_where,
};

fn since(step: &str, since: Since) -> NewWait {
    NewWait { since, ..wait(step, Kind::Event, "e") }
}

pub async fn what_was_published_too_early_still_counts(lab: &Lab) {
    let a = lab.begin("a").await;
    assert!(lab.published(published("e", "p1")).await.is_empty());
    lab.stored(a, does().completes_step("s").hears("w", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1"]);
    assert_eq!(lab.status("a").await, "running", "it never waits");
    assert_eq!(lab.news("a", 1).await, ["step.completed s", "wait.fulfilled w"]);
    lab.hears(&["arrived a wait.fulfilled"]).await;
    assert_eq!(lab.takers("p1").await, ["a"]);
    assert!(lab.log().await[0].wanted, "somebody wanted it later");
    assert_eq!(lab.log().await[0].verdict.matched_count, 0, "the verdict stays");
}

pub async fn the_first_transition_of_a_start_looks_back_to_nothing(lab: &Lab) {
    lab.published(published("e", "p1")).await;
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
    assert_eq!((lab.get("a").await.log_from, lab.waits("a").await[0].since), (1, 1));
}

pub async fn the_oldest_that_it_wants_comes_first(lab: &Lab) {
    let a = lab.begin("a").await;
    for (n, id) in ["p1", "p2", "p3"].into_iter().enumerate() {
        lab.published(published_with("e", id, n)).await;
    }
    lab.stored(a, does().reaches(wait_where("w", "e", "event.payload > 0"))).await;
    lab.stored(a, does().reaches(wait_where("v", "*", "event.payload === 2"))).await;
    lab.stored(a, does().hears("u", "e").waits()).await;
    let expected = ["w fulfilled by p2", "v fulfilled by p3", "u fulfilled by p1"];
    assert_eq!(lab.subscriptions("a").await, expected);
}

pub async fn an_instance_never_takes_one_twice(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("one", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().hears("two", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["one fulfilled by p1", "two active"]);
    lab.begin("b").await;
    lab.published(published("e", "p2")).await;
    let b = lab.take("b").await;
    lab.stored(b, does().reaches(since("b", Since::At(Timestamp(0)))).waits()).await;
    assert_eq!(lab.subscriptions("b").await, ["b fulfilled by p1"], "another may have it");
    assert_eq!(lab.takers("p1").await, ["a", "b"]);
}

pub async fn one_serves_all_waits_of_a_commit(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.published(published("e.x", "p1")).await;
    lab.published(published("e.y", "p2")).await;
    let waits = does().hears("one", "e.*").hears("two", "e.y").hears("three", "e.x");
    lab.stored(a, waits.hears("four", "f").waits()).await;
    let expected =
        ["one fulfilled by p1", "two fulfilled by p2", "three fulfilled by p1", "four active"];
    assert_eq!(lab.subscriptions("a").await, expected);
    let known = ["wait.fulfilled one", "wait.fulfilled two", "wait.fulfilled three"];
    assert_eq!(lab.news("a", 1).await, known, "in call order");
}

pub async fn waits_of_earlier_commits_are_not_offered_it_again(lab: &Lab) {
    let a = lab.begin_doing("a", does().reaches(wait_where("old", "e", "event.payload > 1"))).await;
    lab.published(published_with("e", "p1", 1)).await;
    lab.stored(a, does().hears("new", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["old active", "new fulfilled by p1"]);
}

pub async fn what_was_addressed_comes_first(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.published(published("e", "p1")).await;
    lab.clock.advance(Duration::from_millis(1));
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().hears("one", "e")).await;
    lab.stored(a, does().hears("two", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["one fulfilled by m1", "two fulfilled by p1"]);
}

pub async fn since_now_looks_back_to_nothing(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().reaches(since("w", Since::Now)).waits()).await;
    assert_eq!((&*lab.subscriptions("a").await[0], lab.waits("a").await[0].since), ("w active", 1));
    assert_eq!(lab.published(published("e", "p2")).await, ["w of a"]);
}

pub async fn since_a_moment_counts_what_was_accepted_then_or_later(lab: &Lab) {
    for id in ["p1", "p2", "p3"] {
        lab.published(published("e", id)).await;
        lab.clock.advance(Duration::from_millis(10));
    }
    let a = lab.begin("a").await;
    for (n, (ago, expected)) in [(30, 0), (29, 1), (20, 1), (1, 3), (0, 3)].into_iter().enumerate()
    {
        let step = format!("w{n}");
        let of_nobody = wait(&step, Kind::Event, "nobody");
        let moment = NewWait { since: Since::At(lab.in_ms(-ago)), ..of_nobody.clone() };
        lab.stored(a, does().reaches(moment)).await;
        assert_eq!(lab.waits("a").await[2 * n].since, expected, "{ago} ms ago");
        let id = format!("sub_before_{n}").into();
        let before = Since::Before(Duration::from_millis(ago.unsigned_abs()));
        lab.stored(a, does().reaches(NewWait { since: before, id, ..of_nobody })).await;
        assert_eq!(lab.waits("a").await[2 * n + 1].since, expected, "before {ago} ms");
    }
    let before = Since::Before(Duration::from_millis(20));
    lab.stored(a, does().reaches(since("found", before)).waits()).await;
    assert_eq!(lab.subscriptions("a").await[10], "found fulfilled by p2", "older than the run");
}

pub async fn since_a_moment_of_which_the_log_knows_no_more_is_all_that_it_keeps(lab: &Lab) {
    use abide::LogRetention;
    let a = lab.begin("a").await;
    let ago = |step: &str| {
        let since = Since::Before(Duration::from_secs(60));
        NewWait { since, ..wait(step, Kind::Event, "nobody") }
    };
    lab.stored(a, does().reaches(ago("empty"))).await;
    for id in ["p1", "p2", "p3"] {
        lab.published(published("e", id)).await;
    }
    let retention = LogRetention { max_per_type: Some(1), ..LogRetention::default() };
    lab.store.prune_log(retention, 10).await.unwrap();
    lab.stored(a, does().reaches(ago("pruned"))).await;
    let retention = LogRetention { max_per_type: Some(0), ..LogRetention::default() };
    lab.store.prune_log(retention, 10).await.unwrap();
    lab.stored(a, does().reaches(ago("gone")).waits()).await;
    let since: Vec<i64> = lab.waits("a").await.iter().map(|wait| wait.since).collect();
    assert_eq!(since, [0, 2, 3]);
}

pub async fn a_whole_restart_looks_back_to_itself_and_forgets_what_was_taken(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.published(published("e", "p2")).await;
    lab.clock.advance(Duration::from_millis(5));
    let restarted = lab.restart("a").await;
    assert_eq!(restarted.log_from, 2);
    assert!(lab.takers("p1").await.is_empty());
    assert!(lab.log().await[0].wanted, "it was wanted once");
    let a = lab.take("a").await;
    lab.stored(a, does().hears("again", "e")).await;
    let before = Since::Before(Duration::from_millis(5));
    lab.stored(a, does().reaches(since("back", before)).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["again active", "back fulfilled by p1"]);
}

pub async fn a_restart_from_a_step_keeps_what_was_taken(lab: &Lab) {
    let a = lab.begin_doing("a", does().completes_step("s").hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().completes_step("t").waits()).await;
    lab.published(published("e", "p2")).await;
    let restarted = lab.restart_from("a", "t").await.unwrap();
    assert_eq!(restarted.log_from, 0);
    let a = lab.take("a").await;
    lab.stored(a, does().hears("v", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1", "v fulfilled by p2"]);
    assert_eq!(lab.takers("p1").await, ["a"]);
}

pub async fn a_continue_keeps_what_was_taken(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    lab.published(published("e", "p2")).await;
    lab.stored(a, does().continues(2)).await;
    assert_eq!(lab.get("a").await.log_from, 0);
    let a = lab.take("a").await;
    lab.stored(a, does().hears("v", "e").hears("u", "f").waits()).await;
    let expected = ["w fulfilled by p1", "v fulfilled by p2", "u active"];
    assert_eq!(lab.subscriptions("a").await, expected);
}

pub async fn it_counts_although_the_deadline_is_past(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.published(published("e", "p1")).await;
    let late = does().hears_until("w", "e", lab.in_ms(-1)).hears_until("v", "f", lab.in_ms(-1));
    lab.stored(a, late.waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1", "v expired"]);
}

pub async fn a_race_is_decided_when_it_is_reached(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.published(published("f", "p1")).await;
    lab.published(published("e", "p2")).await;
    let race = does().reaches(wait_racing("w", "e", "r")).reaches(wait_racing("v", "f", "r"));
    lab.stored(a, race.waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v fulfilled by p1"]);
    assert_eq!(lab.news("a", 1).await, ["wait.cancelled w", "wait.fulfilled v"]);
    assert!(lab.takers("p2").await.is_empty(), "a loser eats nothing");
}

pub async fn a_counted_wait_holds_what_it_finds(lab: &Lab) {
    let a = lab.begin("a").await;
    for id in ["p1", "p2", "p3"] {
        lab.published(published("e", id)).await;
    }
    lab.stored(a, does().reaches(wait_for_many("w", "e", 2))).await;
    lab.stored(a, does().reaches(wait_for_many("v", "e", 2)).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p2", "v active"]);
    assert_eq!(lab.buffered("a").await, ["p3"]);
    assert_eq!(lab.news("a", 1).await, ["wait.fulfilled w", "event.buffered e"]);
    assert_eq!(lab.published(published("e", "p4")).await, ["v of a"]);
    assert_eq!(lab.subscriptions("a").await[1], "v fulfilled by p4");
    assert_eq!(lab.takers("p3").await, ["a"]);
}

pub async fn what_was_started_by_an_event_does_not_find_it(lab: &Lab) {
    use abide::{NewInstance, Publish};
    let start = crate::fixture::starting("t", "a");
    lab.published(published("e", "p0")).await;
    lab.published(Publish { starts: vec![start], ..published("e", "p1") }).await;
    lab.published(published("e", "p2")).await;
    assert_eq!(lab.get("a").await.log_from, 2);
    let a = lab.take("a").await;
    let all = |step| since(step, Since::At(Timestamp(0)));
    lab.stored(a, does().hears("w", "e").reaches(since("v", Since::At(lab.in_ms(0))))).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p2", "v fulfilled by p0"]);
    lab.stored(a, does().reaches(all("u")).waits()).await;
    assert_eq!(lab.subscriptions("a").await[2], "u active");
    let replayed = NewInstance { consumes: Some(1), ..crate::fixture::instance("b") };
    let b = lab.begin_with(replayed).await;
    assert_eq!(lab.get("b").await.log_from, 1);
    lab.stored(b, does().reaches(NewWait { id: "sub_b".into(), ..all("x") }).waits()).await;
    assert_eq!(lab.subscriptions("b").await, ["x fulfilled by p1"]);
    assert_eq!(lab.takers("p0").await, ["a", "b"]);
}

pub async fn an_event_that_the_log_lost_can_be_consumed_by_nobody(lab: &Lab) {
    use abide::NewInstance;
    lab.published(published("e", "p1")).await;
    lab.begin_with(NewInstance { consumes: Some(7), ..crate::fixture::instance("a") }).await;
    assert_eq!(lab.get("a").await.log_from, 1);
    assert!(lab.takers("p1").await.is_empty());
}

pub async fn what_is_pruned_is_not_found(lab: &Lab) {
    use abide::LogRetention;
    let a = lab.begin("a").await;
    lab.published(published("e", "p1")).await;
    lab.clock.advance(Duration::from_millis(1));
    lab.published(published("e", "p2")).await;
    let retention = LogRetention { before: Some(lab.in_ms(0)), ..LogRetention::default() };
    lab.store.prune_log(retention, 10).await.unwrap();
    lab.stored(a, does().hears("w", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p2"]);
}

pub async fn without_an_equality_key_it_ends_at_the_limit_and_says_so(lab: &Lab) {
    let many = 10_001;
    let a = lab.begin("a").await;
    let all = (0..many).map(|n| lab.publish(published_with("e", &format!("p{n}"), n)));
    for published in futures_util::future::join_all(all).await {
        published.unwrap();
    }
    lab.published(published("other", "x")).await;
    let scans = wait_where("scans", "e", &format!("event.payload >= {}", many - 1));
    let finds = wait_where("finds", "e", &format!("event.payload === {}", many - 1));
    let last = wait_where("last", "e", &format!("event.payload >= {}", many - 2));
    lab.stored(a, does().reaches(scans).waits()).await;
    lab.stored(a, does().reaches(last).reaches(finds).hears("none", "nobody").waits()).await;
    // A store may look at that many while others are served.
    lab.hears(&["arrived a wait.fulfilled", "arrived a wait.fulfilled"]).await;
    let found: Vec<(String, bool)> =
        lab.waits("a").await.iter().map(|w| (w.status.to_string(), w.cut_short)).collect();
    let told = |status: &str, cut_short| (status.to_owned(), cut_short);
    let expected = [
        told("active", true),
        told("fulfilled", false),
        told("fulfilled", false),
        told("active", false),
    ];
    assert_eq!(found, expected);
    let last = format!("p{}", many - 1);
    assert_eq!(lab.takers(&last).await, ["a"]);
}
