//! Steps: recorded once, retried as asked, replayed without running again.

use abide::prelude::*;

use crate::world::{on_every_store, story};

on_every_store! {
    async fn a_workflow_of_steps_completes_with_its_result(world: World) {
        let engine = world
            .engine()
            .workflow("sum", async |cx: Cx, input: (i32, i32)| -> Result<i32> {
                let a = cx.step("a", || async { Ok::<_, Error>(input.0) }).await?;
                let b = cx.step("b", || async { Ok::<_, Error>(a + input.1) }).await?;
                Ok(b)
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("sum", Start::new(&(1, 2))).await.unwrap();
        assert_eq!(handle.result::<i32>().await.unwrap(), 3);
        assert_eq!(
            story(&handle).await,
            [
                "workflow.started",
                "step.started a",
                "step.completed a",
                "step.started b",
                "step.completed b",
                "workflow.completed"
            ]
        );
    }
}
