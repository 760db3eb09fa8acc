//! Accepting what is sent to an instance.

use std::sync::Arc;
use std::time::Duration;

use abide::history::StepKind;
use abide::store::IfExists;
use abide::{Buffer, Clock, Delivered, Delivery, Kind, NewInstance, NewWait, OnTerminal, Phase};

use crate::Lab;
use crate::fixture::{Does, does, event, instance, json, message, signal, wait};

pub async fn an_instance_that_is_not_there_is_refused(lab: &Lab) {
    assert_eq!(lab.refused(event("nobody", "e", "m1")).await, "WORKFLOW_NOT_FOUND");
}

pub async fn the_same_id_again_is_answered_as_the_first_time(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    let first = lab.deliver(event("a", "e", "m1")).await.unwrap();
    let met = Delivered { event_id: "m1".into(), delivered: 1, buffered: false };
    assert_eq!(first, met);
    let before = lab.everything().await;
    let again = Delivery { payload: None, ..event("a", "other", "m1") };
    assert_eq!(lab.deliver(again.clone()).await.unwrap(), met);
    assert_eq!(lab.everything().await, before);
    lab.stored(a, does().completes(1)).await;
    assert_eq!(lab.deliver(again).await.unwrap(), met, "also after the end");
}

pub async fn the_same_id_to_another_instance_is_another_delivery(lab: &Lab) {
    lab.begin("a").await;
    lab.begin("b").await;
    assert_eq!(lab.accepted(signal("a", "s", "m1")).await, (0, true));
    assert_eq!(lab.accepted(signal("b", "s", "m1")).await, (0, true));
}

pub async fn what_has_ended_takes_nothing(lab: &Lab) {
    lab.begin_doing("a", does().completes(1)).await;
    assert_eq!(lab.refused(event("a", "e", "m1")).await, "WORKFLOW_NOT_RUNNING");
    let invalid = Delivery { refused: Some("no".into()), ..event("a", "e", "m1") };
    assert_eq!(lab.refused(invalid).await, "WORKFLOW_NOT_RUNNING", "before what is wrong with it");
}

pub async fn an_ignored_delivery_leaves_no_trace(lab: &Lab) {
    lab.begin_doing("a", does().completes(1)).await;
    let before = lab.everything().await;
    let sent = Delivery { on_terminal: OnTerminal::Ignore, ..event("a", "e", "m1") };
    assert_eq!(lab.accepted(sent).await, (0, false));
    assert_eq!(lab.everything().await, before);
    assert_eq!(lab.refused(event("a", "e", "m1")).await, "WORKFLOW_NOT_RUNNING", "not remembered");
}

pub async fn what_is_not_acceptable_is_refused_and_stores_nothing(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    let sent = Delivery { refused: Some("not declared".into()), ..event("a", "e", "m1") };
    assert_eq!(lab.refused(sent).await, "EVENT_INVALID");
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (1, false), "the id is still free");
}

pub async fn what_is_not_acceptable_expires_no_wait(lab: &Lab) {
    lab.begin_doing("a", does().hears_until("w", "e", lab.in_ms(5)).waits()).await;
    lab.clock.advance(Duration::from_millis(9));
    let sent = Delivery { refused: Some("no".into()), ..event("a", "e", "m1") };
    assert_eq!(lab.refused(sent).await, "EVENT_INVALID");
}

pub async fn an_event_meets_every_wait_that_hears_it_in_one_row(lab: &Lab) {
    let waits = does().hears("one", "e.x").hears("two", "e.*").hears("other", "f").waits();
    lab.begin_doing("a", waits).await;
    lab.forget_hints().await;
    lab.clock.advance(Duration::from_millis(3));
    assert_eq!(lab.accepted(event("a", "e.x", "m1")).await, (2, false));
    let told = ["event.received e.x", "wait.fulfilled one", "wait.fulfilled two"];
    assert_eq!(lab.news("a", 1).await, told);
    let expected = ["one fulfilled by m1", "two fulfilled by m1", "other active"];
    assert_eq!(lab.subscriptions("a").await, expected);
    assert_eq!(lab.waits("a").await[0].fulfilled_at, Some(lab.clock.now()));
    assert_eq!(lab.status("a").await, "running");
    lab.hears(&["arrived a wait.fulfilled", "arrived a wait.fulfilled"]).await;
}

