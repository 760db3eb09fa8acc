//! Published events and waits.

use abide::prelude::*;
use abide::{Json, Publication, WaitStatus};
use serde_json::{Value, json};

use crate::world::on_every_store;

const PAID: &str = "event.payload.orderId === workflow.context.orderId \
                    && event.payload.amount >= workflow.context.expectedAmount";

async fn payment(cx: Cx, _order: Value) -> Result<u64> {
    let paid: Event<Value> = cx.wait_for_event("paid").on("payment.*").filter(PAID).await?;
    Ok(paid.payload["amount"].as_u64().unwrap_or(0))
}

async fn anything(cx: Cx, (): ()) -> Result<Value> {
    let event: Event<Value> = cx.wait_for_event("any").on("**").timeout("1 hour").await?;
    Ok(json!([event.id, event.event_type, event.source, event.payload]))
}

async fn quorum(cx: Cx, (): ()) -> Result<usize> {
    let wait = cx.wait_for_event::<Value>("votes").on("vote.cast").count(2);
    Ok(wait.distinct_by("event.payload.user").await?.len())
}

async fn first_of(cx: Cx, (): ()) -> Result<String> {
    let yes = cx.wait_for_event::<Value>("yes").on("answer.yes");
    let no = cx.wait_for_event::<Value>("no").on("answer.*");
    Ok(match cx.any((yes, no)).await? {
        OneOf2::First(event) => format!("first {}", event.event_type),
        OneOf2::Second(event) => format!("second {}", event.event_type),
    })
}

fn order(id: u64) -> Value {
    json!({"orderId": id, "expectedAmount": 100})
}

fn paid(id: u64, amount: u64) -> Event<Value> {
    Event::new("payment.card", json!({"orderId": id, "amount": amount}))
}

