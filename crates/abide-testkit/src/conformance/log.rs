//! Looking at what was published.

use std::sync::Arc;
use std::time::Duration;

use abide::publication::{Extension, Form};
use abide::{
    Clock, Kind, LogFilter, LogRetention, LogSpan, Logged, NewWait, Publication, Publish,
    Published, Since, Taker,
};

use crate::Lab;
use crate::fixture::{Does, does, id, json, published, published_with, wait, wait_where};
use crate::lab::ids;

pub async fn an_event_reads_back_as_it_was_published(lab: &Lab) {
    let extension = |name: &str, value| (name.to_owned(), value);
    let full = Publication {
        payload: Some(json(())),
        form: Form::Text,
        id: Some("p1".into()),
        source: Some("shop".into()),
        time: Some(abide::Timestamp(5)),
        subject: Some("s".into()),
        correlation_id: Some("c".into()),
        content_type: Some("text/plain".into()),
        extensions: [
            extension("a", Extension::Bool(true)),
            extension("b", Extension::Integer(-7)),
            extension("c", Extension::Text("7".into())),
        ]
        .into(),
        ..Publication::new("order.paid")
    };
    let bare = Publication { id: Some("p2".into()), ..Publication::new("e") };
    lab.clock.advance(Duration::from_millis(3));
    for (seq, event) in [(1, full), (2, bare)] {
        let verdict = lab.publish(Publish::new(event.clone())).await.unwrap();
        let published =
            Published { seq, accepted_at: lab.clock.now(), event: Arc::new(event.clone()) };
        let filter = LogFilter { id: event.id, ..LogFilter::default() };
        assert_eq!(lab.logged(filter).await, [Logged { published, verdict, wanted: false }]);
    }
}

pub async fn it_is_listed_by_whatever_is_given(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "order.paid").waits()).await;
    for (n, (event_type, source)) in [
        ("order.new", None),
        ("order.paid", Some("shop")),
        ("invoice", Some("shop")),
        ("order.new", Some("x")),
    ]
    .into_iter()
    .enumerate()
    {
        let event = Publication {
            id: Some(format!("p{}", n + 1)),
            source: source.map(str::to_owned),
            ..Publication::new(event_type)
        };
        lab.published(Publish::new(event)).await;
        lab.clock.advance(Duration::from_millis(10));
    }
    let all = LogFilter::default;
    let some = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (all(), vec!["p1", "p2", "p3", "p4"]),
        (LogFilter { newest_first: true, ..all() }, vec!["p4", "p3", "p2", "p1"]),
        (LogFilter { id: some("p2"), ..all() }, vec!["p2"]),
        (LogFilter { event_type: some("order.new"), ..all() }, vec!["p1", "p4"]),
        (LogFilter { event_type: some("order.*"), ..all() }, vec!["p1", "p2", "p4"]),
        (LogFilter { event_type: some("*"), ..all() }, vec!["p3"]),
        (LogFilter { source: some("shop"), ..all() }, vec!["p2", "p3"]),
        (LogFilter { unwanted: true, ..all() }, vec!["p1", "p3", "p4"]),
        (LogFilter { from: Some(lab.in_ms(-20)), ..all() }, vec!["p3", "p4"]),
        (LogFilter { to: Some(lab.in_ms(-20)), ..all() }, vec!["p1", "p2"]),
        (LogFilter { after: Some(2), ..all() }, vec!["p3", "p4"]),
        (LogFilter { after: Some(2), newest_first: true, ..all() }, vec!["p1"]),
        (LogFilter { limit: 3, ..all() }, vec!["p1", "p2", "p3"]),
        (
            LogFilter { limit: 1, newest_first: true, event_type: some("order.*"), ..all() },
            vec!["p4"],
        ),
        (LogFilter { unwanted: true, source: some("shop"), ..all() }, vec!["p3"]),
        (LogFilter { id: some("p1"), source: some("shop"), ..all() }, vec![]),
        (LogFilter { limit: 0, ..all() }, vec![]),
    ] {
        let found = lab.store.log(filter.clone()).await.unwrap();
        assert_eq!(ids(&found), expected, "{filter:?}");
    }
}

