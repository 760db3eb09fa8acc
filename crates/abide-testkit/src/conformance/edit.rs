//! Open waits that are given another filter.

use std::time::Duration;

use abide::{Buffer, Delivery, Result, Wait, WaitEdit};

use crate::Lab;
use crate::fixture::{
    Does, does, event, folding, json, published, published_with, wait_for_many, wait_racing,
    wait_where,
};

async fn wants(lab: &Lab, step: &str, filter: Option<&str>) -> Result<Wait> {
    let edit = WaitEdit { filter: Some(filter.map(folding)), ..WaitEdit::default() };
    lab.store.edit_wait(&format!("sub_{step}"), edit).await
}

pub async fn what_comes_next_is_asked_the_new_filter(lab: &Lab) {
    let waits =
        does().reaches(wait_where("w", "e", "event.payload === 1")).waits_until(lab.in_ms(9));
    lab.begin_doing("a", waits).await;
    let edited = wants(lab, "w", Some("event.payload === 2")).await.unwrap();
    assert_eq!(edited.filter, Some(folding("event.payload === 2")));
    assert_eq!(edited, lab.waits("a").await[0]);
    assert_eq!(lab.status("a").await, "waiting");
    assert!(lab.published(published_with("e", "p1", 1)).await.is_empty());
    assert_eq!(lab.published(published_with("e", "p2", 2)).await, ["w of a"]);
}

pub async fn what_is_buffered_is_offered_and_then_the_log(lab: &Lab) {
    let none = |step| wait_where(step, "e", "event.payload === 'none'");
    lab.begin_doing("a", does().reaches(none("w")).reaches(none("v")).waits()).await;
    lab.published(published_with("e", "p1", 1)).await;
    let addressed = Delivery { payload: Some(json(1)), ..event("a", "e", "m1") };
    lab.accepted(addressed).await;
    let known = lab.get("a").await.next_seq - 1;
    lab.forget_hints().await;
    let edited = wants(lab, "w", Some("event.payload === 1")).await.unwrap();
    assert_eq!(edited.fulfilled_by.as_deref(), Some("m1"));
    assert_eq!(lab.status("a").await, "running");
    lab.hears(&["arrived a wait.fulfilled"]).await;
    wants(lab, "v", None).await.unwrap();
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by m1", "v fulfilled by p1"]);
    assert_eq!(lab.news("a", known).await, ["wait.fulfilled w", "wait.fulfilled v"]);
    assert_eq!(lab.takers("p1").await, ["a"]);
}

pub async fn only_the_edited_one_is_offered_anything(lab: &Lab) {
    let a = lab.begin("a").await;
    let quiet = Delivery { wake: false, buffer: Buffer::Queue, ..event("a", "e", "m1") };
    lab.stored(a, does().hears("other", "e").reaches(wait_where("w", "e", "false")).waits()).await;
    lab.accepted(quiet).await;
    wants(lab, "w", None).await.unwrap();
    assert_eq!(lab.subscriptions("a").await, ["other active", "w fulfilled by m1"]);
}

pub async fn it_looks_back_no_further_than_before(lab: &Lab) {
    lab.published(published("e", "p1")).await;
    lab.begin_doing("a", does().reaches(wait_where("w", "e", "false")).waits()).await;
    assert_eq!(wants(lab, "w", None).await.unwrap().status.as_str(), "active");
    assert!(lab.takers("p1").await.is_empty());
}

pub async fn what_the_instance_took_is_not_offered_again(lab: &Lab) {
    let waits = does().reaches(wait_where("w", "e", "false")).hears("v", "e");
    lab.begin_doing("a", waits.waits()).await;
    lab.published(published("e", "p1")).await;
    wants(lab, "w", None).await.unwrap();
    assert_eq!(lab.subscriptions("a").await, ["w active", "v fulfilled by p1"]);
}

pub async fn its_rivals_lose_when_it_is_met(lab: &Lab) {
    let never = abide::NewWait { filter: Some(folding("false")), ..wait_racing("w", "e", "r") };
    lab.begin_doing("a", does().reaches(never).reaches(wait_racing("v", "f", "r")).waits()).await;
    lab.published(published("e", "p1")).await;
    let known = lab.get("a").await.next_seq - 1;
    wants(lab, "w", None).await.unwrap();
    assert_eq!(lab.subscriptions("a").await, ["w fulfilled by p1", "v cancelled"]);
    assert_eq!(lab.news("a", known).await, ["wait.cancelled v", "wait.fulfilled w"]);
}

pub async fn what_it_held_it_still_holds(lab: &Lab) {
    lab.begin_doing("a", does().reaches(wait_for_many("w", "e", 3)).waits()).await;
    lab.published(published_with("e", "p1", 1)).await;
    let edited = wants(lab, "w", Some("event.payload === 2")).await.unwrap();
    assert_eq!(edited.count.unwrap().held.len(), 1);
    assert!(lab.published(published_with("e", "p2", 1)).await.is_empty());
    lab.published(published_with("e", "p3", 2)).await;
    let edited = wants(lab, "w", None).await.unwrap();
    assert_eq!(edited.fulfilled_by.as_deref(), Some("p2"), "it was passed over before");
}

pub async fn deadline_and_filter_can_be_changed_together(lab: &Lab) {
    lab.begin_doing("a", does().hears_until("w", "e", lab.in_ms(5)).waits()).await;
    lab.clock.advance(Duration::from_millis(9));
    let (timeout_at, filter) = (Some(Some(lab.in_ms(5))), Some(Some(folding("event.payload > 1"))));
    let edited = lab.store.edit_wait("sub_w", WaitEdit { timeout_at, filter }).await.unwrap();
    assert_eq!((edited.timeout_at, edited.status.as_str()), (Some(lab.in_ms(5)), "active"));
    assert!(edited.filter.is_some());
}

pub async fn one_past_its_deadline_expires_once_it_has_looked(lab: &Lab) {
    let waits = does().hears_until("w", "f", lab.in_ms(5)).waits();
    lab.begin_doing("a", waits).await;
    lab.clock.advance(Duration::from_millis(9));
    assert_eq!(
        wants(lab, "w", Some("event.payload > 1")).await.unwrap().status.as_str(),
        "expired"
    );
    assert_eq!(lab.news("a", 1).await, ["wait.expired w"]);
    assert_eq!(lab.status("a").await, "running");
}

pub async fn an_edit_of_nothing_changes_nothing(lab: &Lab) {
    let waits = does().reaches(wait_where("w", "e", "event.payload === 1"));
    lab.begin_doing("a", waits.waits()).await;
    let before = lab.everything().await;
    let edited = lab.store.edit_wait("sub_w", WaitEdit::default()).await.unwrap();
    assert_eq!(edited, before[0].waits[0]);
    assert_eq!(lab.everything().await, before);
}

pub async fn a_wait_that_is_not_open_or_not_there_has_no_filter_to_change(lab: &Lab) {
    lab.begin_doing("a", does().hears("w", "e").waits()).await;
    lab.published(published("e", "p1")).await;
    assert_eq!(wants(lab, "w", None).await.unwrap_err().code(), "INVALID_TRANSITION");
    assert_eq!(wants(lab, "x", None).await.unwrap_err().code(), "SUBSCRIPTION_NOT_FOUND");
}
