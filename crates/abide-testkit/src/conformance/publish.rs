//! Publishing to whoever waits.

use std::time::Duration;

use abide::{Clock, LogSpan, Matched, Publication, Publish, Verdict};

use crate::Lab;
use crate::fixture::{
    Does, does, event, id, instance, json, published, published_with, wait_for_many, wait_racing,
    wait_where,
};

pub async fn every_wait_that_wants_it_is_met_wherever_it_is(lab: &Lab) {
    lab.begin_doing("a", does().hears("a1", "order.*").hears("a2", "order.paid").waits()).await;
    lab.begin_doing("b", does().hears("b1", "order").hears("b2", "**").waits()).await;
    lab.begin_doing("c", does().hears("c1", "invoice.*").waits()).await;
    lab.forget_hints().await;
    let verdict = lab.publish(published("order.paid", "p1")).await.unwrap();
    let matched = |step: &str, of: &str| Matched {
        subscription_id: format!("sub_{step}").into(),
        instance_id: id(of),
    };
    let expected = Verdict {
        event_id: "p1".into(),
        seq: Some(1),
        matched_count: 3,
        matched: vec![matched("a1", "a"), matched("a2", "a"), matched("b2", "b")],
        ..Verdict::default()
    };
    assert_eq!(verdict, expected);
    assert_eq!(lab.subscriptions("a").await, ["a1 fulfilled by p1", "a2 fulfilled by p1"]);
    assert_eq!(lab.subscriptions("b").await, ["b1 active", "b2 fulfilled by p1"]);
    assert_eq!(lab.subscriptions("c").await, ["c1 active"]);
    assert_eq!((lab.status("a").await, lab.status("c").await), ("running", "waiting"));
    assert_eq!(lab.news("a", 1).await, ["wait.fulfilled a1", "wait.fulfilled a2"]);
    assert_eq!(lab.news("c", 1).await.len(), 0);
    let arrived = "arrived a wait.fulfilled";
    lab.hears(&[arrived, arrived, "arrived b wait.fulfilled"]).await;
}

pub async fn a_wait_gets_what_the_event_says_of_itself(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    let said = Publication {
        payload: Some(json(7)),
        id: Some("p1".into()),
        source: Some("shop".into()),
        time: Some(abide::Timestamp(5)),
        ..Publication::new("e")
    };
    lab.published(Publish::new(said)).await;
    let told = lab.history("a").await.pop().unwrap().entry;
    let expected =
        r#"{"id":"p1","type":"e","source":"shop","time":"1970-01-01T00:00:00.005Z","payload":7}"#;
    assert_eq!(told.payload.unwrap().as_str(), expected);
}

pub async fn a_filter_sees_the_whole_envelope(lab: &Lab) {
    let all = "event.source === 'shop' && event.subject === 's' && event.correlationId === 'c' \
               && event.seq === 2 && event.payload.n > 1 && event.time < '1970-01-02'";
    lab.begin_doing("a", does().reaches(wait_where("w", "e", all)).waits()).await;
    let said = |id: &str| Publication {
        payload: Some(json(serde_json::json!({ "n": 2 }))),
        id: Some(id.to_owned()),
        source: Some("shop".into()),
        time: Some(abide::Timestamp(5)),
        subject: Some("s".into()),
        correlation_id: Some("c".into()),
        ..Publication::new("e")
    };
    assert!(lab.published(Publish::new(said("p1"))).await.is_empty(), "it is not number two");
    assert_eq!(lab.published(Publish::new(said("p2"))).await, ["w of a"]);
}

pub async fn equality_keys_tell_waits_apart(lab: &Lab) {
    for (name, key) in [("a", "1"), ("b", "'1'"), ("c", "null"), ("d", "1.0"), ("f", "true")] {
        let filter = format!("event.payload.k === {key}");
        lab.begin_doing(name, does().reaches(wait_where(name, "e", &filter)).waits()).await;
    }
    let either =
        wait_where("g", "e", "event.payload.k in ['1', true] || event.payload.other === 1");
    lab.begin_doing("g", does().reaches(either).waits()).await;
    let key = |id: &str, k: serde_json::Value| {
        let publish = published_with("e", id, serde_json::json!({ "k": k }));
        Publish { dry_run: true, ..publish }
    };
    assert_eq!(lab.published(key("p1", 1.into())).await, ["a of a", "d of d"]);
    assert_eq!(lab.published(key("p2", "1".into())).await, ["b of b", "g of g"]);
    assert_eq!(lab.published(key("p3", serde_json::Value::Null)).await, ["c of c"]);
    assert_eq!(lab.published(key("p4", true.into())).await, ["f of f", "g of g"]);
    assert!(lab.published(key("p5", serde_json::json!([1]))).await.is_empty());
    let other = serde_json::json!({ "other": 1, "k": "1" });
    assert_eq!(lab.published(published_with("e", "p6", other)).await, ["b of b", "g of g"]);
}