pub async fn pages_have_neither_gap_nor_duplicate(lab: &Lab) {
    for n in 0..7 {
        lab.published(published("e", &format!("p{n}"))).await;
    }
    for newest_first in [false, true] {
        let (mut after, mut all) = (None, Vec::new());
        loop {
            let page = LogFilter { after, newest_first, limit: 3, ..LogFilter::default() };
            let page = lab.store.log(page).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.published.seq);
            all.extend(ids(&page));
        }
        let mut expected = lab.log_ids().await;
        if newest_first {
            expected.reverse();
        }
        assert_eq!(all, expected);
    }
}

pub async fn its_span_goes_from_the_oldest_kept_to_the_last_ever(lab: &Lab) {
    let span = async || lab.store.log_span().await.unwrap();
    assert_eq!(span().await, LogSpan { oldest: None, newest: 0 });
    for id in ["p1", "p2", "p3"] {
        lab.published(published("e", id)).await;
    }
    assert_eq!(span().await, LogSpan { oldest: Some(1), newest: 3 });
    let keep = |n| LogRetention { max_per_type: Some(n), ..LogRetention::default() };
    lab.store.prune_log(keep(1), 10).await.unwrap();
    assert_eq!(span().await, LogSpan { oldest: Some(3), newest: 3 });
    lab.store.prune_log(keep(0), 10).await.unwrap();
    assert_eq!(span().await, LogSpan { oldest: None, newest: 3 });
    lab.published(published("e", "p4")).await;
    assert_eq!(span().await, LogSpan { oldest: Some(4), newest: 4 }, "numbers are not used twice");
}

