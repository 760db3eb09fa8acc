//! Reaching waits.

use std::time::Duration;

use abide::{Buffer, Clock, Delivery, Hears, Kind, NewWait, Wait, WaitStatus};

use crate::Lab;
use crate::fixture::{Does, does, event, id, message, signal, wait};

pub async fn what_nothing_meets_is_registered(lab: &Lab) {
    let at = lab.in_ms(50);
    let a = lab.begin("a").await;
    lab.clock.advance(Duration::from_millis(3));
    lab.stored(a, does().hears_until("w", "e.*", at).waits_until(at)).await;
    let found = lab.waits("a").await.remove(0);
    let expected = Wait {
        key: found.key,
        id: "sub_w".into(),
        instance: a.key,
        instance_id: id("a"),
        run: 1,
        step: "w".into(),
        hears: Hears::Sent { kind: Kind::Event, pattern: "e.*".into() },
        filter: None,
        race: None,
        count: None,
        since: 0,
        cut_short: false,
        status: WaitStatus::Active,
        created_at: lab.clock.now(),
        timeout_at: Some(at),
        fulfilled_at: None,
        fulfilled_by: None,
    };
    assert_eq!(found, expected);
    assert_eq!(lab.status("a").await, "waiting");
    lab.hears(&[]).await;
}

pub async fn what_came_early_is_met_at_once(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(event("a", "e", "m1")).await;
    let park = does().completes_step("s").hears("w", "e").waits();
    lab.stored(a, park).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1"]);
    assert!(lab.buffered("a").await.is_empty());
    assert_eq!(lab.news("a", 3).await, ["step.completed s", "wait.fulfilled w"]);
    assert_eq!(lab.status("a").await, "running", "it never waits");
    lab.hears(&["arrived a wait.fulfilled"]).await;
}

pub async fn one_early_event_serves_all_waits_of_the_commit(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(event("a", "e.x", "m1")).await;
    lab.stored(a, does().hears("one", "e.*").hears("other", "f").hears("two", "e.x").waits()).await;
    let expected = ["one fulfilled by m1", "other active", "two fulfilled by m1"];
    assert_eq!(lab.subscriptions("a").await, expected);
    lab.hears(&["arrived a wait.fulfilled", "arrived a wait.fulfilled"]).await;
}

pub async fn an_early_event_serves_the_waits_of_one_commit_only(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().hears("one", "e")).await;
    lab.stored(a, does().hears("two", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["one fulfilled by m1", "two active"]);
}

pub async fn early_signals_and_messages_serve_the_first_in_call_order(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(signal("a", "s", "m1")).await;
    lab.accepted(message("a", "t", "m2")).await;
    lab.accepted(signal("a", "s", "m3")).await;
    let waits = does()
        .hears_signal("one", "s")
        .reaches(wait("topic", Kind::Message, "t"))
        .hears_signal("two", "s")
        .hears_signal("three", "s");
    lab.stored(a, waits.waits()).await;
    let expected =
        ["one fulfilled by m1", "topic fulfilled by m2", "two fulfilled by m3", "three active"];
    assert_eq!(lab.subscriptions("a").await, expected);
}

pub async fn they_arrive_in_call_order(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.accepted(event("a", "f", "m2")).await;
    let late = lab.in_ms(-1);
    let waits = does().hears("f", "f").hears_until("late", "g", late).hears("e", "e").waits();
    lab.stored(a, waits).await;
    assert_eq!(
        lab.news("a", 5).await,
        ["wait.fulfilled f", "wait.expired late", "wait.fulfilled e"]
    );
}

pub async fn each_wait_takes_the_first_that_it_hears(lab: &Lab) {
    let a = lab.begin("a").await;
    for (name, id) in [("e.x", "m1"), ("e.y", "m2"), ("e.y", "m3")] {
        lab.accepted(Delivery { buffer: Buffer::Queue, ..event("a", name, id) }).await;
    }
    lab.stored(a, does().hears("any", "e.*").hears("y", "e.y")).await;
    assert_eq!(lab.subscriptions("a").await, ["any fulfilled by m1", "y fulfilled by m2"]);
    assert_eq!(lab.buffered("a").await, ["m3"]);
}