pub async fn a_wait_gets_the_event_with_its_own_payload(lab: &Lab) {
    lab.begin("b").await;
    let waits = does().hears("one", "e").reaches(wait("two", Kind::Message, "t")).waits();
    lab.begin_doing("a", waits).await;
    lab.accepted(Delivery { payload: None, ..event("a", "e", "m1") }).await;
    let source = Some(lab.get("b").await.id.as_str().into());
    lab.accepted(Delivery { source, ..message("a", "t", "m2") }).await;
    let history = lab.history("a").await;
    let (one, two) = (&history[2].entry, &history[4].entry);
    let time = lab.clock.now();
    assert_eq!(
        one.payload.as_ref().unwrap().as_str(),
        format!("{{\"id\":\"m1\",\"type\":\"e\",\"time\":\"{time}\"}}")
    );
    assert_eq!((one.step_kind(), one.event_id.as_deref()), (StepKind::Event, Some("m1")));
    let event: serde_json::Value = two.payload.as_ref().unwrap().decode().unwrap();
    assert_eq!((&event["source"], &event["payload"]), (&"b".into(), &"m2".into()));
    assert_eq!(history[1].entry.payload, None);
    assert_eq!(history[3].entry.payload, Some(json("m2")));
}

pub async fn a_signal_and_a_message_meet_the_oldest_wait_only(lab: &Lab) {
    for (name, kind) in [("a", Kind::Signal), ("b", Kind::Message)] {
        let named = |step: &str| NewWait {
            id: format!("sub_{name}{step}").into(),
            ..wait(step, kind, "s")
        };
        lab.begin_doing(name, does().reaches(named("one")).reaches(named("two")).waits()).await;
        let sent = |id: &str| crate::fixture::delivery(kind, name, "s", id);
        assert_eq!(lab.accepted(sent("m1")).await, (1, false));
        assert_eq!(lab.subscriptions(name).await, ["one fulfilled by m1", "two active"]);
        assert_eq!(lab.accepted(sent("m2")).await, (1, false));
        assert_eq!(lab.accepted(sent("m3")).await, (0, true));
    }
}

pub async fn events_signals_and_messages_never_meet(lab: &Lab) {
    let waits = does().hears("event", "s").hears_signal("signal", "s").reaches(wait(
        "message",
        Kind::Message,
        "s",
    ));
    lab.begin_doing("a", waits.waits()).await;
    assert_eq!(lab.accepted(message("a", "s", "m1")).await, (1, false));
    assert_eq!(lab.accepted(message("a", "s", "m2")).await, (0, true));
    assert_eq!(lab.accepted(signal("a", "s", "m3")).await, (1, false));
    assert_eq!(lab.accepted(signal("a", "s", "m4")).await, (0, true));
    assert_eq!(lab.accepted(event("a", "s", "m5")).await, (1, false));
    let expected = ["event fulfilled by m5", "signal fulfilled by m3", "message fulfilled by m1"];
    assert_eq!(lab.subscriptions("a").await, expected);
}

pub async fn patterns_are_of_events_only(lab: &Lab) {
    let waits = does().hears("one", "p.*").hears("many", "p.**").hears_signal("name", "p.*");
    lab.begin_doing("a", waits.waits()).await;
    assert_eq!(lab.accepted(signal("a", "p.x", "m1")).await, (0, true));
    assert_eq!(lab.accepted(event("a", "p", "m2")).await, (0, true));
    assert_eq!(lab.accepted(event("a", "p.x.y", "m3")).await, (1, false));
    assert_eq!(lab.accepted(event("a", "p.x", "m4")).await, (1, false));
    let expected = ["one fulfilled by m4", "many fulfilled by m3", "name active"];
    assert_eq!(lab.subscriptions("a").await, expected);
}