pub async fn a_filter_that_fails_does_not_match(lab: &Lab) {
    let fails = wait_where("w", "e", "event.payload.includes(1)");
    lab.begin_doing("a", does().reaches(fails).waits()).await;
    assert!(lab.published(published_with("e", "p1", 7)).await.is_empty());
    assert_eq!(lab.published(published_with("e", "p2", [1])).await, ["w of a"]);
}

pub async fn instances_are_told_in_order_of_their_first_wait_that_wants_it(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("a1", "f")).await;
    lab.begin_doing("b", does().hears("b1", "e").hears("b2", "*").waits()).await;
    lab.stored(a, does().hears("a2", "e").waits()).await;
    let told = lab.published(published("e", "p1")).await;
    assert_eq!(told, ["b1 of b", "b2 of b", "a2 of a"]);
}

pub async fn signals_messages_and_outputs_are_not_published_to(lab: &Lab) {
    let waits = does()
        .hears_signal("s", "e")
        .reaches(crate::fixture::wait("m", abide::Kind::Message, "e"))
        .reaches(crate::fixture::wait_for_output("o", "b", "e"));
    lab.begin_doing("a", waits.waits()).await;
    assert!(lab.published(published("e", "p1")).await.is_empty());
    assert_eq!(lab.subscriptions("a").await, ["s active", "m active", "o active"]);
}

pub async fn what_nobody_wants_is_in_the_log_and_nowhere_else(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "f").waits()).await;
    let before = lab.everything().await;
    assert!(lab.published(published("e", "p1")).await.is_empty());
    assert_eq!(lab.everything().await, before);
    assert_eq!(lab.log_ids().await, ["p1"]);
    assert!(!lab.log().await[0].wanted);
}

pub async fn the_same_source_and_id_again_is_answered_as_the_first_time(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    let first = lab.publish(published("e", "p1")).await.unwrap();
    lab.begin_doing("b", does().hears("v", "f").waits()).await;
    let before = lab.everything_and_log().await;
    let other = Publish { refused: Some("wrong".into()), ..published("f", "p1") };
    let again = lab.publish(other).await.unwrap();
    assert_eq!(again, Verdict { duplicate: true, ..first.clone() });
    let dry = Publish { dry_run: true, ..published("f", "p1") };
    assert_eq!(lab.publish(dry).await.unwrap(), again, "a dry run says so, too");
    assert_eq!(lab.everything_and_log().await, before);
    assert_eq!(lab.log().await[0].verdict, first, "it is stored as it was first told");
}

pub async fn the_same_id_from_another_source_is_another_event(lab: &Lab) {
    let from = |source: Option<&str>| {
        Publish::new(Publication {
            id: Some("p1".into()),
            source: source.map(str::to_owned),
            ..Publication::new("e")
        })
    };
    for (place, source) in [None, Some("x"), Some("y")].into_iter().enumerate() {
        let verdict = lab.publish(from(source)).await.unwrap();
        assert_eq!(verdict.seq, Some(i64::try_from(place).unwrap() + 1), "{source:?}");
        assert!(!verdict.duplicate);
        assert!(lab.publish(from(source)).await.unwrap().duplicate);
    }
}

pub async fn addressed_and_published_ids_do_not_know_of_each_other(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("one", "e").waits()).await;
    assert_eq!(lab.accepted(event("a", "e", "m1")).await, (1, false));
    lab.stored(a, does().hears("two", "e").hears("three", "f").waits()).await;
    assert_eq!(lab.published(published("e", "m1")).await, ["two of a"]);
    assert_eq!(lab.published(published("f", "m2")).await, ["three of a"]);
    assert_eq!(lab.accepted(event("a", "g", "m2")).await, (0, true));
}

