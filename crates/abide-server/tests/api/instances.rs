//! Starting, finding and awaiting instances.

use serde_json::json;

use crate::world::World;

pub(crate) const GREET: &str = "
name: greet
steps:
  - {id: compose, set: {greeting: 'hello ${input.name}'}}
output: ${workflow.context.greeting}
";

pub(crate) const APPROVE: &str = "
name: approve
input: {type: object, required: [amount]}
steps:
  - id: decision
    waitForEvent: {eventPattern: approval, timeout: 1 hour}
output: ${steps.decision.output.payload}
";

#[tokio::test]
async fn an_instance_is_started_and_its_result_awaited() {
    let world = World::with(&[GREET]).await;
    let body = json!({"id": "g-1", "input": {"name": "Ada"}, "tags": ["t"], "correlationId": "c"});
    let started = world.post("/workflows/greet/instances", body).await.with(201);
    assert_eq!((&started["id"], &started["workflow"]), (&json!("g-1"), &json!("greet")));
    assert_eq!((&started["version"], &started["run"]), (&json!(1), &json!(1)));
    assert_eq!(started["input"], json!({"name": "Ada"}));
    let result = world.get("/instances/g-1/result?timeout=30s").await.with(200);
    assert_eq!(result, json!({"status": "completed", "output": "hello Ada"}));
    let shown = world.get("/instances/g-1").await.with(200);
    assert_eq!(shown["steps"][0]["name"], "compose");
    assert_eq!(shown["steps"][0]["status"], "completed");
    assert!(shown["createdAt"].as_str().unwrap().ends_with('Z'), "{shown}");
    assert_eq!((&shown["tags"], &shown["correlationId"]), (&json!(["t"]), &json!("c")));
}

#[tokio::test]
async fn an_instance_that_waits_shows_its_wait_and_has_no_result_yet() {
    let world = World::with(&[APPROVE]).await;
    let body = json!({"input": {"amount": 5}});
    let started = world.post("/workflows/approve/instances?settle=10s", body).await.with(201);
    assert_eq!(started["status"], "waiting");
    let wait = &started["waits"][0];
    assert_eq!((&wait["eventPattern"], &wait["status"]), (&json!("approval"), &json!("active")));
    assert_eq!(wait["waitStepId"], "decision");
    assert_eq!(wait["nearMisses"], json!([]), "also in the answer to a start");
    assert_eq!(wait["workflowInstanceId"], started["id"]);
    let id = started["id"].as_str().unwrap();
    assert!(id.starts_with("wf_"), "{id}");
    let result = world.get(&format!("/instances/{id}/result")).await.with(202);
    assert_eq!(result, json!({"status": "waiting"}));
}

#[tokio::test]
async fn whatever_is_optional_in_a_start_may_be_null() {
    let world = World::with(&[GREET]).await;
    let body = json!({"id": null, "input": {"name": "Ada"}, "ifExists": null, "startAt": null,
        "correlationId": null, "tags": null, "timeout": null});
    let started = world.post("/workflows/greet/instances", body).await.with(201);
    assert_eq!(started["tags"], json!([]));
}

#[tokio::test]
async fn what_can_not_be_started_is_refused_and_says_why() {
    let world = World::with(&[GREET, APPROVE]).await;
    let start = |name: &str, body| world.post(format!("/workflows/{name}/instances"), body);
    let message = start("greed", json!({})).await.refused(400, "WORKFLOW_TYPE_UNKNOWN");
    assert!(message.contains("approve, greet"), "{message}");
    start("approve", json!({"input": {}})).await.refused(400, "VALIDATION_ERROR");
    start("greet", json!({"inptu": 1})).await.refused(400, "VALIDATION_ERROR");
    start("greet", json!({"id": ""})).await.refused(400, "VALIDATION_ERROR");
    start("greet", json!({"timeout": "soon"})).await.refused(400, "VALIDATION_ERROR");
    start("greet", json!({"id": "twice", "input": {"name": "a"}})).await.with(201);
    start("greet", json!({"id": "twice"})).await.refused(409, "WORKFLOW_ALREADY_EXISTS");
    let again = start("greet", json!({"id": "twice", "ifExists": "return"})).await.with(201);
    assert_eq!(again["input"], json!({"name": "a"}));
    world.get("/instances/nobody").await.refused(404, "WORKFLOW_NOT_FOUND");
    world.get("/instances/nobody/result").await.refused(404, "WORKFLOW_NOT_FOUND");
}

#[tokio::test]
async fn a_batch_starts_all_or_none() {
    let world = World::with(&[GREET]).await;
    let batch = |ids: &[&str]| {
        let instances: Vec<_> =
            ids.iter().map(|id| json!({"id": id, "input": {"name": id}})).collect();
        world.post("/workflows/greet/instances/batch", json!({"instances": instances}))
    };
    let started = batch(&["a", "b"]).await.with(201);
    assert_eq!(started["instances"].as_array().unwrap().len(), 2);
    batch(&["c", "a"]).await.refused(409, "WORKFLOW_ALREADY_EXISTS");
    world.get("/instances/c").await.refused(404, "WORKFLOW_NOT_FOUND");
    let many: Vec<String> = (0..101).map(|n| format!("m{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    batch(&many).await.refused(400, "VALIDATION_ERROR");
}

#[tokio::test]
async fn a_list_is_paged_newest_first_and_filtered() {
    let world = World::with(&[GREET, APPROVE]).await;
    for n in 0..5 {
        let body =
            json!({"id": format!("g-{n}"), "input": {"name": n}, "tags": [format!("t{}", n % 2)]});
        world.post("/workflows/greet/instances?settle=10s", body).await.with(201);
    }
    let body = json!({"id": "a-0", "input": {"amount": 1}});
    world.post("/workflows/approve/instances?settle=10s", body).await.with(201);
    let ids = |listed: serde_json::Value| -> Vec<String> {
        let listed = listed["instances"].as_array().unwrap().clone();
        listed.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = world.get("/instances?limit=4").await.with(200);
    let cursor = first["nextCursor"].as_str().unwrap().to_owned();
    assert_eq!(ids(first), ["a-0", "g-4", "g-3", "g-2"]);
    let rest = world.get(&format!("/instances?limit=4&cursor={cursor}")).await.with(200);
    assert!(rest.get("nextCursor").is_none(), "{rest}");
    assert_eq!(ids(rest), ["g-1", "g-0"]);
    for (query, expect) in [
        ("workflow=approve", vec!["a-0"]),
        ("status=waiting", vec!["a-0"]),
        ("status=success&tag=t1", vec!["g-3", "g-1"]),
        ("idPrefix=g-&limit=1", vec!["g-4"]),
        ("q=amount", vec!["a-0"]),
        ("createdBefore=2020-01-01T00:00:00Z", vec![]),
        ("parent=nobody", vec![]),
    ] {
        let listed = world.get(&format!("/instances?{query}")).await.with(200);
        assert_eq!(ids(listed), expect, "{query}");
    }
    for wrong in ["limit=0", "limit=x", "cursor=%20", "status=done", "sort=up", "createdAfter=now"]
    {
        world.get(&format!("/instances?{wrong}")).await.refused(400, "VALIDATION_ERROR");
    }
}
