//! What an instance keeps of what nobody waited for.

use std::time::Duration;

use abide::{Buffer, Buffered, Clock, Delivery, Kind};

use crate::Lab;
use crate::fixture::{Does, delivery, does, event, id, json, message, signal};

pub async fn the_latest_of_its_type_replaces_the_one_before(lab: &Lab) {
    lab.begin("a").await;
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (0, true));
    assert_eq!(lab.accepted(event("a", "f", "m2")).await, (0, true));
    lab.clock.advance(Duration::from_millis(3));
    assert_eq!(lab.accepted(event("a", "e", "m3")).await, (0, true));
    assert_eq!(lab.buffered("a").await, ["m2", "m3"]);
    let told = ["event.received e", "event.superseded e", "event.buffered e"];
    assert_eq!(lab.news("a", 5).await, told);
    assert_eq!(lab.history("a").await[6].entry.event_id.as_deref(), Some("m1"));
    lab.hears(&[]).await;
}

pub async fn a_queue_keeps_all_in_order(lab: &Lab) {
    lab.begin("a").await;
    for id in ["m1", "m2", "m3"] {
        let sent = Delivery { buffer: Buffer::Queue, ..event("a", "e", id) };
        assert_eq!(lab.accepted(sent).await, (0, true));
    }
    assert_eq!(lab.accepted(event("a", "e", "m4")).await, (0, true));
    assert_eq!(lab.buffered("a").await, ["m1", "m2", "m3", "m4"], "only the latest give way");
}

pub async fn what_nobody_wants_kept_is_dropped_but_remembered(lab: &Lab) {
    let a = lab.begin("a").await;
    let sent = || Delivery { buffer: Buffer::None, ..event("a", "e", "m1") };
    assert_eq!(lab.accepted(sent()).await, (0, false));
    assert!(lab.buffered("a").await.is_empty());
    assert_eq!(lab.news("a", 1).await, ["event.received e"]);
    lab.stored(a, does().hears("w", "e").waits()).await;
    assert_eq!(lab.accepted(sent()).await, (0, false), "answered as the first time");
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
}

pub async fn it_is_listed_as_it_was_sent(lab: &Lab) {
    lab.begin("a").await;
    let sent = Delivery { source: Some("b".into()), ..message("a", "t", "m1") };
    lab.accepted(sent).await;
    let kept = lab.buffer("a").await.remove(0);
    let expected = Buffered {
        key: kept.key,
        id: "m1".into(),
        kind: Kind::Message,
        name: "t".into(),
        payload: Some(json("m1")),
        received_at: lab.clock.now(),
        visible_at: None,
        source: Some("b".into()),
        buffer: Buffer::Queue,
        trace: None,
        log: None,
    };
    assert_eq!(kept, expected);
    assert!(lab.store.buffer(&id("nobody")).await.is_err());
}

pub async fn it_is_full_by_entries(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    for n in 0..1000 {
        lab.accepted(signal("a", "s", &format!("m{n}"))).await;
    }
    assert_eq!(lab.refused(signal("a", "s", "over")).await, "BUFFER_FULL");
    assert_eq!(lab.accepted(event("a", "e", "met")).await, (1, false), "what is met needs no room");
    let dropped = Delivery { buffer: Buffer::None, ..event("a", "e", "dropped") };
    assert_eq!(lab.accepted(dropped).await, (0, false), "nor does what is dropped");
}

pub async fn it_is_full_by_bytes(lab: &Lab) {
    let a = lab.begin("a").await;
    let quarter = "x".repeat(4 * 1024 * 1024 - 2);
    let sent = |id: &str| Delivery { payload: Some(json(&quarter)), ..signal("a", "s", id) };
    for id in ["m1", "m2", "m3", "m4"] {
        assert_eq!(lab.accepted(sent(id)).await, (0, true));
    }
    assert_eq!(lab.refused(signal("a", "s", "over")).await, "BUFFER_FULL");
    lab.stored(a, does().takes("t", Kind::Signal, "s")).await;
    assert_eq!(lab.accepted(sent("m5")).await, (0, true));
}

pub async fn without_waking_it_is_kept_although_a_wait_is_open(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_signal("open", "s").waits()).await;
    let sent = Delivery { wake: false, ..signal("a", "s", "m1") };
    assert_eq!(lab.accepted(sent).await, (0, true));
    assert_eq!((lab.status("a").await, lab.buffered("a").await.len()), ("waiting", 1));
    lab.stored(a, does().hears_signal("next", "s").waits()).await;
    assert_eq!(lab.subscriptions("a").await, ["open fulfilled by m1", "next active"]);
}

