//! Bad input is a typed error, and nothing is stored.

use abide::prelude::*;

use crate::world::{failure, on_every_store, story};

async fn forever(cx: Cx, (): ()) -> Result<u32> {
    Ok(cx.wait_for_event::<u32>("never").await?.payload)
}

/// Everything that is stored about an instance.
async fn stored(handle: &Handle) -> String {
    let (instance, history) = (handle.instance().await.unwrap(), handle.history().await.unwrap());
    let (waits, buffer) = (handle.waits().await.unwrap(), handle.buffer().await.unwrap());
    format!("{instance:?}\n{history:?}\n{waits:?}\n{buffer:?}")
}

/// Sends what must be refused with this code, and leave no trace.
async fn refused(handle: &Handle, outgoing: Outgoing, code: &str) -> Error {
    let before = stored(handle).await;
    let error = handle.send(outgoing).await.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(stored(handle).await, before);
    error
}

on_every_store! {
    async fn an_undeclared_type_is_refused_and_nothing_is_stored(world: World) {
        let workflow = Workflow::new("forever", forever).event::<serde_json::Value>("never", Buffer::Queue);
        let engine = world.engine().register(workflow).start().await.unwrap();
        let handle = engine.start("forever", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        refused(&handle, Outgoing::event("nver").payload(&1), "EVENT_INVALID").await;
        refused(&handle, Outgoing::event("a..b").payload(&1), "VALIDATION_ERROR").await;
        let later = Outgoing::event("nver").delay("1 hour");
        refused(&handle, later, "EVENT_INVALID").await;
    }

    async fn a_payload_over_its_limit_is_refused_and_nothing_is_stored(world: World) {
        let engine = world.engine().configure(|c| c.payload_max = 10).workflow("forever", forever);
        let engine = engine.start().await.unwrap();
        let handle = engine.start("forever", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let big = "123456789";
        for outgoing in [Outgoing::event("x"), Outgoing::signal("x"), Outgoing::message("x")] {
            let error = refused(&handle, outgoing.payload(big), "PAYLOAD_TOO_LARGE").await;
            assert!(matches!(error, Error::TooLarge { size: 11, limit: 10, .. }), "{error}");
        }
        handle.send_event("x", "12345678").await.unwrap();
    }

    async fn a_full_buffer_refuses_and_takes_again_when_there_is_room(world: World) {
        let flow = async |cx: Cx, (): ()| -> Result<()> {
            cx.wait_for_signal::<()>("go").await?;
            cx.wait_for_signal::<String>("load").await?;
            cx.wait_for_signal::<()>("never").await.map(|_| ())
        };
        let engine = world.engine().workflow("flow", flow).start().await.unwrap();
        let handle = engine.start("flow", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let mebibyte = "x".repeat(1024 * 1024 - 2);
        for _ in 0..16 {
            handle.signal("load", &mebibyte).await.unwrap();
        }
        let before = story(&handle).await;
        let error = handle.signal("load", "").await.unwrap_err();
        assert!(matches!(error, Error::BufferFull { entries: 16, .. }), "{error}");
        assert_eq!((story(&handle).await, handle.buffer().await.unwrap().len()), (before, 16));
        assert!(error.is_retryable());
        assert_eq!(handle.signal("go", &()).await.unwrap().delivered, 1, "a wait is met all the same");
        assert!(crate::world::eventually(async || handle.buffer().await.unwrap().len() == 15).await);
        assert!(handle.signal("load", "").await.unwrap().buffered);
        assert_eq!(handle.status().await.unwrap(), Status::Waiting, "the instance itself is well");
    }

    async fn an_unknown_and_a_finished_instance_are_refused_by_name(world: World) {
        let engine = world.engine().workflow("forever", forever).start().await.unwrap();
        let nobody = engine.get(&InstanceId::new("nobody").unwrap());
        let error = nobody.send_event("never", &1).await.unwrap_err();
        assert!(matches!(error, Error::InstanceNotFound { .. }), "{error}");
        assert_eq!(nobody.status().await.unwrap_err().code(), "WORKFLOW_NOT_FOUND", "nor is it created");

        let handle = engine.start("forever", Start::new(&())).await.unwrap();
        handle.terminate(Terminate::default()).await.unwrap();
        for outgoing in [Outgoing::event("never"), Outgoing::signal("x"), Outgoing::message("x")] {
            let error = refused(&handle, outgoing, "WORKFLOW_NOT_RUNNING").await;
            let Error::NotRunning { id, status } = error else { panic!("{error}") };
            assert_eq!((&id, status), (handle.id(), Status::Terminated));
        }
    }

    async fn checks_are_made_in_their_order(world: World) {
        let workflow = Workflow::new("forever", forever).event::<serde_json::Value>("never", Buffer::Queue);
        let engine = world.engine().register(workflow).start().await.unwrap();
        let nobody = engine.get(&InstanceId::new("nobody").unwrap());
        let undeclared = nobody.send_event("nver", &1).await.unwrap_err();
        assert_eq!(undeclared.code(), "WORKFLOW_NOT_FOUND", "existence comes before the declaration");
        let handle = engine.start("forever", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        refused(&handle, Outgoing::event("nver"), "EVENT_INVALID").await;
        handle.send(Outgoing::event("never").id("e").payload(&1)).await.unwrap();
        handle.ended().await.unwrap();
        refused(&handle, Outgoing::event("nver"), "WORKFLOW_NOT_RUNNING").await;
        let again = handle.send(Outgoing::event("never").id("e").payload(&1)).await.unwrap();
        assert_eq!(again.delivered, 1, "an id that was answered is answered again before all that");
    }

    async fn invalid_durations_are_typed_errors_and_nothing_is_stored(world: World) {
        let flow = async |cx: Cx, timeout: String| -> Result<u32> {
            Ok(cx.wait_for_event::<u32>("n").timeout(timeout).await?.payload)
        };
        let engine = world.engine().workflow("flow", flow).workflow("forever", forever);
        let engine = engine.start().await.unwrap();
        for nonsense in ["soon", "5", "-1", "-1s", ""] {
            let handle = engine.start("flow", Start::new(nonsense)).await.unwrap();
            let failed = failure(&handle).await;
            assert_eq!(failed.code, "VALIDATION_ERROR", "{nonsense:?}");
            assert!(failed.message.contains("wait timeout"), "{failed}");
            assert!(handle.waits().await.unwrap().is_empty(), "{nonsense:?}");
            assert_eq!(story(&handle).await, ["workflow.started", "workflow.failed"]);
        }
        let handle = engine.start("forever", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        for nonsense in ["soon", "5", "-1"] {
            let later = Outgoing::event("never").payload(&1).delay(nonsense);
            refused(&handle, later, "VALIDATION_ERROR").await;
        }
    }
}
