//! Waits of all instances.

use reqwest::Method;
use serde_json::{Value, json};

use crate::events::{ORDER, ordered};
use crate::instances::APPROVE;
use crate::world::World;

fn ids(listed: &Value) -> Vec<String> {
    let listed = listed["subscriptions"].as_array().unwrap();
    listed.iter().map(|one| one["workflowInstanceId"].as_str().unwrap().to_owned()).collect()
}

async fn edit(world: &World, id: &Value, body: Value) -> crate::world::Answer {
    let path = format!("/subscriptions/{}", id.as_str().unwrap());
    world.send(Method::PATCH, path, body).await
}

#[tokio::test]
async fn subscriptions_are_listed_by_whatever_is_given_page_by_page() {
    let world = World::with(&[ORDER, APPROVE]).await;
    ordered(&world, "o-1").await;
    ordered(&world, "o-2").await;
    let body = json!({"id": "a-1", "input": {"amount": 1}});
    world.post("/workflows/approve/instances?settle=10s", body).await.with(201);
    let paid = json!({"type": "payment.card", "payload": {"orderId": "o-2", "amount": 100}});
    world.post("/events", paid).await.with(202);
    for (query, expect) in [
        ("", vec!["o-1", "o-2", "a-1"]),
        ("?instance=o-1", vec!["o-1"]),
        ("?pattern=approval", vec!["a-1"]),
        ("?status=active", vec!["o-1", "a-1"]),
        ("?status=fulfilled&step=payment", vec!["o-2"]),
        ("?step=nothing", vec![]),
    ] {
        let listed = world.get(format!("/subscriptions{query}")).await.with(200);
        assert_eq!(ids(&listed), expect, "{query}");
    }
    let first = world.get("/subscriptions?limit=2").await.with(200);
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = world.get(format!("/subscriptions?limit=2&cursor={cursor}")).await.with(200);
    assert_eq!((ids(&rest), rest.get("nextCursor")), (vec!["a-1".to_owned()], None));
    for wrong in ["status=open", "limit=1001", "cursor=x", "instance=", "id=1"] {
        world.get(format!("/subscriptions?{wrong}")).await.refused(400, "VALIDATION_ERROR");
    }
}

#[tokio::test]
async fn a_subscription_has_every_field_and_tells_what_it_nearly_took() {
    let world = World::with(&[ORDER]).await;
    let wait = ordered(&world, "o-1").await["waits"][0]["id"].clone();
    let nearly =
        json!({"type": "payment.card", "id": "p-1", "payload": {"orderId": "o-1", "amount": 90}});
    world.post("/events", nearly).await.with(202);
    let of_one = world.get("/subscriptions?instance=o-1").await.with(200);
    let by_id = world.get(format!("/subscriptions/{}", wait.as_str().unwrap())).await.with(200);
    assert_eq!(of_one["subscriptions"][0], by_id);
    assert_eq!(world.get("/subscriptions").await.with(200)["subscriptions"][0], by_id);
    assert_eq!(world.get("/instances/o-1").await.with(200)["waits"][0], by_id);
    assert_eq!((&by_id["id"], &by_id["status"]), (&wait, &json!("active")));
    assert_eq!((&by_id["eventPattern"], &by_id["kind"]), (&json!("payment.*"), &json!("event")));
    assert_eq!(by_id["timeoutHandlerStepId"], "remind");
    assert!(by_id["filterCondition"].as_str().unwrap().starts_with("event.payload.orderId"));
    assert!(by_id["timeoutAt"].as_str().unwrap() > by_id["createdAt"].as_str().unwrap());
    assert_eq!(by_id["nearMisses"][0]["eventId"], "p-1");
    assert_eq!(by_id["nearMisses"][0]["clauses"][1]["holds"], false);
    let paid =
        json!({"type": "payment.card", "id": "p-2", "payload": {"orderId": "o-1", "amount": 100}});
    world.post("/events", paid).await.with(202);
    let by_id = world.get(format!("/subscriptions/{}", wait.as_str().unwrap())).await.with(200);
    assert_eq!(
        (&by_id["status"], &by_id["fulfilledByEventId"]),
        (&json!("fulfilled"), &json!("p-2"))
    );
    assert!(by_id["fulfilledAt"].is_string() && by_id["nearMisses"] == json!([]), "{by_id}");
    world.get("/subscriptions/sub_x").await.refused(404, "SUBSCRIPTION_NOT_FOUND");
}

#[tokio::test]
async fn an_edit_changes_what_is_given_and_null_is_not_absent() {
    let world = World::with(&[ORDER]).await;
    let wait = ordered(&world, "o-1").await["waits"][0]["id"].clone();
    let later = edit(&world, &wait, json!({"timeoutAt": "2099-01-01T00:00:00Z"})).await.with(200);
    assert_eq!(later["timeoutAt"], "2099-01-01T00:00:00.000Z");
    assert!(later["filterCondition"].is_string(), "{later}");
    let never = edit(&world, &wait, json!({"timeoutAt": null})).await.with(200);
    assert!(never.get("timeoutAt").is_none() && never["filterCondition"].is_string(), "{never}");
    let filter = "event.payload.amount > 1000";
    let other = json!({"filterCondition": filter, "timeoutAt": "2099-01-01T00:00:00Z"});
    let other = edit(&world, &wait, other).await.with(200);
    assert_eq!(other["filterCondition"], filter);
    assert!(other["timeoutAt"].is_string(), "{other}");
    let broken = json!({"timeoutAt": null, "filterCondition": "event.payload.("});
    edit(&world, &wait, broken).await.refused(400, "FILTER_INVALID");
    let shown = world.get("/subscriptions?instance=o-1").await.with(200);
    assert!(shown["subscriptions"][0]["timeoutAt"].is_string(), "both or none: {shown}");
    for wrong in [json!({}), json!({"timeoutAt": "soon"}), json!({"filter": "true"})] {
        edit(&world, &wait, wrong).await.refused(400, "VALIDATION_ERROR");
    }
    let any = edit(&world, &wait, json!({"filterCondition": null})).await.with(200);
    assert!(any.get("filterCondition").is_none(), "{any}");
    world.post("/events", json!({"type": "payment.cash"})).await.with(202);
    world.get("/instances/o-1/result?timeout=30s").await.with(200);
    edit(&world, &wait, json!({"timeoutAt": null})).await.refused(409, "INVALID_TRANSITION");
    edit(&world, &json!("sub_x"), json!({"timeoutAt": null}))
        .await
        .refused(404, "SUBSCRIPTION_NOT_FOUND");
}
