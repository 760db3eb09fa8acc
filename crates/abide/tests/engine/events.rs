//! Events, signals, messages and outputs: early, late, twice, raced.

use abide::prelude::*;
use abide::{Kind, WaitStatus};
use abide_testkit::Fault;

use crate::world::{HOUR, SECOND, eventually, failure, on_every_store, story};

async fn approval(cx: Cx, (): ()) -> Result<bool> {
    let answer: Event<bool> = cx.wait_for_event("approval").timeout("1 hour").await?;
    Ok(answer.payload)
}

/// Sleeps first, so that an event can come before it waits.
async fn late_approval(cx: Cx, (): ()) -> Result<(String, bool)> {
    cx.sleep("nap", "1 minute").await?;
    let answer: Event<bool> = cx.wait_for_event("ask").on("approval").await?;
    Ok((answer.event_type, answer.payload))
}

async fn two_signals(cx: Cx, (): ()) -> Result<Vec<u32>> {
    let mut got = Vec::new();
    for _ in 0..2 {
        got.push(cx.wait_for_signal::<u32>("next").await?.payload);
    }
    Ok(got)
}

on_every_store! {
    async fn an_event_meets_an_open_wait(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let answer = handle.send_event("approval", &true).await.unwrap();
        assert_eq!((answer.delivered, answer.buffered), (1, false));
        assert!(handle.result::<bool>().await.unwrap());
        assert_eq!(
            story(&handle).await,
            [
                "workflow.started",
                "wait.started approval",
                "event.received approval",
                "wait.fulfilled approval",
                "workflow.completed"
            ]
        );
        let steps = handle.steps().await.unwrap();
        assert_eq!((steps.len(), steps[0].status), (1, abide::StepStatus::Completed));
        let wait = handle.waits().await.unwrap().remove(0);
        assert_eq!((wait.status, wait.fulfilled_by), (WaitStatus::Fulfilled, Some(answer.event_id)));
    }

    async fn an_early_event_is_kept_the_last_one_wins_and_the_wait_never_suspends(world: World) {
        let engine = world.engine().workflow("late", late_approval).start().await.unwrap();
        let handle = engine.start("late", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        for approved in [false, true] {
            let answer = handle.send_event("approval", &approved).await.unwrap();
            assert_eq!((answer.delivered, answer.buffered), (0, true));
        }
        assert_eq!(handle.buffer().await.unwrap().len(), 1, "the newer one took its place");
        let instance = world.run_to_end(&handle).await;
        assert_eq!(instance.status(), Status::Completed);
        assert_eq!(handle.result::<(String, bool)>().await.unwrap(), ("approval".into(), true));
        let steps = handle.steps().await.unwrap();
        let names: Vec<_> = steps.iter().map(|step| &*step.name).collect();
        assert_eq!(names, ["nap", "ask"], "what was sent is no step");
        assert!(handle.buffer().await.unwrap().is_empty());
        assert!(story(&handle).await.contains(&"event.superseded approval".to_owned()));
    }

    async fn sending_to_an_ended_or_unknown_instance_says_so(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let done = engine.start("approval", Start::new(&())).await.unwrap();
        done.send_event("approval", &true).await.unwrap();
        done.ended().await.unwrap();
        let refused = done.send_event("approval", &true).await.unwrap_err();
        assert_eq!(refused.code(), "WORKFLOW_NOT_RUNNING");
        assert!(refused.to_string().contains("completed"), "{refused}");
        let ignored = done.send(Outgoing::event("approval").ignore_terminal()).await.unwrap();
        assert_eq!((ignored.delivered, ignored.buffered), (0, false));

        let ended = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&ended, Status::Waiting).await;
        ended.terminate(Terminate::default()).await.unwrap();
        let refused = ended.send_event("approval", &true).await.unwrap_err();
        assert!(refused.to_string().contains("terminated"), "{refused}");
        assert_eq!(ended.status().await.unwrap(), Status::Terminated, "it is not revived");
        assert_eq!(ended.waits().await.unwrap()[0].status, WaitStatus::Cancelled);

        let nobody = engine.get(&InstanceId::new("nobody").unwrap());
        let refused = nobody.send_event("approval", &true).await.unwrap_err();
        assert_eq!(refused.code(), "WORKFLOW_NOT_FOUND");
    }

    async fn undeclared_events_are_refused_and_nothing_is_stored(world: World) {
        let workflow = Workflow::new("approval", approval).event::<bool>("approval", Buffer::Latest);
        let engine = world.engine().register(workflow).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        let refused = handle.send_event("aproval", &true).await.unwrap_err();
        assert_eq!(refused.code(), "EVENT_INVALID");
        assert!(refused.to_string().contains("declared: approval"), "{refused}");
        assert!(handle.buffer().await.unwrap().is_empty());
        handle.send_event("approval", &true).await.unwrap();
        assert!(handle.result::<bool>().await.unwrap());
    }

    async fn the_same_id_again_is_answered_as_the_first_time(world: World) {
        let engine = world.engine().workflow("two", two_signals).start().await.unwrap();
        let handle = engine.start("two", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let signal = || Outgoing::signal("next").payload(&1).id("once");
        let first = handle.send(signal()).await.unwrap();
        assert_eq!(handle.send(signal()).await.unwrap(), first);
        world.until(&handle, Status::Waiting).await;
        handle.signal("next", &2).await.unwrap();
        assert_eq!(handle.result::<Vec<u32>>().await.unwrap(), [1, 2]);
    }

    async fn a_wait_that_is_not_met_in_time_fails_and_may_be_handled(world: World) {
        let engine = world
            .engine()
            .workflow("approval", approval)
            .workflow("patient", async |cx: Cx, (): ()| -> Result<String> {
                let first = cx.wait_for_event::<bool>("approval").timeout("1 minute").await;
                let Err(Error::EventTimeout { event_type, timeout_ms, .. }) = first else {
                    return Ok("too early".into());
                };
                let second: Event<bool> = cx.wait_for_event("approval").await?;
                Ok(format!("{event_type} after {timeout_ms}, then {}", second.payload))
            })
            .start()
            .await
            .unwrap();
        let failing = engine.start("approval", Start::new(&())).await.unwrap();
        let patient = engine.start("patient", Start::new(&())).await.unwrap();
        world.until(&failing, Status::Waiting).await;
        world.until(&patient, Status::Waiting).await;
        world.settle().await;
        world.clock.advance(HOUR);
        let failed = failure(&failing).await;
        assert_eq!(failed.code, "EVENT_TIMEOUT");
        assert!(failed.message.contains("Event timeout"), "{failed}");
        assert!(eventually(async || patient.waits().await.unwrap().len() == 2).await);
        patient.send_event("approval", &true).await.unwrap();
        let told: String = patient.result().await.unwrap();
        assert_eq!(told, "approval after 60000, then true");
    }

    async fn what_came_after_the_deadline_loses_even_if_nobody_looked(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        // The engine is gone, so nobody looks at the clock; the store decides all the same.
        engine.kill();
        world.clock.advance(HOUR + SECOND);
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let answer = engine.get(handle.id()).send_event("approval", &true).await;
        assert!(!matches!(&answer, Ok(answer) if answer.delivered > 0), "{answer:?}");
        assert_eq!(failure(&engine.get(handle.id())).await.code, "EVENT_TIMEOUT");
    }

    async fn one_event_serves_two_waits_of_the_instance(world: World) {
        let engine = world
            .engine()
            .workflow("both", async |cx: Cx, (): ()| -> Result<u32> {
                let (a, b) = tokio::join!(
                    cx.wait_for_event::<u32>("a").on("tick"),
                    cx.wait_for_event::<u32>("b").on("tick"),
                );
                Ok(a?.payload + b?.payload)
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("both", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        assert_eq!(handle.send_event("tick", &4).await.unwrap().delivered, 2);
        assert_eq!(handle.result::<u32>().await.unwrap(), 8);
    }

    async fn the_loser_of_a_race_does_not_steal_the_next_event(world: World) {
        let engine = world
            .engine()
            .workflow("race", async |cx: Cx, (): ()| -> Result<(String, u32)> {
                let winner = tokio::select! {
                    event = cx.wait_for_event::<u32>("yes") => event?.event_type,
                    event = cx.wait_for_event::<u32>("no") => event?.event_type,
                };
                let next: Event<u32> = cx.wait_for_event("then").on("no").await?;
                Ok((winner, next.payload))
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("race", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        handle.send_event("yes", &1).await.unwrap();
        handle.send_event("no", &2).await.unwrap();
        let (winner, next): (String, u32) = handle.result().await.unwrap();
        assert_eq!((winner.as_str(), next), ("yes", 2));
        let cancelled = |wait: &&abide::Wait| wait.status == WaitStatus::Cancelled;
        assert_eq!(handle.waits().await.unwrap().iter().filter(cancelled).count(), 1);
    }

    async fn signals_and_queued_events_keep_their_order_over_a_crash(world: World) {
        async fn twelve(cx: Cx, (): ()) -> Result<Vec<u32>> {
            cx.sleep("nap", "1 hour").await?;
            let mut got = Vec::new();
            for n in 0..12 {
                let step = if n % 2 == 0 { "event" } else { "other" };
                got.push(cx.wait_for_event::<u32>(step).on("item").await?.payload);
            }
            Ok(got)
        }
        let build = || {
            let workflow = Workflow::new("twelve", twelve).event::<u32>("item", Buffer::Queue);
            world.engine().register(workflow).start()
        };
        let engine = build().await.unwrap();
        let handle = engine.start("twelve", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        for n in 0..12 {
            handle.send_event("item", &n).await.unwrap();
        }
        engine.kill();
        let engine = build().await.unwrap();
        world.clock.advance(HOUR);
        let got: Vec<u32> = engine.get(handle.id()).result().await.unwrap();
        assert_eq!(got, (0..12).collect::<Vec<_>>());
    }

    async fn an_evicted_instance_wakes_for_its_event(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.evict(&engine).await;
        assert_eq!(engine.resident(), 0);
        handle.send_event("approval", &true).await.unwrap();
        assert!(handle.result::<bool>().await.unwrap());
    }

    async fn a_paused_instance_takes_its_event_and_moves_on_when_resumed(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        handle.pause().await.unwrap();
        assert_eq!(handle.send_event("approval", &true).await.unwrap().delivered, 1);
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Paused);
        handle.resume().await.unwrap();
        assert!(handle.result::<bool>().await.unwrap());
    }

    async fn a_deadline_that_passes_during_a_pause_is_seen_on_resume(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        handle.pause().await.unwrap();
        world.settle().await;
        world.clock.advance(HOUR);
        let expired = async || handle.waits().await.unwrap()[0].status == WaitStatus::Expired;
        assert!(eventually(expired).await, "{:?}", handle.waits().await.unwrap());
        handle.resume().await.unwrap();
        assert_eq!(failure(&handle).await.code, "EVENT_TIMEOUT");
    }

    async fn a_restart_during_a_wait_registers_it_anew(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.clock.advance(HOUR / 2);
        handle.restart().await.unwrap();
        let deadline = world.now().after(HOUR);
        let anew = async || {
            let waits = handle.waits().await.unwrap();
            waits.len() == 1 && waits[0].run == 2 && waits[0].timeout_at == Some(deadline)
        };
        assert!(eventually(anew).await, "{:?}", handle.waits().await.unwrap());
        handle.send_event("approval", &true).await.unwrap();
        assert!(handle.result::<bool>().await.unwrap());
    }

    async fn a_delayed_event_is_not_seen_before_its_time(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let delayed = Outgoing::event("approval").payload(&true).delay("1 minute");
        assert!(handle.send(delayed).await.unwrap().buffered);
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Waiting);
        assert_eq!(handle.buffer().await.unwrap()[0].kind, Kind::Event);
        world.clock.advance(60 * SECOND);
        assert!(handle.result::<bool>().await.unwrap());
    }

    async fn a_message_is_sent_once_and_knows_its_sender(world: World) {
        let engine = world
            .engine()
            .workflow("pong", async |cx: Cx, (): ()| -> Result<String> {
                let ping: Event<String> = cx.receive("ping").await?;
                Ok(format!("{} from {}", ping.payload, ping.source.unwrap_or_default()))
            })
            .workflow("ping", async |cx: Cx, to: InstanceId| -> Result<u32> {
                Ok(cx.send(&to, "ping", "hello").await?.delivered)
            })
            .start()
            .await
            .unwrap();
        let pong = engine.start("pong", Start::new(&()).id("pong")).await.unwrap();
        world.until(&pong, Status::Waiting).await;
        let ping = engine.start("ping", Start::new(pong.id()).id("ping")).await.unwrap();
        assert_eq!(ping.result::<u32>().await.unwrap(), 1);
        assert_eq!(pong.result::<String>().await.unwrap(), "hello from ping");
    }

    async fn a_look_finds_what_is_there_or_nothing(world: World) {
        let engine = world
            .engine()
            .workflow("look", async |cx: Cx, (): ()| -> Result<(Option<u32>, Option<u32>)> {
                cx.sleep("nap", "1 minute").await?;
                let first = cx.try_signal::<u32>("look").on("maybe").await?;
                let second = cx.try_signal::<u32>("look").on("maybe").await?;
                Ok((first.map(|event| event.payload), second.map(|event| event.payload)))
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("look", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        handle.signal("maybe", &5).await.unwrap();
        world.run_to_end(&handle).await;
        let found: (Option<u32>, Option<u32>) = handle.result().await.unwrap();
        assert_eq!(found, (Some(5), None));
    }

    async fn outputs_are_read_and_awaited_from_outside_and_by_others(world: World) {
        let engine = world
            .engine()
            .workflow("worker", async |cx: Cx, (): ()| -> Result<()> {
                cx.set_output("progress", 1)?;
                cx.sleep("work", "1 minute").await?;
                cx.set_output("progress", 2)?;
                cx.set_output("answer", "done")?;
                cx.wait_for_signal::<()>("stop").await.map(|_| ())
            })
            .workflow("reader", async |cx: Cx, of: InstanceId| -> Result<String> {
                cx.output_of(&of, "answer").await
            })
            .start()
            .await
            .unwrap();
        let worker = engine.start("worker", Start::new(&()).id("worker")).await.unwrap();
        let reader = engine.start("reader", Start::new(worker.id())).await.unwrap();
        world.until(&reader, Status::Waiting).await;
        world.until(&worker, Status::Sleeping).await;
        assert_eq!(worker.output::<u32>("progress").await.unwrap(), Some(1));
        assert_eq!(worker.output::<u32>("nothing").await.unwrap(), None);
        world.settle().await;
        world.clock.advance(60 * SECOND);
        assert_eq!(worker.wait_for_output::<String>("answer").await.unwrap(), "done");
        assert_eq!(reader.result::<String>().await.unwrap(), "done");
        assert_eq!(worker.output::<u32>("progress").await.unwrap(), Some(2));
    }

    async fn an_approval_survives_a_crash_at_any_write(world: World) {
        async fn flow(cx: Cx, (): ()) -> Result<String> {
            let early: Event<u32> = cx.wait_for_event("early").await?;
            let step = cx.step("work", || async { Ok::<_, Error>(early.payload + 1) }).await?;
            let signal = cx.wait_for_signal::<u32>("go").timeout("1 hour").await?;
            cx.set_output("sum", step + signal.payload)?;
            Ok(format!("{step} {}", signal.payload))
        }
        for write in 1..12 {
            for fault in [Fault::CrashBefore, Fault::CrashAfter] {
                let faults = world.faults().at(write, fault);
                let id = format!("{write}-{fault:?}");
                let drive = async |engine: &Engine| -> Result<String> {
                    let start = || Start::new(&()).id(&id).if_exists(IfExists::Return);
                    let handle = engine.start("flow", start()).await?;
                    let event = Outgoing::event("early").payload(&1).id("early").ignore_terminal();
                    handle.send(event).await?;
                    let signal = Outgoing::signal("go").payload(&5).id("go").ignore_terminal();
                    handle.send(signal).await?;
                    handle.result().await
                };
                let engine = world.engine_with(&faults).workflow("flow", flow).start().await.unwrap();
                tokio::select! {
                    done = drive(&engine) => assert_eq!(done.unwrap(), "2 5", "{id}"),
                    () = faults.crashed() => {}
                }
                engine.kill();
                let engine = world.engine().workflow("flow", flow).start().await.unwrap();
                assert_eq!(drive(&engine).await.unwrap(), "2 5", "{id}");
                let handle = engine.get(&InstanceId::new(&id).unwrap());
                assert_eq!(handle.output::<u32>("sum").await.unwrap(), Some(7), "{id}");
                engine.kill();
            }
        }
    }

    async fn settled_is_when_the_workflow_has_dealt_with_the_event(world: World) {
        let engine = world.engine().workflow("two", two_signals).start().await.unwrap();
        let handle = engine.start("two", Start::new(&())).await.unwrap();
        assert_eq!(handle.settled().await.unwrap(), Status::Waiting);
        for evicted in [false, true] {
            if evicted {
                world.evict(&engine).await;
            }
            handle.signal("next", &1).await.unwrap();
            let settled = handle.settled().await.unwrap();
            let waits = handle.waits().await.unwrap().len();
            let expected = if evicted { (Status::Completed, 2) } else { (Status::Waiting, 2) };
            assert_eq!((settled, waits), expected);
        }
        let nobody = engine.get(&InstanceId::new("nobody").unwrap());
        assert_eq!(nobody.settled().await.unwrap_err().code(), "WORKFLOW_NOT_FOUND");
    }

    async fn waiting_for_an_output_ends_when_the_instance_ends_without(world: World) {
        let engine = world.engine().workflow("approval", approval).start().await.unwrap();
        let handle = engine.start("approval", Start::new(&())).await.unwrap();
        let (waited, _) = tokio::join!(
            handle.wait_for_output::<u32>("never"),
            handle.send_event("approval", &true)
        );
        assert_eq!(waited.unwrap_err().code(), "WORKFLOW_NOT_RUNNING");
    }

    async fn a_nudge_has_what_was_sent_quietly_looked_at_now_or_later(world: World) {
        let engine = world.engine().workflow("two", two_signals).start().await.unwrap();
        let handle = engine.start("two", Start::new(&())).await.unwrap();
        for (n, evicted) in [(1, false), (2, true)] {
            world.until(&handle, Status::Waiting).await;
            if evicted {
                world.evict(&engine).await;
            }
            let quiet = Outgoing::signal("next").payload(&n).without_waking();
            assert!(handle.send(quiet).await.unwrap().buffered);
            world.settle().await;
            assert_eq!(handle.status().await.unwrap(), Status::Waiting, "nobody was woken");
            handle.wake(if evicted { 1000 } else { 0 }).await.unwrap();
            world.clock.advance(SECOND);
        }
        assert_eq!(handle.result::<Vec<u32>>().await.unwrap(), [1, 2]);
        assert_eq!(handle.wake(0).await.unwrap_err().code(), "INVALID_TRANSITION");
        assert_eq!(handle.wake("soon").await.unwrap_err().code(), "VALIDATION_ERROR");
    }
}
