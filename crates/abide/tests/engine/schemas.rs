//! What a workflow declares about the events, signals and messages it takes.

use abide::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::world::{HOUR, failure, on_every_store};

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
struct Approval {
    approved: bool,
    #[serde(default = "nobody")]
    by: String,
}

fn nobody() -> String {
    "nobody".to_owned()
}

async fn approval(cx: Cx, (): ()) -> Result<Value> {
    Ok(cx.wait_for_event::<Value>("approval").await?.payload)
}

async fn signalled(cx: Cx, (): ()) -> Result<u32> {
    Ok(cx.wait_for_signal::<u32>("n").await?.payload)
}

async fn patient(cx: Cx, (): ()) -> Result<()> {
    cx.wait_for_event::<()>("never").await?;
    Ok(())
}

/// Waits for what its input says, and what that does not say is filled in.
fn regional() -> Workflow {
    let schema = json!({"type": "object", "properties": {"region": {"default": "eu"}}});
    let run = |cx: Cx, _: Value| async move {
        for (step, filter) in [
            ("by context", "event.payload === workflow.context.region"),
            ("by input", "event.payload === input.region"),
        ] {
            cx.wait_for_event::<Value>(step).on("region.ready").filter(filter).await?;
        }
        Ok::<_, Error>(())
    };
    Workflow::new("regional", run).input_schema(schema)
}

fn declared() -> Workflow {
    Workflow::new("approval", approval).event::<Approval>("approval", Buffer::Latest)
}

on_every_store! {
    async fn a_payload_that_breaks_the_schema_is_refused_with_its_place_and_nothing_is_stored(
        world: World
    ) {
        let engine = world.engine().register(declared()).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let before = handle.history().await.unwrap();
        let wrong = json!({"approved": "not-a-boolean"});
        let refused = handle.send_event("approval", &wrong).await.unwrap_err();
        assert_eq!(refused.code(), "EVENT_INVALID");
        assert!(refused.to_string().contains("/approved"), "{refused}");
        let missing = handle.send(Outgoing::event("approval")).await.unwrap_err();
        assert_eq!(missing.code(), "EVENT_INVALID");
        assert_eq!(handle.history().await.unwrap(), before);
        assert!(handle.buffer().await.unwrap().is_empty());
        assert_eq!(handle.status().await.unwrap(), Status::Waiting);
    }

    async fn an_invalid_payload_is_refused_although_it_would_only_be_buffered(world: World) {
        let engine = world.engine().register(declared()).start().await.unwrap();
        let start = Start::new(&()).start_at(world.now().after(HOUR));
        let handle = engine.start("approval", start).await.unwrap();
        let refused = handle.send_event("approval", &json!({"approved": 1})).await.unwrap_err();
        assert_eq!(refused.code(), "EVENT_INVALID");
        assert!(handle.buffer().await.unwrap().is_empty());
    }

    async fn defaults_are_filled_in_before_it_is_stored(world: World) {
        let engine = world.engine().register(declared()).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        handle.send_event("approval", &json!({"approved": true})).await.unwrap();
        let result: Value = handle.result().await.unwrap();
        assert_eq!(result, json!({"approved": true, "by": "nobody"}));
    }

    async fn defaults_of_the_input_are_seen_by_filters_however_it_was_started(world: World) {
        let engine = world.engine().register(regional()).start().await.unwrap();
        let mut trigger = Trigger::start("regional", "region.new");
        trigger.input_mapping = Some(json!({}));
        engine.put_trigger("new", trigger).await.unwrap();
        let direct = engine.start("regional", Start::new(&json!({}))).await.unwrap();
        let input: Value = direct.instance().await.unwrap().input.decode().unwrap();
        assert_eq!(input, json!({"region": "eu"}));
        let verdict = engine.publish(Event::new("region.new", ())).await.unwrap();
        let id = verdict.started[0].instance_id.as_str();
        let triggered = world.until_there(&engine, id, Status::Waiting).await;
        for handle in [&direct, &triggered] {
            world.until(handle, Status::Waiting).await;
        }
        for _ in 0..2 {
            engine.publish(Event::new("region.ready", "us")).await.unwrap();
            engine.publish(Event::new("region.ready", "eu")).await.unwrap();
        }
        for handle in [&direct, &triggered] {
            handle.result::<()>().await.unwrap();
        }
    }

    async fn a_json_schema_does_the_same_as_a_type(world: World) {
        let schema = json!({
            "type": "object",
            "required": ["approved"],
            "properties": { "approved": { "type": "boolean" }, "by": { "default": "x" } }
        });
        let workflow =
            Workflow::new("approval", approval).event_schema("approval", Buffer::Latest, schema);
        let engine = world.engine().register(workflow).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        assert!(handle.send_event("approval", &json!({})).await.is_err());
        handle.send_event("approval", &json!({"approved": true})).await.unwrap();
        assert_eq!(
            handle.result::<Value>().await.unwrap(),
            json!({"approved": true, "by": "x"})
        );
    }

    async fn a_signal_may_declare_its_payload_and_others_need_not(world: World) {
        let workflow = Workflow::new("signalled", signalled).signal::<u32>("n");
        let engine = world.engine().register(workflow).start().await.unwrap();
        let handle = engine.start("signalled", Start::new(&())).await.unwrap();
        assert_eq!(handle.signal("n", "one").await.unwrap_err().code(), "EVENT_INVALID");
        assert!(handle.signal("other", "anything").await.unwrap().buffered);
        handle.signal("n", &1).await.unwrap();
        assert_eq!(handle.result::<u32>().await.unwrap(), 1);
    }

    async fn a_schema_that_is_none_stops_the_engine_from_starting(world: World) {
        let schema = json!({"type": "nonsense"});
        let workflow =
            Workflow::new("approval", approval).event_schema("approval", Buffer::Latest, schema);
        let refused = world.engine().register(workflow).start().await.err().unwrap();
        assert_eq!(refused.code(), "VALIDATION_ERROR");
        assert!(refused.to_string().contains("approval"), "{refused}");
        let workflow = Workflow::new("patient", patient).wait_timeout("soon");
        let refused = world.engine().register(workflow).start().await.err().unwrap();
        assert!(refused.to_string().contains("wait timeout"), "{refused}");
    }

    async fn waits_that_do_not_say_how_long_last_as_long_as_the_workflow_says(world: World) {
        let workflow = Workflow::new("patient", patient).wait_timeout("2 minutes");
        let engine = world.engine().register(workflow).start().await.unwrap();
        let handle = engine.start("patient", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.clock.advance(HOUR);
        let failure = failure(&handle).await;
        assert_eq!(failure.code, "EVENT_TIMEOUT");
        assert!(failure.message.contains("120000 ms"), "{failure:?}");
    }
}