pub async fn until_its_time_it_meets_no_wait_and_replaces_nothing(lab: &Lab) {
    lab.begin("a").await;
    let at = lab.in_ms(10);
    lab.accepted(event("a", "e", "m1")).await;
    let later = Delivery { visible_at: Some(at), ..event("a", "e", "m2") };
    assert_eq!(lab.accepted(later).await, (0, true));
    assert_eq!(lab.buffered("a").await, ["m1", "m2"]);
    assert_eq!(lab.news("a", 3).await, ["event.received e", "event.buffered e"]);
    lab.accepted(event("a", "e", "m3")).await;
    assert_eq!(lab.buffered("a").await, ["m3", "m2"], "nor is it replaced");
    let a = lab.take("a").await;
    lab.stored(a, does().hears("one", "e").hears("two", "e")).await;
    lab.stored(a, does().hears("three", "e").waits()).await;
    assert_eq!(lab.subscriptions("a").await[2], "three active");
    lab.clock.set(at);
    lab.fall_due(&["a"]).await;
    assert_eq!(lab.subscriptions("a").await[2], "three fulfilled by m2");
}

pub async fn a_parked_instance_is_woken_for_what_comes_later(lab: &Lab) {
    lab.begin_doing("parked", does().waits()).await;
    lab.begin_doing("sooner", does().sleeps_until(lab.in_ms(5))).await;
    let running = lab.begin("running").await;
    for name in ["parked", "sooner", "running"] {
        let sent = Delivery { visible_at: Some(lab.in_ms(9)), ..signal(name, "s", "m1") };
        lab.accepted(sent).await;
    }
    lab.hears(&["due parked"]).await;
    assert_eq!(lab.get("sooner").await.wake_at, Some(lab.in_ms(5)));
    assert_eq!(lab.get("running").await.wake_at, None);
    lab.stored(running, does().waits_until(lab.in_ms(99))).await;
    lab.hears(&["due running"]).await;
    assert_eq!(lab.get("running").await.wake_at, Some(lab.in_ms(9)));
    assert_eq!(lab.due(lab.in_ms(10)).await, ["sooner", "parked", "running"]);
}

pub async fn its_order_is_that_of_visible_time_then_acceptance(lab: &Lab) {
    let a = lab.begin("a").await;
    let later = |ms, id| Delivery { visible_at: Some(lab.in_ms(ms)), ..signal("a", "s", id) };
    lab.accepted(later(20, "third")).await;
    lab.accepted(later(10, "second")).await;
    lab.accepted(signal("a", "s", "first")).await;
    lab.accepted(later(20, "fourth")).await;
    lab.accepted(later(-5, "first too")).await;
    let order = ["first", "first too", "second", "third", "fourth"];
    assert_eq!(lab.buffered("a").await, order);
    lab.clock.advance(Duration::from_millis(30));
    for (n, id) in order.iter().enumerate() {
        lab.stored(a, does().hears_signal(&format!("w{n}"), "s")).await;
        assert_eq!(lab.subscriptions("a").await[n], format!("w{n} fulfilled by {id}"));
    }
}

pub async fn kinds_of_the_same_name_are_kept_apart(lab: &Lab) {
    let a = lab.begin("a").await;
    for (kind, id) in [(Kind::Event, "m1"), (Kind::Signal, "m2"), (Kind::Message, "m3")] {
        lab.accepted(delivery(kind, "a", "s", id)).await;
    }
    assert_eq!(lab.buffered("a").await.len(), 3);
    lab.stored(a, does().hears_signal("w", "s")).await;
    assert_eq!(lab.buffered("a").await, ["m1", "m3"]);
}

pub async fn a_full_buffer_takes_a_newer_one_in_place_of_an_older(lab: &Lab) {
    lab.begin("a").await;
    for n in 0..999 {
        lab.accepted(signal("a", "s", &format!("m{n}"))).await;
    }
    let newest = |id| event("a", "e", id);
    assert_eq!(lab.accepted(newest("first")).await, (0, true));
    assert_eq!(lab.accepted(newest("second")).await, (0, true), "it needs no room of its own");
    assert_eq!(lab.refused(event("a", "f", "third")).await, "BUFFER_FULL");
}