on_every_store! {
    async fn an_event_finds_the_instance_that_wants_it_among_others(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let mut handles = Vec::new();
        for id in 0..20 {
            handles.push(engine.start("payment", Start::new(&order(id))).await.unwrap());
        }
        let verdict = engine.publish(paid(7, 120)).await.unwrap();
        assert_eq!((verdict.matched_count, verdict.started_count), (1, 0));
        assert_eq!(verdict.matched[0].instance_id, *handles[7].id());
        assert_eq!(handles[7].result::<u64>().await.unwrap(), 120);
        for (id, handle) in handles.iter().enumerate().filter(|(id, _)| *id != 7) {
            assert_eq!(handle.status().await.unwrap(), Status::Waiting, "{id}");
        }
    }

    async fn an_event_that_does_not_match_leaves_the_wait_open(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order(1))).await.unwrap();
        assert_eq!(engine.publish(paid(1, 99)).await.unwrap().matched_count, 0);
        assert_eq!(engine.publish(paid(2, 200)).await.unwrap().matched_count, 0);
        let other = Event::new("refund.card", json!({"orderId": 1, "amount": 200}));
        assert_eq!(engine.publish(other).await.unwrap().matched_count, 0);
        assert_eq!(handle.waits().await.unwrap()[0].status, WaitStatus::Active);
        let verdict = engine.publish(paid(1, 100).id("e-1")).await.unwrap();
        assert_eq!(handle.result::<u64>().await.unwrap(), 100);
        let wait = handle.waits().await.unwrap().remove(0);
        assert_eq!(wait.status, WaitStatus::Fulfilled);
        assert_eq!(wait.fulfilled_by.as_deref(), Some("e-1"));
        assert!(wait.fulfilled_at.is_some());
        assert_eq!(verdict.matched[0].subscription_id, wait.id);
    }

    async fn one_event_resumes_everybody_who_matches(world: World) {
        let engine = world.engine().workflow("anything", anything).start().await.unwrap();
        let mut handles = Vec::new();
        for _ in 0..5 {
            handles.push(engine.start("anything", Start::new(&())).await.unwrap());
        }
        let event = Event::new("news.daily", 7).id("e-1").source("press");
        assert_eq!(engine.publish(event).await.unwrap().matched_count, 5);
        for handle in handles {
            let seen: Value = handle.result().await.unwrap();
            assert_eq!(seen, json!(["e-1", "news.daily", "press", 7]));
        }
    }

    async fn the_same_event_again_is_answered_as_the_first_time(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order(1))).await.unwrap();
        let first = engine.publish(paid(1, 100).id("e").source("s")).await.unwrap();
        assert_eq!(handle.result::<u64>().await.unwrap(), 100);
        let again = engine.publish(paid(1, 500).id("e").source("s")).await.unwrap();
        assert!(!first.duplicate && again.duplicate);
        assert_eq!(abide::Verdict { duplicate: false, ..again }, first);
        let elsewhere = engine.publish(paid(1, 100).id("e").source("t")).await.unwrap();
        assert!(!elsewhere.duplicate);
    }

    async fn a_dry_run_tells_and_does_nothing(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order(1))).await.unwrap();
        let verdict = engine.publish_dry(paid(1, 100)).await.unwrap();
        assert_eq!((verdict.matched_count, verdict.seq), (1, None));
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Waiting);
        assert!(engine.events(LogFilter::default()).await.unwrap().is_empty());
    }

    async fn an_evicted_instance_wakes_for_a_published_event(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order(1))).await.unwrap();
        world.evict(&engine).await;
        engine.publish(paid(1, 100)).await.unwrap();
        assert_eq!(handle.result::<u64>().await.unwrap(), 100);
    }

    async fn a_counted_wait_collects_published_and_addressed_events(world: World) {
        let engine = world.engine().workflow("quorum", quorum).start().await.unwrap();
        let handle = engine.start("quorum", Start::new(&())).await.unwrap();
        let vote = |user: &str| Event::new("vote.cast", json!({"user": user}));
        assert_eq!(engine.publish(vote("ann")).await.unwrap().matched_count, 1);
        assert_eq!(engine.publish(vote("ann")).await.unwrap().matched_count, 0);
        let sent = handle.send_event("vote.cast", &json!({"user": "bob"})).await.unwrap();
        assert_eq!(sent.delivered, 1);
        assert_eq!(handle.result::<usize>().await.unwrap(), 2);
    }

    async fn a_race_takes_a_published_event_once(world: World) {
        let engine = world.engine().workflow("first_of", first_of).start().await.unwrap();
        let handle = engine.start("first_of", Start::new(&())).await.unwrap();
        let verdict = engine.publish(Event::new("answer.yes", ())).await.unwrap();
        assert_eq!(verdict.matched_count, 1);
        assert_eq!(handle.result::<String>().await.unwrap(), "first answer.yes");
        let waits = handle.waits().await.unwrap();
        assert_eq!(waits[0].status, WaitStatus::Fulfilled);
        assert_eq!(waits[1].status, WaitStatus::Cancelled);
    }

    async fn a_paused_instance_takes_the_event_and_goes_on_when_resumed(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order(1))).await.unwrap();
        handle.pause().await.unwrap();
        assert_eq!(engine.publish(paid(1, 100)).await.unwrap().matched_count, 1);
        assert_eq!(handle.status().await.unwrap(), Status::Paused);
        handle.resume().await.unwrap();
        assert_eq!(handle.result::<u64>().await.unwrap(), 100);
    }

    async fn a_wait_past_its_deadline_takes_nothing(world: World) {
        let engine = world.engine().workflow("anything", anything).start().await.unwrap();
        let handle = engine.start("anything", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.clock.advance(crate::world::HOUR);
        let verdict = engine.publish(Event::new("late", ())).await.unwrap();
        assert_eq!(verdict.matched_count, 0);
        assert!(matches!(handle.result::<Value>().await, Err(Error::InstanceFailed { .. })));
        assert_eq!(handle.waits().await.unwrap()[0].status, WaitStatus::Expired);
    }

    async fn editing_a_filter_folds_again_and_looks_again(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order(1))).await.unwrap();
        engine.publish(paid(1, 50)).await.unwrap();
        let wait = handle.waits().await.unwrap().remove(0);
        let refused = handle.edit_filter(&wait.id, Some("event.payload.amount >")).await.unwrap_err();
        assert_eq!(refused.code(), "FILTER_INVALID");
        let filter = "event.payload.orderId === workflow.context.orderId";
        handle.edit_filter(&wait.id, Some(filter)).await.unwrap();
        assert_eq!(handle.result::<u64>().await.unwrap(), 50);
    }

    async fn what_is_not_acceptable_is_refused_and_nothing_is_stored(world: World) {
        let engine = world.engine().workflow("anything", anything).start().await.unwrap();
        let too_long = "x".repeat(256);
        for event_type in ["", "a..b", ".a", &too_long] {
            let refused = engine.publish(Event::new(event_type, ())).await.unwrap_err();
            assert_eq!(refused.code(), "VALIDATION_ERROR", "{event_type:?}: {refused}");
        }
        let huge = Event::new("a", "x".repeat(2 << 20));
        assert_eq!(engine.publish(huge).await.unwrap_err().code(), "PAYLOAD_TOO_LARGE");
        assert!(engine.events(LogFilter::default()).await.unwrap().is_empty());
    }

    async fn a_payload_nested_too_deeply_is_kept_and_matches_no_filter(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order(1))).await.unwrap();
        let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
        let event = Publication {
            payload: Some(Json::from_stored(deep).unwrap()),
            ..Publication::new("payment.deep")
        };
        assert_eq!(engine.publish(event).await.unwrap().matched_count, 0);
        assert_eq!(handle.status().await.unwrap(), Status::Waiting);
    }
}