pub async fn takers_are_told_in_key_order_with_their_moment(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.begin_doing("b", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    let first = lab.clock.now();
    lab.clock.advance(Duration::from_millis(5));
    lab.stored(a, does().hears("v", "e").waits()).await;
    let taker = |name: &str, taken_at| Taker { instance_id: id(name), taken_at };
    let expected = [taker("a", lab.clock.now()), taker("b", first)];
    assert_eq!(lab.store.takers(1).await.unwrap(), expected);
    assert!(lab.store.takers(2).await.unwrap().is_empty());
}

pub async fn a_pruned_instance_is_no_taker_and_the_event_was_wanted(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.published(published("e", "p1")).await;
    lab.stored(a, does().hears("w", "e")).await;
    lab.stored(a, does().completes(1)).await;
    lab.clock.advance(Duration::from_millis(5));
    assert_eq!(lab.store.prune(lab.clock.now(), 10).await.unwrap(), 1);
    assert!(lab.takers("p1").await.is_empty());
    assert!(lab.log().await[0].wanted);
}

pub async fn what_a_wait_may_have_been_compared_with_is_told_newest_first(lab: &Lab) {
    lab.published(published_with("e", "p0", serde_json::json!({ "k": 1, "n": 0 }))).await;
    let filter = "event.payload.k === 1 && event.payload.n > 5";
    let waits = does().reaches(wait_where("keyed", "e", filter));
    let a = lab.begin_doing("a", waits.reaches(wait_where("never", "e", "false")).waits()).await;
    for (id, event_type, k, n) in [
        ("p1", "e", 1, 1),
        ("p2", "e", 2, 9),
        ("p3", "f", 1, 9),
        ("p4", "e", 1, 2),
        ("p5", "e", 1, 9),
    ] {
        let payload = serde_json::json!({ "k": k, "n": n });
        lab.published(published_with(event_type, id, payload)).await;
    }
    assert_eq!(lab.overheard("keyed").await, ["p5", "p4", "p1"]);
    assert!(lab.overheard("never").await.is_empty());
    let some = lab.store.overheard("sub_keyed", 2).await.unwrap();
    assert_eq!(some.iter().map(|event| event.seq).collect::<Vec<_>>(), [6, 5]);
    let scans = wait_where("scans", "*", "event.payload.n > 9");
    let either = wait_where("either", "e", "event.payload.k === 2 || event.payload.n === 2");
    let now = NewWait { since: Since::Now, ..wait("now", Kind::Event, "e") };
    let now = NewWait { filter: scans.filter.clone(), ..now };
    lab.stored(a, does().reaches(scans).reaches(either).reaches(now).waits()).await;
    assert_eq!(lab.overheard("scans").await, ["p5", "p4", "p3", "p2", "p1"]);
    assert_eq!(lab.overheard("either").await, ["p4", "p2"]);
    assert!(lab.overheard("now").await.is_empty());
    let unknown = lab.store.overheard("sub_nobody", 1).await.unwrap_err();
    assert_eq!(unknown.code(), "SUBSCRIPTION_NOT_FOUND");
}

pub async fn the_oldest_are_pruned_by_time(lab: &Lab) {
    for id in ["p1", "p2", "p3"] {
        lab.published(published("e", id)).await;
        lab.clock.advance(Duration::from_millis(10));
    }
    let before = |ms| LogRetention { before: Some(lab.in_ms(ms)), ..LogRetention::default() };
    assert_eq!(lab.store.prune_log(LogRetention::default(), 10).await.unwrap(), 0);
    assert_eq!(lab.store.prune_log(before(-30), 10).await.unwrap(), 0, "accepted at that moment");
    assert_eq!(lab.store.prune_log(before(-10), 1).await.unwrap(), 1, "at most so many");
    assert_eq!(lab.log_ids().await, ["p2", "p3"]);
    assert_eq!(lab.store.prune_log(before(-10), 10).await.unwrap(), 1);
    assert_eq!(lab.log_ids().await, ["p3"]);
}

pub async fn the_oldest_are_pruned_by_bytes_of_payload(lab: &Lab) {
    for (id, payload) in [("p1", "12345678"), ("p2", "12"), ("p3", "12345678")] {
        lab.published(published_with("e", id, payload)).await;
    }
    let none = Publication { id: Some("p4".into()), ..Publication::new("e") };
    lab.published(Publish::new(none)).await;
    let bytes = |max| LogRetention { max_bytes: Some(max), ..LogRetention::default() };
    assert_eq!(lab.store.prune_log(bytes(24), 10).await.unwrap(), 0);
    assert_eq!(lab.store.prune_log(bytes(23), 10).await.unwrap(), 1);
    assert_eq!(lab.log_ids().await, ["p2", "p3", "p4"]);
    assert_eq!(lab.store.prune_log(bytes(0), 1).await.unwrap(), 1);
    assert_eq!(lab.log_ids().await, ["p3", "p4"]);
    assert_eq!(lab.store.prune_log(bytes(0), 10).await.unwrap(), 1);
    assert_eq!(lab.log_ids().await, ["p4"], "it has no payload");
}

pub async fn the_oldest_of_each_type_are_pruned_by_count(lab: &Lab) {
    for (id, event_type) in [("p1", "e"), ("p2", "f"), ("p3", "e"), ("p4", "e"), ("p5", "f.x")] {
        lab.published(published(event_type, id)).await;
    }
    let keep = |n| LogRetention { max_per_type: Some(n), ..LogRetention::default() };
    assert_eq!(lab.store.prune_log(keep(3), 10).await.unwrap(), 0);
    assert_eq!(lab.store.prune_log(keep(1), 10).await.unwrap(), 2);
    assert_eq!(lab.log_ids().await, ["p2", "p4", "p5"]);
    assert_eq!(lab.store.prune_log(keep(0), 2).await.unwrap(), 2);
    assert_eq!(lab.log_ids().await, ["p5"]);
}

pub async fn what_is_pruned_can_come_again_as_another(lab: &Lab) {
    let a = lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    let all = LogRetention { max_per_type: Some(0), ..LogRetention::default() };
    lab.store.prune_log(all, 10).await.unwrap();
    assert!(lab.store.takers(1).await.unwrap().is_empty());
    lab.stored(a, does().hears("v", "e").waits()).await;
    let again = lab.publish(published("e", "p1")).await.unwrap();
    assert_eq!((again.seq, again.duplicate, again.matched_count), (Some(2), false, 1));
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1", "v fulfilled by p1"]);
    assert_eq!(lab.takers("p1").await, ["a"]);
}