pub async fn a_wait_past_its_deadline_expires_before_something_is_accepted(lab: &Lab) {
    let waits = does().hears_until("late", "e", lab.in_ms(5)).hears("open", "e").waits();
    lab.begin_doing("a", waits).await;
    lab.forget_hints().await;
    lab.clock.advance(Duration::from_millis(5));
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (1, false));
    assert_eq!(lab.subscriptions("a").await, ["late expired", "open fulfilled by m1"]);
    let told = ["wait.expired late", "event.received e", "wait.fulfilled open"];
    assert_eq!(lab.news("a", 1).await, told);
    lab.hears(&["arrived a wait.expired", "arrived a wait.fulfilled"]).await;
}

pub async fn what_is_buffered_while_a_wait_expires_arrives_as_far_as_the_wait(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears_until("late", "f", lab.in_ms(5)).waits()).await;
    lab.clock.advance(Duration::from_millis(5));
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (0, true));
    assert_eq!(lab.status("a").await, "running");
    lab.commit_having_heard(2, a, does().waits()).await;
    assert_eq!(lab.status("a").await, "waiting", "the wait was all that had to be heard of");
}

pub async fn a_paused_instance_is_met_underneath_its_pause(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits_until(lab.in_ms(50)).pauses()).await;
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (1, false));
    let now = lab.get("a").await;
    assert_eq!((now.phase, now.paused, now.wake_at), (Phase::Running, true, None));
    assert_eq!(lab.accepted(event("a", "e", "m2")).await, (0, true));
}

pub async fn what_has_not_begun_keeps_it_for_later(lab: &Lab) {
    let new = NewInstance { start_at: Some(lab.in_ms(5)), ..instance("a") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (0, true));
    let now = lab.get("a").await;
    assert_eq!((now.phase, now.wake_at), (Phase::Queued, Some(lab.in_ms(5))));
    assert_eq!(lab.buffered("a").await, ["m1"]);
}

pub async fn what_arrives_is_to_be_heard_before_a_rest(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e")).await;
    lab.accepted(event("a", "e", "m1")).await;
    let arrived = lab.history("a").await.last().unwrap().seq;
    lab.commit_having_heard(arrived - 1, a, does().waits()).await;
    assert_eq!(lab.status("a").await, "running");
    lab.commit_having_heard(arrived, a, does().waits()).await;
    assert_eq!(lab.status("a").await, "waiting");
    lab.accepted(Delivery { buffer: Buffer::Queue, ..event("a", "e", "m2") }).await;
    assert_eq!(lab.status("a").await, "waiting", "what is only kept wakes nobody");
    lab.commit_having_heard(arrived, a, does().waits_until(lab.in_ms(1))).await;
    assert_eq!(lab.get("a").await.wake_at, Some(lab.in_ms(1)), "and need not be heard of");
}

pub async fn payloads_that_look_empty_stay_apart(lab: &Lab) {
    lab.begin("a").await;
    let values = [None, Some("null"), Some("false"), Some("0"), Some("\"\"")];
    for (n, value) in values.iter().enumerate() {
        let payload = value.map(|text| abide::Json::from_stored(text.to_owned()).unwrap());
        let id = Arc::from(format!("m{n}"));
        lab.accepted(Delivery { payload, id, ..signal("a", "s", "") }).await;
    }
    let kept = lab.buffer("a").await;
    let kept: Vec<_> =
        kept.iter().map(|kept| kept.payload.as_ref().map(abide::Json::as_str)).collect();
    assert_eq!(kept, values);
}
