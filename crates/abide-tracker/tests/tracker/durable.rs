//! Durable sinks: nothing is lost, over outages and restarts.

use std::time::Duration;

use abide_tracker::{Tracker, TrackerConfig};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use crate::sink::Does;
use crate::world::{World, eventually, in_time, run_steps, short, steps, text};

fn durable(world: &World) -> Tracker {
    Tracker::new(TrackerConfig { durable: true, ..world.config() }).unwrap()
}

async fn lag(tracker: &Tracker) -> i64 {
    tracker.status().await.unwrap().lag.unwrap()
}

#[tokio::test]
async fn nothing_is_lost_however_long_a_sink_is_away() {
    in_time(async {
        for mut world in [World::memory().await, World::sqlite().await] {
            world.server.stop().await;
            let tracker = durable(&world);
            let engine = world.engine(steps(), &tracker).await;
            run_steps(&engine, 749).await;
            let refused = async || tracker.status().await.unwrap().last_error.is_some();
            assert!(eventually(refused).await);
            for delay in [100, 200, 400, 800, 1600] {
                world.pass(Duration::from_millis(delay)).await;
            }
            assert!(lag(&tracker).await >= 750);
            world.server.start_again().await;
            let sent = async || {
                world.clock.advance(Duration::from_millis(1));
                tracker.sent() == 1500
            };
            assert!(eventually(sent).await);
            assert_eq!((tracker.dropped(), lag(&tracker).await), (0, 0));
            assert_eq!(world.server.sizes(), vec![50; 30]);
            assert_eq!(text(&world.server.events()[0], "type"), "workflow.started");
        }
    })
    .await;
}

#[tokio::test]
async fn a_restart_goes_on_where_the_sink_was() {
    in_time(async {
        for world in [World::memory().await, World::sqlite().await] {
            let tracker = durable(&world);
            let engine = world.engine(steps(), &tracker).await;
            run_steps(&engine, 1).await;
            assert!(eventually(async || tracker.sent() == 4).await);
            world.server.does(Does::Hangs);
            run_steps(&engine, 2).await;
            world.server.came(2).await;
            // As a crash would.
            engine.kill();
            drop(engine);

            // Nobody is told of this one while it happens.
            let engine = world.builder().register(steps()).start().await.unwrap();
            run_steps(&engine, 3).await;
            engine.kill();
            drop(engine);

            world.server.does(Does::Answers(200));
            let tracker = durable(&world);
            let engine = world.engine(steps(), &tracker).await;
            assert!(eventually(async || tracker.sent() == 14).await);
            engine.shutdown().await;
            let requests = world.server.requests();
            let sizes: Vec<_> = requests.iter().map(|request| request.events.len()).collect();
            assert_eq!(sizes, [4, 6, 14]);
            assert_eq!(requests[1].events, requests[2].events[..6], "again, with the same ids");

            let tracker = durable(&world);
            let engine = world.engine(steps(), &tracker).await;
            engine.shutdown().await;
            assert_eq!(tracker.sent(), 0, "everything was taken");
        }
    })
    .await;
}

#[tokio::test]
async fn a_sink_can_be_paused_over_restarts_and_resumed() {
    in_time(async {
        let world = World::sqlite().await;
        let tracker = durable(&world);
        let engine = world.engine(steps(), &tracker).await;
        tracker.pause().await.unwrap();
        run_steps(&engine, 1).await;
        tracker.flush().await;
        engine.shutdown().await;

        let tracker = durable(&world);
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 1).await;
        tracker.flush().await;
        let status = tracker.status().await.unwrap();
        assert!(status.paused && status.lag.unwrap() >= 4, "{status:?}");
        assert_eq!(world.server.sizes(), [0; 0]);
        tracker.resume().await.unwrap();
        assert!(eventually(async || tracker.sent() == 8).await);
        assert_eq!(lag(&tracker).await, 0);
        engine.shutdown().await;
    })
    .await;
}

#[tokio::test]
async fn everything_from_a_row_on_is_told_again_when_asked_for() {
    in_time(async {
        let world = World::sqlite().await;
        let tracker = durable(&world);
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 1).await;
        run_steps(&engine, 1).await;
        assert!(eventually(async || tracker.sent() == 8).await);
        let first = world.server.events();
        tracker.replay(0).await.unwrap();
        assert!(eventually(async || tracker.sent() == 16).await);
        assert_eq!(world.server.events()[8..], first);

        let rows = world.store.tail(0, 100).await.unwrap().rows;
        tracker.replay(rows.last().unwrap().row).await.unwrap();
        assert!(eventually(async || tracker.sent() == 18).await);
        let told = ["step.completed step", "workflow.completed"];
        assert_eq!(short(&world.server.events()[16..]), told);
        assert_eq!(world.server.events()[16..], first[6..], "with what came before it in mind");
    })
    .await;
}

#[tokio::test]
async fn only_a_durable_sink_can_be_paused_or_replayed() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let _engine = world.engine(steps(), &tracker).await;
        for refused in [tracker.pause().await, tracker.resume().await, tracker.replay(1).await] {
            assert!(refused.unwrap_err().to_string().contains("not durable"));
        }
        assert_eq!(durable(&world).pause().await.unwrap_err().code(), "STORE_UNAVAILABLE");
    })
    .await;
}

#[tokio::test]
async fn batches_are_signed_and_a_batch_sent_again_is_the_same_message() {
    in_time(async {
        let world = World::memory().await;
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let config = TrackerConfig { signing_secret: Some(secret.into()), ..world.config() };
        let tracker = Tracker::new(config).unwrap();
        world.server.does(Does::Answers(503));
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 1).await;
        world.server.came(1).await;
        world.server.does(Does::Answers(200));
        world.pass(Duration::from_millis(100)).await;
        let requests = world.server.came(2).await;
        let key = STANDARD.decode(&secret[6..]).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        for request in &requests {
            let header = |name| request.header(name).unwrap();
            let (id, seconds) = (header("webhook-id"), header("webhook-timestamp"));
            assert_eq!(seconds, "1700000000");
            let signed = format!("{id}.{seconds}.{}", request.body);
            let signature = header("webhook-signature").strip_prefix("v1,").unwrap();
            let signature = STANDARD.decode(signature).unwrap();
            hmac::verify(&key, signed.as_bytes(), &signature).unwrap();
        }
        assert_eq!(requests[0].header("webhook-id"), requests[1].header("webhook-id"));
    })
    .await;
}
