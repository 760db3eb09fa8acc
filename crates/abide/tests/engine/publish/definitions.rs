//! What events of a type look like.

use abide::prelude::*;
use abide::{DefinitionStatus, EventDefinition};
use serde_json::{Value, json};

use crate::world::on_every_store;

async fn paid(cx: Cx, (): ()) -> Result<Value> {
    Ok(cx.wait_for_event::<Value>("paid").await?.payload)
}

fn definition() -> EventDefinition {
    EventDefinition::of(json!({
        "type": "object",
        "properties": {"amount": {"type": "number"}, "currency": {"default": "EUR"}},
        "required": ["amount"]
    }))
}

on_every_store! {
    async fn a_payload_is_checked_and_defaults_are_filled_in(world: World) {
        let engine = world.engine().workflow("paid", paid).start().await.unwrap();
        engine.define_event("paid", definition()).await.unwrap();
        let handle = engine.start("paid", Start::new(&())).await.unwrap();
        let refused = engine.publish(Event::new("paid", json!({"amount": "7"}))).await.unwrap_err();
        assert_eq!(refused.code(), "EVENT_INVALID");
        assert!(refused.to_string().contains("/amount"), "{refused}");
        assert!(engine.events(LogFilter::default()).await.unwrap().is_empty());
        engine.publish(Event::new("paid", json!({"amount": 7}))).await.unwrap();
        let seen = handle.result::<Value>().await.unwrap();
        assert_eq!(seen, json!({"amount": 7, "currency": "EUR"}));
    }

    async fn a_change_makes_the_next_version_and_the_same_again_does_not(world: World) {
        let engine = world.engine().start().await.unwrap();
        assert_eq!(engine.define_event("a", definition()).await.unwrap().version, 1);
        assert_eq!(engine.define_event("a", definition()).await.unwrap().version, 1);
        let deprecated = EventDefinition { status: DefinitionStatus::Deprecated, ..definition() };
        assert_eq!(engine.define_event("a", deprecated).await.unwrap().version, 2);
        assert_eq!(engine.event_definitions().await.unwrap().len(), 1);
    }

    async fn a_draft_does_not_hold_yet_and_a_removed_one_no_longer(world: World) {
        let engine = world.engine().start().await.unwrap();
        let draft = EventDefinition { status: DefinitionStatus::Draft, ..definition() };
        engine.define_event("a", draft).await.unwrap();
        engine.publish(Event::new("a", 1)).await.unwrap();
        engine.define_event("a", definition()).await.unwrap();
        assert!(engine.publish(Event::new("a", 2)).await.is_err());
        engine.remove_event_definition("a").await.unwrap();
        engine.publish(Event::new("a", 3)).await.unwrap();
        let gone = engine.remove_event_definition("a").await.unwrap_err();
        assert_eq!(gone.code(), "DEFINITION_NOT_FOUND");
    }

    async fn definitions_hold_after_a_restart_of_the_engine(world: World) {
        let engine = world.engine().start().await.unwrap();
        engine.define_event("a", definition()).await.unwrap();
        engine.kill();
        let engine = world.engine().start().await.unwrap();
        assert!(engine.publish(Event::new("a", 1)).await.is_err());
    }

    async fn a_schema_or_an_example_that_is_wrong_is_refused(world: World) {
        let engine = world.engine().start().await.unwrap();
        let broken = EventDefinition::of(json!({"type": "nonsense"}));
        let refused = engine.define_event("a", broken).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_SCHEMA");
        let misfit = EventDefinition { examples: vec![json!({})], ..definition() };
        let refused = engine.define_event("a", misfit).await.unwrap_err();
        assert_eq!(refused.code(), "DEFINITION_INVALID");
    }
}
