//! Waits of which the first that is met cancels the others.

use std::sync::Arc;

use abide::{Kind, NewWait};

use crate::Lab;
use crate::fixture::{Does, does, event, wait};

fn racing(step: &str, pattern: &str) -> NewWait {
    NewWait { race: Some(Arc::from("r")), ..wait(step, Kind::Event, pattern) }
}

pub async fn the_first_that_is_met_cancels_the_others_in_one_row(lab: &Lab) {
    let both = does().reaches(racing("w", "e")).reaches(racing("v", "f")).waits();
    lab.begin_doing("a", both).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.forget_hints().await;
    assert_eq!(lab.accepted(event("a", "f", "m1")).await, (1, false));
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v fulfilled by m1"]);
    assert_eq!(
        lab.news("a", known).await,
        ["event.received f", "wait.cancelled w", "wait.fulfilled v"],
        "who lost hears of it before who won is seen"
    );
    lab.hears(&["arrived a wait.cancelled", "arrived a wait.fulfilled"]).await;
}

pub async fn of_several_that_want_it_the_oldest_wins(lab: &Lab) {
    let both = does().reaches(racing("w", "e")).reaches(racing("v", "e")).waits();
    lab.begin_doing("a", both).await;
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (1, false));
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1", "v cancelled"]);
}

pub async fn a_wait_outside_the_race_is_met_as_well(lab: &Lab) {
    let all = does().reaches(racing("w", "e")).hears("x", "e").reaches(racing("v", "e")).waits();
    lab.begin_doing("a", all).await;
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (2, false));
    let expected = ["w fulfilled by m1", "x fulfilled by m1", "v cancelled"];
    assert_eq!(lab.subscriptions("a").await, expected);
}

pub async fn a_loser_eats_nothing(lab: &Lab) {
    let both = does().reaches(racing("w", "e")).reaches(racing("v", "f")).waits();
    lab.begin_doing("a", both).await;
    lab.accepted(event("a", "e", "m1")).await;
    assert_eq!(lab.accepted(event("a", "f", "m2")).await, (0, true));
    assert_eq!(lab.buffered("a").await, ["m2"]);
}

pub async fn early_events_decide_a_race_when_it_is_reached(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(event("a", "f", "m1")).await;
    lab.accepted(event("a", "e", "m2")).await;
    let known = lab.get("a").await.next_seq - 1;
    let both = does().reaches(racing("w", "e")).reaches(racing("v", "f")).waits();
    lab.stored(a, both).await;
    assert_eq!(lab.subscriptions("a").await, ["w cancelled", "v fulfilled by m1"]);
    assert_eq!(lab.buffered("a").await, ["m2"], "the later one is for somebody else");
    assert_eq!(lab.news("a", known).await, ["wait.cancelled w", "wait.fulfilled v"]);
}

pub async fn one_that_expires_leaves_the_others_waiting(lab: &Lab) {
    let at = lab.in_ms(5);
    let short = NewWait { timeout_at: Some(at), ..racing("w", "e") };
    lab.begin_doing("a", does().reaches(short).reaches(racing("v", "f")).waits_until(at)).await;
    lab.clock.set(at);
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired", "v active"]);
    assert_eq!(lab.accepted(event("a", "f", "m1")).await, (1, false));
}

pub async fn a_winner_that_nobody_saw_can_be_undone(lab: &Lab) {
    let both = does().reaches(racing("w", "e")).reaches(racing("v", "f")).waits();
    let a = lab.begin_doing("a", both).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().drops("w").drops("v").hears("x", "e")).await;
    let expected = ["w cancelled", "v cancelled", "x fulfilled by m1"];
    assert_eq!(lab.subscriptions("a").await, expected);
}
