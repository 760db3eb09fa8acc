//! Why an event did or did not match.

use abide::prelude::*;
use abide::{LogFilter, WaitFilter, WaitStatus, Why};
use serde_json::{Value, json};

use crate::world::on_every_store;

const PAID: &str = "event.payload.orderId === workflow.context.orderId \
                    && event.payload.amount >= workflow.context.expectedAmount";

async fn payment(cx: Cx, _order: Value) -> Result<u64> {
    let paid: Event<Value> = cx.wait_for_event("paid").on("payment.*").filter(PAID).await?;
    Ok(paid.payload["amount"].as_u64().unwrap_or(0))
}

fn order() -> Value {
    json!({"orderId": "o-17", "expectedAmount": 100})
}

fn paid(id: &str, order: &str, amount: u64) -> Event<Value> {
    Event::new("payment.card", json!({"orderId": order, "amount": amount})).id(id)
}

on_every_store! {
    async fn an_explanation_names_the_clause_that_was_false_and_its_values(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        engine.publish(paid("early", "o-17", 500)).await.unwrap();
        let handle = engine.start("payment", Start::new(&order())).await.unwrap();
        engine.publish(paid("low", "o-17", 90)).await.unwrap();
        engine.publish(Event::new("refund", ()).id("other")).await.unwrap();
        let explain = async |event: &str| {
            let mut all = engine.explain(event, handle.id()).await.unwrap();
            assert_eq!(all.len(), 1);
            all.remove(0)
        };
        let low = explain("low").await;
        assert_eq!(low.why, Why::FilterFalse);
        assert_eq!(low.clauses[0].to_string(), r#"event.payload.orderId === "o-17": "o-17" === "o-17" is true"#);
        assert_eq!(low.clauses[1].to_string(), "event.payload.amount >= 100: 90 >= 100 is false");
        assert_eq!(explain("early").await.why, Why::TooEarly);
        assert_eq!(explain("other").await.why, Why::OtherType);
        engine.publish(paid("right", "o-17", 100)).await.unwrap();
        handle.result::<u64>().await.unwrap();
        assert_eq!(explain("right").await.why, Why::Fulfilled);
        engine.publish(paid("late", "o-17", 100)).await.unwrap();
        assert_eq!(explain("late").await.why, Why::WaitWasOver);
        let unknown = engine.explain("no such", handle.id()).await.unwrap_err();
        assert_eq!(unknown.code(), "EVENT_NOT_FOUND");
        let nobody = InstanceId::new("nobody").unwrap();
        let unknown = engine.explain("low", &nobody).await.unwrap_err();
        assert_eq!(unknown.code(), "WORKFLOW_NOT_FOUND");
    }

    async fn near_misses_have_the_key_and_fail_in_another_clause(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order())).await.unwrap();
        for n in 0..7 {
            engine.publish(paid(&format!("low-{n}"), "o-17", n)).await.unwrap();
            engine.publish(paid(&format!("other-{n}"), "o-18", n)).await.unwrap();
        }
        let wait = handle.waits().await.unwrap().remove(0);
        let misses = engine.near_misses(&wait.id).await.unwrap();
        let ids: Vec<&str> = misses.iter().map(|miss| &*miss.event_id).collect();
        assert_eq!(ids, ["low-6", "low-5", "low-4", "low-3", "low-2"]);
        assert_eq!(misses[0].clauses[1].values, "6 >= 100");
        let unknown = engine.near_misses("sub_none").await.unwrap_err();
        assert_eq!(unknown.code(), "SUBSCRIPTION_NOT_FOUND");
    }

    async fn a_look_back_past_retention_is_told(world: World) {
        let engine = world.engine().workflow("payment", payment);
        let engine = engine.configure(|c| c.events_max_per_type = Some(1)).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order())).await.unwrap();
        engine.publish(paid("a", "o-17", 1)).await.unwrap();
        engine.publish(paid("b", "o-17", 2)).await.unwrap();
        assert!(!engine.explain("b", handle.id()).await.unwrap()[0].lookback_cut_short);
        assert_eq!(engine.prune().await.unwrap(), 1);
        assert!(engine.explain("b", handle.id()).await.unwrap()[0].lookback_cut_short);
        assert_eq!(engine.explain("a", handle.id()).await.unwrap_err().code(), "EVENT_NOT_FOUND");
    }

    async fn events_nobody_wanted_are_listed_until_somebody_takes_them(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let handle = engine.start("payment", Start::new(&order())).await.unwrap();
        engine.publish(paid("low", "o-17", 90)).await.unwrap();
        engine.publish(paid("right", "o-17", 100)).await.unwrap();
        handle.result::<u64>().await.unwrap();
        let unwanted = LogFilter { unwanted: true, ..LogFilter::default() };
        let listed = engine.events(unwanted).await.unwrap();
        let ids: Vec<_> = listed.iter().map(|logged| logged.published.event.id.as_deref()).collect();
        assert_eq!(ids, [Some("low")]);
        let (_, takers) = engine.event("right").await.unwrap();
        assert_eq!(takers[0].instance_id, *handle.id());
    }

    async fn waits_of_all_instances_are_listed_by_pattern_status_and_step(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let met = engine.start("payment", Start::new(&order())).await.unwrap();
        engine.publish(paid("right", "o-17", 100)).await.unwrap();
        met.result::<u64>().await.unwrap();
        let open = engine.start("payment", Start::new(&order())).await.unwrap();
        let listed = async |filter: WaitFilter| engine.waits(filter).await.unwrap();
        let pattern = WaitFilter { pattern: Some("payment.*".into()), ..WaitFilter::default() };
        assert_eq!(listed(pattern.clone()).await.len(), 2);
        let active = WaitFilter { status: Some(WaitStatus::Active), ..pattern };
        assert_eq!(listed(active).await[0].instance_id, *open.id());
        let step = WaitFilter { step: Some("no such".into()), ..WaitFilter::default() };
        assert!(listed(step).await.is_empty());
    }

    async fn the_last_of_a_type_can_be_listed(world: World) {
        let engine = world.engine().start().await.unwrap();
        for n in 0..5 {
            engine.publish(Event::new("a.b", n).id(format!("a-{n}"))).await.unwrap();
            engine.publish(Event::new("c", n)).await.unwrap();
        }
        let last = LogFilter {
            event_type: Some("a.*".into()),
            newest_first: true,
            limit: 2,
            ..LogFilter::default()
        };
        let listed = engine.events(last).await.unwrap();
        let ids: Vec<_> = listed.iter().map(|logged| logged.published.event.id.as_deref()).collect();
        assert_eq!(ids, [Some("a-4"), Some("a-3")]);
    }

    async fn a_wait_that_may_surprise_says_so(world: World) {
        async fn surprising(cx: Cx, (): ()) -> Result<()> {
            cx.wait_for_event::<Value>("e").filter("event.payload.a === workflow.context.no").await?;
            Ok(())
        }
        let engine = world.engine().workflow("surprising", surprising).start().await.unwrap();
        let handle = engine.start("surprising", Start::new(&())).await.unwrap();
        let history = handle.history().await.unwrap();
        let warned = history.iter().find_map(|recorded| recorded.entry.reason.clone()).unwrap();
        assert!(warned.contains("workflow.context.no"), "{warned}");
    }
}
