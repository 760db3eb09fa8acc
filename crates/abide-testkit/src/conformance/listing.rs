//! Finding instances by what is known of them.

use std::time::Duration;

use abide::store::IfExists;
use abide::{Clock, Filter, Instance, InstanceKey, NewInstance, Page, Status};

use crate::Lab;
use crate::fixture::{Does, does, id, instance, json};

/// A few instances that differ in everything a filter may ask for.
async fn populate(lab: &Lab) {
    let tagged = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect();
    let order = NewInstance {
        workflow: "order".into(),
        correlation_id: Some("c1".to_owned()),
        tags: tagged(&["red", "blue"]),
        input: json(("Needle", 1)),
        ..instance("order-1")
    };
    lab.begin_with(order).await;
    lab.clock.advance(Duration::from_millis(10));
    let second = NewInstance { tags: tagged(&["blue-ish"]), ..instance("order-2") };
    lab.begin_with(second).await;
    let odd = NewInstance {
        workflow: "Order".into(),
        correlation_id: Some("C1".to_owned()),
        tags: tagged(&["100%", "a,b"]),
        input: json(("needle", "50%_off", "it's")),
        ..instance("Order_3%")
    };
    lab.begin_with(odd).await;
    lab.clock.advance(Duration::from_millis(10));
    lab.begin_doing("parent", does().awaits("kid", "k").detaches("kid2", "k").waits()).await;
    lab.begin_doing("waiting", does().waits()).await;
    lab.begin_doing("sleeping", does().sleeps_until(lab.in_ms(5))).await;
    lab.begin_doing("paused", does().sleeps_until(lab.in_ms(5)).pauses()).await;
    lab.begin_doing("completed", does().completes(1)).await;
    lab.begin_doing("errored", does().errs("no")).await;
    let queued = NewInstance { start_at: Some(lab.in_ms(50)), ..instance("queued") };
    lab.start(vec![queued], IfExists::Error).await.unwrap();
    lab.clock.advance(Duration::from_millis(10));
    lab.terminate("kid2").await;
}

/// What a store lists must be what [`Filter::matches`] says, newest first.
async fn check(lab: &Lab, filter: Filter) -> Vec<Instance> {
    let mut expected = lab.all().await;
    assert!(expected.is_sorted_by_key(|found| std::cmp::Reverse(found.key)), "newest first");
    expected.retain(|found| filter.matches(found));
    let page = Page { limit: 1000, before: None };
    let listed = lab.store.instances(filter.clone(), page).await.unwrap();
    assert_eq!(listed.instances, expected, "{filter:?}");
    assert_eq!(listed.next, None);
    expected
}

async fn finds(lab: &Lab, filter: Filter, names: &[&str]) {
    let found = check(lab, filter).await;
    let found: Vec<&str> = found.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(found, names);
}

pub async fn by_workflow(lab: &Lab) {
    populate(lab).await;
    for (workflow, names) in [("order", &["order-1"][..]), ("Order", &["Order_3%"]), ("o", &[])] {
        let workflow = Some(workflow.to_owned());
        finds(lab, Filter { workflow, ..Filter::default() }, names).await;
    }
}

pub async fn by_status(lab: &Lab) {
    populate(lab).await;
    for status in Status::ALL {
        let filter = Filter { status: vec![*status], ..Filter::default() };
        let found = check(lab, filter).await;
        assert!(!found.is_empty(), "{status} is among them");
    }
    let status = vec![Status::Paused, Status::Terminated, Status::Errored];
    finds(lab, Filter { status, ..Filter::default() }, &["errored", "paused", "kid2"]).await;
}

pub async fn by_the_beginning_of_the_id(lab: &Lab) {
    populate(lab).await;
    for (prefix, names) in [
        ("order-", &["order-2", "order-1"][..]),
        ("Order", &["Order_3%"]),
        ("Order_3%", &["Order_3%"]),
        ("%", &[]),
        ("o_der", &[]),
        ("order-1x", &[]),
    ] {
        let id_prefix = Some(prefix.to_owned());
        finds(lab, Filter { id_prefix, ..Filter::default() }, names).await;
    }
    let found = check(lab, Filter { id_prefix: Some(String::new()), ..Filter::default() }).await;
    assert_eq!(found.len(), lab.all().await.len(), "every id begins with nothing");
}

