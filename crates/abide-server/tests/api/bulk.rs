//! One action on many.

use serde_json::json;

use crate::instances::APPROVE;
use crate::world::World;

#[tokio::test]
async fn an_action_reaches_everybody_it_suits_and_a_dry_run_nobody() {
    let world = World::with(&[APPROVE]).await;
    for n in 0..120 {
        let body = json!({"id": format!("a-{n}"), "input": {"amount": n}});
        world.post("/workflows/approve/instances", body).await.with(201);
    }
    world.post("/instances/a-0/pause", json!({})).await.with(200);
    let bulk = |body| world.post("/instances/bulk", body);
    let filter = json!({"workflow": "approve", "idPrefix": "a-"});
    let dry = json!({"filter": filter, "action": "pause", "dryRun": true});
    assert_eq!(bulk(dry).await.with(200), json!({"count": 119}));
    let paused = bulk(json!({"filter": filter, "action": "pause"})).await.with(200);
    assert_eq!(paused, json!({"count": 119}));
    let resumed = bulk(json!({"filter": {"status": "paused"}, "action": "resume"})).await.with(200);
    assert_eq!(resumed, json!({"count": 120}));
    let body = json!({"filter": {}, "action": "terminate", "reason": "over"});
    assert_eq!(bulk(body).await.with(200), json!({"count": 120}));
    let shown = world.get("/instances/a-7").await.with(200);
    assert_eq!(shown["error"]["message"], "over");
}

#[tokio::test]
async fn what_is_not_clear_is_refused() {
    let world = World::with(&[]).await;
    for body in [
        json!({"action": "pause"}),
        json!({"filter": {}, "action": "explode"}),
        json!({"filter": {"limit": 1}, "action": "pause"}),
        json!({"filter": {"status": "done"}, "action": "pause"}),
        json!({"filter": {"colour": 1}, "action": "pause"}),
    ] {
        world.post("/instances/bulk", body).await.refused(400, "VALIDATION_ERROR");
    }
}
