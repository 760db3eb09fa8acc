//! Recorded values: taken once, the same in every replay.

use abide::prelude::*;
use serde_json::{Value, json};

use crate::world::{HOUR, eventually, on_every_store, story};

on_every_store! {
    async fn time_chance_and_context_survive_replay(world: World) {
        let flow = async |cx: Cx, _: Value| -> Result<Value> {
            let values = json!([cx.now(), cx.random(), cx.uuid().to_string(), cx.now(), cx.random()]);
            cx.context().set("total", 42)?;
            let seen = cx.step("seen", || async { Ok::<_, Error>(values.clone()) }).await?;
            cx.sleep("rest", "1 hour").await?;
            assert_eq!(seen, values, "replay saw other values");
            let later = cx.now();
            assert!(later > serde_json::from_value(values[0].clone()).unwrap());
            cx.sleep("again", "1 hour").await?;
            Ok(json!([values, later, cx.context().get::<u32>("total")?, cx.context().get::<String>("who")?]))
        };
        let build = || world.engine().workflow("w", flow).start();
        let engine = build().await.unwrap();
        let handle = engine.start("w", Start::new(&json!({"who": "me"})).id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        world.evict(&engine).await;
        world.clock.advance(HOUR);
        let again = async || story(&handle).await.contains(&"sleep.started again".to_owned());
        assert!(eventually(again).await);
        engine.kill();
        let engine = build().await.unwrap();
        world.settle().await;
        world.clock.advance(HOUR);
        let handle = engine.get(handle.id());
        let result: Value = handle.result().await.unwrap();
        assert_eq!((&result[2], &result[3]), (&json!(42), &json!("me")));
        let names: Vec<_> = handle.steps().await.unwrap().iter().map(|s| s.name.to_string()).collect();
        assert_eq!(names, ["now", "random", "uuid", "now#2", "random#2", "seen", "rest", "now#3", "again"]);
    }

    async fn the_context_starts_as_the_input_and_shows_outside(world: World) {
        let engine = world
            .engine()
            .workflow("w", async |cx: Cx, _: Value| -> Result<()> {
                cx.context().set("status", "packed")?;
                cx.sleep("rest", "1 hour").await
            })
            .workflow("plain", async |cx: Cx, _: u32| -> Result<Option<u32>> {
                cx.context().get("k")
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&json!({"order": 7}))).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        let context: Value = handle.instance().await.unwrap().context.unwrap().decode().unwrap();
        assert_eq!(context, json!({"order": 7, "status": "packed"}));
        let plain = engine.start("plain", Start::new(&1)).await.unwrap();
        assert_eq!(plain.result::<Option<u32>>().await.unwrap(), None);
    }

    async fn values_are_part_of_the_first_commit(world: World) {
        let faults = world.faults();
        let engine = world
            .engine_with(&faults)
            .workflow("w", async |cx: Cx, (): ()| -> Result<u64> { Ok(cx.random() ^ cx.random()) })
            .start()
            .await
            .unwrap();
        engine.start("w", Start::new(&())).await.unwrap().result::<u64>().await.unwrap();
        assert_eq!(faults.writes(), 1);
    }
}