pub async fn what_is_not_acceptable_is_refused_and_stores_nothing(lab: &Lab) {
    lab.begin_doing("a", does().hears_until("w", "e", lab.in_ms(5)).waits()).await;
    lab.clock.advance(Duration::from_millis(9));
    let before = lab.everything_and_log().await;
    for dry_run in [true, false] {
        let wrong = Publish { refused: Some("no n".into()), dry_run, ..published("e", "p1") };
        let refused = lab.publish(wrong).await.unwrap_err();
        assert_eq!(refused.code(), "EVENT_INVALID");
        assert!(refused.to_string().contains("no n"), "{refused}");
    }
    assert_eq!(lab.everything_and_log().await, before);
    assert_eq!(lab.store.log_span().await.unwrap(), LogSpan::default());
    let right = lab.publish(published("e", "p1")).await.unwrap();
    assert!(!right.duplicate, "what was refused did not come before");
}

pub async fn a_dry_run_answers_the_same_and_leaves_no_trace(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").hears_until("late", "e", lab.in_ms(1)).waits())
        .await;
    lab.begin_with(abide::NewInstance { correlation_id: Some("c".into()), ..instance("b") }).await;
    lab.clock.advance(Duration::from_millis(5));
    lab.forget_hints().await;
    let all = Publish {
        cancels: vec![crate::fixture::cancelling("t", "c")],
        starts: vec![crate::fixture::starting("t", "d")],
        ..published("e", "p1")
    };
    let before = lab.everything_and_log().await;
    let dry = lab.publish(Publish { dry_run: true, ..all.clone() }).await.unwrap();
    assert_eq!(lab.everything_and_log().await, before);
    assert_eq!(lab.store.log_span().await.unwrap(), LogSpan::default());
    lab.hears(&[]).await;
    let wet = lab.publish(all).await.unwrap();
    assert_eq!((dry.seq, wet.seq), (None, Some(1)));
    assert_eq!(dry, Verdict { seq: None, ..wet.clone() });
    assert_eq!(crate::lab::outcome(&wet), ["t cancels b", "w of a", "t starts d"]);
}

pub async fn a_wait_past_its_deadline_expires_before_it_can_be_met(lab: &Lab) {
    let waits = does().hears_until("late", "e", lab.in_ms(5)).hears("open", "e");
    lab.begin_doing("a", waits.waits()).await;
    lab.begin_doing("b", does().hears_until("only", "e", lab.in_ms(5)).waits()).await;
    lab.clock.advance(Duration::from_millis(5));
    assert_eq!(lab.published(published("e", "p1")).await, ["open of a"]);
    assert_eq!(lab.subscriptions("a").await, ["late expired", "open fulfilled by p1"]);
    assert_eq!(lab.news("a", 1).await, ["wait.expired late", "wait.fulfilled open"]);
    assert_eq!(lab.subscriptions("b").await, ["only expired"]);
    assert_eq!(lab.takers("p1").await, ["a"]);
}

pub async fn what_fell_due_elsewhere_is_not_looked_at(lab: &Lab) {
    lab.begin_doing("a", does().hears_until("w", "f", lab.in_ms(5)).waits()).await;
    lab.clock.advance(Duration::from_millis(5));
    lab.published(published("e", "p1")).await;
    assert_eq!(lab.subscriptions("a").await, ["w active"]);
}

pub async fn a_paused_instance_is_met_underneath_its_pause(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.pause("a").await;
    assert_eq!(lab.published(published("e", "p1")).await, ["w of a"]);
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1"]);
    assert_eq!(lab.status("a").await, "paused");
    assert_eq!(lab.resume("a").await.status().as_str(), "running");
}

pub async fn what_has_ended_takes_nothing(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.terminate("a").await;
    assert!(lab.published(published("e", "p1")).await.is_empty());
    assert_eq!(lab.subscriptions("a").await, ["w cancelled"]);
    assert!(lab.takers("p1").await.is_empty());
}

pub async fn the_first_of_a_race_that_is_met_cancels_the_others(lab: &Lab) {
    let race = does().reaches(wait_racing("w", "e", "r")).reaches(wait_racing("v", "f", "r"));
    lab.begin_doing("a", race.hears("x", "f").waits()).await;
    assert_eq!(lab.published(published("f", "p1")).await, ["v of a", "x of a"]);
    let expected = ["w cancelled", "v fulfilled by p1", "x fulfilled by p1"];
    assert_eq!(lab.subscriptions("a").await, expected);
    assert_eq!(
        lab.news("a", 1).await,
        ["wait.cancelled w", "wait.fulfilled v", "wait.fulfilled x"]
    );
    assert!(lab.published(published("e", "p2")).await.is_empty(), "a loser eats nothing");
}