pub async fn a_deadline_already_past_expires_at_once(lab: &Lab) {
    let waits = does().hears_until("w", "e", lab.in_ms(0)).waits_until(lab.in_ms(0));
    lab.begin_doing("a", waits).await;
    assert_eq!(lab.subscriptions("a").await, ["w expired"]);
    let told = lab.history("a").await.pop().unwrap().entry;
    let error = told.error.unwrap();
    assert_eq!((&*error.code, error.step.as_deref()), ("EVENT_TIMEOUT", Some("w")));
    assert_eq!(lab.status("a").await, "running");
    lab.hears(&["arrived a wait.expired"]).await;
}

pub async fn what_is_there_counts_although_the_deadline_is_past(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.stored(a, does().hears_until("w", "e", lab.in_ms(-1)).waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1"]);
}

pub async fn the_first_transition_of_a_start_reaches_waits_too(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (1, false));
}

pub async fn a_fenced_commit_reaches_nothing(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("old", "e").waits()).await;
    lab.take("a").await;
    lab.accepted(signal("a", "s", "m1")).await;
    let all = does().hears_signal("w", "s").drops("old").sets("k", 1).takes("t", Kind::Signal, "s");
    lab.fenced(a, all.sends("send", event("a", "e", "m2"))).await;
}

pub async fn a_parked_instance_is_woken_at_the_deadline_of_its_wait(lab: &Lab) {
    lab.begin_doing("a", does().hears_until("w", "e", lab.in_ms(9)).waits()).await;
    assert_eq!(lab.get("a").await.wake_at, Some(lab.in_ms(9)));
    lab.hears(&["due a"]).await;
}

pub async fn waits_are_listed_by_whatever_is_given(lab: &Lab) {
    use abide::WaitFilter;
    let a = does().hears("one", "e").hears_signal("two", "s").hears("three", "f.*");
    lab.begin_doing("a", a.waits()).await;
    let b = NewWait { id: "sub_b".into(), ..wait("one", Kind::Event, "e") };
    lab.begin_doing("b", does().reaches(b).waits()).await;
    lab.accepted(event("a", "e", "m1")).await;
    let all = WaitFilter::default;
    for (filter, expected) in [
        (all(), vec!["sub_one", "sub_two", "sub_three", "sub_b"]),
        (WaitFilter { id: Some("sub_two".into()), ..all() }, vec!["sub_two"]),
        (WaitFilter { instance: Some(id("b")), ..all() }, vec!["sub_b"]),
        (WaitFilter { pattern: Some("e".into()), ..all() }, vec!["sub_one", "sub_b"]),
        (WaitFilter { pattern: Some("f.*".into()), ..all() }, vec!["sub_three"]),
        (WaitFilter { status: Some(WaitStatus::Fulfilled), ..all() }, vec!["sub_one"]),
        (WaitFilter { step: Some("one".into()), ..all() }, vec!["sub_one", "sub_b"]),
        (
            WaitFilter { step: Some("one".into()), status: Some(WaitStatus::Active), ..all() },
            vec!["sub_b"],
        ),
        (WaitFilter { instance: Some(id("nobody")), ..all() }, vec![]),
        (WaitFilter { limit: Some(2), ..all() }, vec!["sub_one", "sub_two"]),
    ] {
        let found = lab.store.waits(filter.clone()).await.unwrap();
        let found: Vec<&str> = found.iter().map(|wait| &*wait.id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    let second = lab.store.waits(WaitFilter { limit: Some(2), ..all() }).await.unwrap().remove(1);
    let rest = WaitFilter { after: Some(second.key), limit: Some(9), ..all() };
    let rest = lab.store.waits(rest).await.unwrap();
    let rest: Vec<&str> = rest.iter().map(|wait| &*wait.id).collect();
    assert_eq!(rest, ["sub_three", "sub_b"]);
}