pub async fn by_correlation_id(lab: &Lab) {
    populate(lab).await;
    for (correlation_id, names) in [("c1", &["order-1"][..]), ("C1", &["Order_3%"]), ("c", &[])] {
        let correlation_id = Some(correlation_id.to_owned());
        finds(lab, Filter { correlation_id, ..Filter::default() }, names).await;
    }
}

pub async fn by_tag(lab: &Lab) {
    populate(lab).await;
    for (tag, names) in [
        ("blue", &["order-1"][..]),
        ("red", &["order-1"]),
        ("blue-ish", &["order-2"]),
        ("100%", &["Order_3%"]),
        ("a,b", &["Order_3%"]),
        ("b", &[]),
        ("Red", &[]),
    ] {
        finds(lab, Filter { tag: Some(tag.to_owned()), ..Filter::default() }, names).await;
    }
}

pub async fn by_parent(lab: &Lab) {
    populate(lab).await;
    for (parent, names) in [("parent", &["kid2", "kid"][..]), ("kid", &[]), ("none", &[])] {
        finds(lab, Filter { parent: Some(id(parent)), ..Filter::default() }, names).await;
    }
}

pub async fn by_the_moment_of_acceptance(lab: &Lab) {
    let start = lab.clock.now();
    populate(lab).await;
    let at = |ms: u64| Some(start.after(Duration::from_millis(ms)));
    let after = Filter { created_after: at(0), created_before: at(20), ..Filter::default() };
    finds(lab, after, &["Order_3%", "order-2"]).await;
    let before = Filter { created_before: at(10), ..Filter::default() };
    finds(lab, before, &["order-1"]).await;
    finds(lab, Filter { created_after: at(20), ..Filter::default() }, &[]).await;
}

pub async fn by_a_text_in_the_input(lab: &Lab) {
    populate(lab).await;
    for (text, names) in [
        ("Needle", &["order-1"][..]),
        ("needle", &["Order_3%"]),
        ("50%_off", &["Order_3%"]),
        ("it's", &["Order_3%"]),
        ("5_%", &[]),
        ("[\"Needle\",1]", &["order-1"]),
    ] {
        finds(lab, Filter { text: Some(text.to_owned()), ..Filter::default() }, names).await;
    }
}

pub async fn everything_given_must_hold(lab: &Lab) {
    populate(lab).await;
    let both = Filter {
        workflow: Some("order".to_owned()),
        tag: Some("blue".to_owned()),
        status: vec![Status::Running],
        text: Some("eedle".to_owned()),
        id_prefix: Some("order".to_owned()),
        correlation_id: Some("c1".to_owned()),
        ..Filter::default()
    };
    finds(lab, both.clone(), &["order-1"]).await;
    finds(lab, Filter { tag: Some("green".to_owned()), ..both }, &[]).await;
}

pub async fn pages_have_neither_gap_nor_duplicate(lab: &Lab) {
    populate(lab).await;
    let status = vec![Status::Running, Status::Paused, Status::Queued];
    for filter in [Filter::default(), Filter { status, ..Filter::default() }] {
        let whole = check(lab, filter.clone()).await;
        for limit in 1..=whole.len() + 1 {
            assert_eq!(read_in_pages(lab, &filter, limit).await, whole, "pages of {limit}");
        }
    }
}

async fn read_in_pages(lab: &Lab, filter: &Filter, limit: usize) -> Vec<Instance> {
    let mut read = Vec::new();
    let mut before: Option<InstanceKey> = None;
    loop {
        let page = Page { limit, before };
        let listed = lab.store.instances(filter.clone(), page).await.unwrap();
        assert!(listed.instances.len() <= limit);
        read.extend(listed.instances);
        if listed.next.is_none() {
            return read;
        }
        before = listed.next;
    }
}

pub async fn what_is_accepted_meanwhile_does_not_shift_a_page(lab: &Lab) {
    populate(lab).await;
    let whole = lab.all().await;
    let first = Page { limit: 3, before: None };
    let first = lab.store.instances(Filter::default(), first).await.unwrap();
    lab.begin("newer").await;
    let rest = Page { limit: 1000, before: first.next };
    let rest = lab.store.instances(Filter::default(), rest).await.unwrap();
    assert_eq!([first.instances, rest.instances].concat(), whole);
}
