//! Finding what wants to be woken.

use abide::Phase;
use abide::store::{Due, IfExists};
use abide::{NewInstance, Timestamp};

use crate::Lab;
use crate::fixture::{Does, does, instance};

pub async fn the_earliest_comes_first_and_then_the_oldest(lab: &Lab) {
    for (name, ms) in [("late", 30), ("early", 10), ("early too", 10), ("middle", 20)] {
        lab.begin_doing(name, does().sleeps_until(lab.in_ms(ms))).await;
    }
    assert_eq!(lab.due(Timestamp::MAX).await, ["early", "early too", "middle", "late"]);
}

pub async fn until_is_not_included(lab: &Lab) {
    lab.begin_doing("a", does().waits_until(lab.in_ms(10))).await;
    assert!(lab.due(lab.in_ms(10)).await.is_empty());
    assert_eq!(lab.due(lab.in_ms(11)).await, ["a"]);
}

pub async fn it_is_read_in_pages(lab: &Lab) {
    let mut expected = Vec::new();
    for (name, ms) in [("a", 10), ("b", 10), ("c", 10), ("d", 5), ("e", 20)] {
        let at = lab.in_ms(ms);
        let runner = lab.begin_doing(name, does().sleeps_until(at)).await;
        expected.push(Due { at, key: runner.key });
    }
    expected.sort();
    let mut found = Vec::new();
    let mut after = Due::FIRST;
    loop {
        let page = lab.store.due(after, Timestamp::MAX, 2).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = *last;
        found.extend(page);
    }
    assert_eq!(found, expected);
}

pub async fn claimed_or_not_it_is_due(lab: &Lab) {
    lab.begin_doing("claimed", does().sleeps_until(lab.in_ms(1))).await;
    let released = lab.begin_doing("released", does().waits_until(lab.in_ms(2))).await;
    lab.release(released).await;
    assert_eq!(lab.due(lab.in_ms(9)).await, ["claimed", "released"]);
}

pub async fn what_is_queued_for_a_moment_is_due_then(lab: &Lab) {
    let new = NewInstance { start_at: Some(lab.in_ms(5)), ..instance("later") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    lab.begin_doing("limited", does().parks(Phase::Queued, Some(lab.in_ms(6)))).await;
    assert_eq!(lab.due(lab.in_ms(9)).await, ["later", "limited"]);
}

pub async fn what_ended_or_is_not_timed_is_left_out(lab: &Lab) {
    let wake = lab.in_ms(5);
    lab.begin_doing("completed", does().sleeps_until(wake).completes(1)).await;
    lab.begin_doing("waiting", does().waits()).await;
    lab.begin_doing("terminated", does().sleeps_until(wake)).await;
    lab.terminate("terminated").await;
    lab.begin_doing("restarted", does().sleeps_until(wake)).await;
    lab.restart("restarted").await;
    assert!(lab.due(Timestamp::MAX).await.is_empty());
}

pub async fn clocks_go_on_under_a_pause_but_a_start_waits_for_the_resume(lab: &Lab) {
    lab.begin_doing("paused", does().sleeps_until(lab.in_ms(5)).pauses()).await;
    let new = NewInstance { start_at: Some(lab.in_ms(5)), ..instance("later") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    lab.pause("later").await;
    assert_eq!(lab.due(Timestamp::MAX).await, ["paused"]);
    lab.resume("later").await;
    assert_eq!(lab.due(Timestamp::MAX).await, ["paused", "later"]);
}