pub async fn of_several_of_a_race_that_want_it_the_oldest_wins(lab: &Lab) {
    let race = does().reaches(wait_racing("w", "e", "r")).reaches(wait_racing("v", "e", "r"));
    lab.begin_doing("a", race.waits()).await;
    assert_eq!(lab.published(published("e", "p1")).await, ["w of a"]);
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1", "v cancelled"]);
}

pub async fn a_counted_wait_holds_it_until_the_last(lab: &Lab) {
    lab.begin_doing("a", does().reaches(wait_for_many("w", "e", 2)).waits()).await;
    assert_eq!(lab.published(published("e", "p1")).await, ["w of a"], "holding is taking");
    assert_eq!(lab.status("a").await, "waiting");
    assert_eq!(lab.buffered("a").await, ["p1"]);
    assert_eq!(lab.news("a", 1).await, ["event.buffered e"]);
    assert!(lab.log().await[0].wanted);
    assert_eq!(lab.published(published("e", "p2")).await, ["w of a"]);
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p2"]);
    assert!(lab.buffered("a").await.is_empty());
    assert_eq!(lab.news("a", 2).await, ["wait.fulfilled w"]);
    assert_eq!(lab.takers("p1").await, ["a"]);
}

pub async fn it_counts_together_with_what_was_addressed(lab: &Lab) {
    lab.begin_doing("a", does().reaches(wait_for_many("w", "e", 3)).waits()).await;
    lab.published(published("e", "p1")).await;
    lab.accepted(event("a", "e", "m1")).await;
    lab.published(published("e", "p2")).await;
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p2"]);
    let payload = lab.history("a").await.pop().unwrap().entry.payload.unwrap();
    let events: Vec<serde_json::Value> = payload.decode().unwrap();
    let ids: Vec<&str> = events.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["p1", "m1", "p2"]);
}

pub async fn what_is_held_is_listed_with_its_place_in_the_log(lab: &Lab) {
    lab.begin_doing("a", does().reaches(wait_for_many("w", "e", 2)).waits()).await;
    lab.published(published("other", "p0")).await;
    lab.clock.advance(Duration::from_millis(3));
    let said = Publication {
        id: Some("p1".into()),
        source: Some("shop".into()),
        time: Some(abide::Timestamp(5)),
        subject: Some("s".into()),
        correlation_id: Some("c".into()),
        ..Publication::new("e")
    };
    lab.published(Publish::new(said.clone())).await;
    let kept = lab.buffer("a").await.remove(0);
    let event = abide::Published { seq: 2, accepted_at: lab.clock.now(), event: said.into() };
    assert_eq!(kept, event.sent(kept.key));
}

pub async fn lists_end_and_counts_go_on(lab: &Lab) {
    let many = Verdict::MAX_LISTED + 7;
    for n in 0..many {
        let waits = does().reaches(wait_where(&format!("w{n}"), "e", "event.payload === 'p1'"));
        lab.begin_doing(&format!("a{n}"), waits.waits()).await;
    }
    let verdict = lab.publish(published("e", "p1")).await.unwrap();
    assert_eq!(verdict.matched_count, many as u64);
    assert_eq!(verdict.matched.len(), Verdict::MAX_LISTED);
    assert_eq!(&*verdict.matched[99].subscription_id, "sub_w99");
    for n in 0..many {
        let expected = format!("w{n} fulfilled by p1");
        assert_eq!(lab.subscriptions(&format!("a{n}")).await, [expected]);
    }
    assert_eq!(lab.log().await[0].verdict, verdict);
}

pub async fn triggers_that_failed_are_told(lab: &Lab) {
    let error = crate::fixture::failure("no such field");
    let failed = vec![abide::TriggerFailed { trigger: "t".into(), error }];
    let publish = Publish { failed: failed.clone(), ..published("e", "p1") };
    assert_eq!(lab.publish(publish).await.unwrap().failed, failed);
    assert_eq!(lab.log().await[0].verdict.failed, failed);
    assert!(!lab.log().await[0].wanted);
}
