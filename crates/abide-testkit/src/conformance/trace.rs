//! Traces that come along with starts and deliveries.

use abide::history::EntryKind;
use abide::publication::Extension;
use abide::trace::Trace;
use abide::{Delivery, NewInstance, Publish};

use crate::Lab;
use crate::fixture::{Does, does, event, instance, published};

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn some() -> Option<Trace> {
    TRACE.parse().ok()
}

/// The entries that have it.
async fn traced(lab: &Lab, name: &str) -> Vec<&'static str> {
    let history = lab.history(name).await;
    let traced = history.iter().filter(|recorded| recorded.entry.trace == some());
    traced.map(|recorded| recorded.entry.entry.as_str()).collect()
}

pub async fn the_trace_of_a_start_opens_the_history(lab: &Lab) {
    lab.begin_with(NewInstance { trace: some(), ..instance("a") }).await;
    assert_eq!(traced(lab, "a").await, [EntryKind::WorkflowStarted.as_str()]);
}

pub async fn the_trace_of_a_delivery_is_told_when_it_comes_and_when_it_meets_a_wait(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.accepted(Delivery { trace: some(), ..event("a", "paid", "e1") }).await;
    assert_eq!(lab.buffer("a").await[0].trace, some());
    assert_eq!(traced(lab, "a").await, ["event.received"]);
    lab.stored(a, does().hears("w", "paid").waits()).await;
    assert_eq!(traced(lab, "a").await, ["event.received", "wait.fulfilled"]);
}

pub async fn the_trace_of_a_published_event_is_an_attribute_of_it(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "paid").waits()).await;
    let mut event = (*published("paid", "e1").event).clone();
    event.extensions.insert("traceparent".to_owned(), Extension::Text(TRACE.to_owned()));
    lab.publish(Publish::new(event)).await.unwrap();
    assert_eq!(traced(lab, "a").await, ["wait.fulfilled"]);
}
