//! Sinks that are slow, broken or away, and what that does to workflows: nothing.

use std::time::Duration;

use abide_tracker::{Tracker, TrackerConfig};

use crate::sink::Does;
use crate::world::{World, eventually, in_time, run_steps, short, steps, text};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Until its batch was refused, and it waits to send it again.
async fn refused(tracker: &Tracker) -> bool {
    eventually(async || tracker.status().await.unwrap().last_error.is_some()).await
}

#[tokio::test]
async fn a_batch_that_is_always_refused_is_sent_four_times_and_the_next_one_still_goes() {
    in_time(async {
        let world = World::memory().await;
        world.server.does(Does::Answers(500));
        let tracker = world.tracker();
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 1).await;
        for (times, delay) in [(1, 100), (2, 200), (3, 400)] {
            world.server.came(times).await;
            world.pass(ms(delay)).await;
        }
        let requests = world.server.came(4).await;
        let waited: Vec<_> = requests.windows(2).map(|two| two[1].at.since(two[0].at)).collect();
        assert_eq!(waited, [ms(100), ms(200), ms(400)]);
        assert!(requests.iter().all(|request| request.body == requests[0].body));
        assert!(eventually(async || tracker.dropped() == 4).await);

        world.server.does(Does::Answers(204));
        run_steps(&engine, 2).await;
        assert!(eventually(async || tracker.sent() == 6).await);
        assert_eq!(world.server.sizes(), [4, 4, 4, 4, 6]);
        assert_eq!(tracker.status().await.unwrap().last_error, None);
    })
    .await;
}

#[tokio::test]
async fn a_batch_that_is_taken_in_the_end_is_taken_once_and_the_rest_follows_in_order() {
    in_time(async {
        let world = World::memory().await;
        world.server.does(Does::Closes);
        let tracker = world.tracker();
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 30).await;
        assert!(refused(&tracker).await);
        world.server.does(Does::Answers(301));
        world.pass(ms(100)).await;
        world.server.came(2).await;
        world.server.does(Does::Answers(200));
        world.pass(ms(200)).await;
        assert!(eventually(async || tracker.sent() == 62).await);
        assert_eq!(world.server.sizes(), [50, 50, 50, 12]);
        let taken: Vec<_> = world.server.requests()[2..].to_vec();
        let events: Vec<_> = taken.into_iter().flat_map(|request| request.events).collect();
        assert_eq!(text(&events[0], "type"), "workflow.started");
        assert_eq!(text(&events[61], "type"), "workflow.completed");
        assert_eq!(tracker.dropped(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_request_without_an_answer_is_given_up_after_its_timeout() {
    in_time(async {
        let world = World::memory().await;
        world.server.does(Does::Hangs);
        let tracker = world.tracker();
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 1).await;
        world.server.came(1).await;
        world.clock.advance(ms(9_999));
        assert_eq!(tracker.status().await.unwrap().last_error, None);
        world.clock.advance(ms(1));
        assert!(refused(&tracker).await);
        let told = tracker.status().await.unwrap().last_error.unwrap();
        assert_eq!(told, "no answer within 10s");
        world.server.does(Does::Answers(200));
        world.pass(ms(100)).await;
        assert!(eventually(async || tracker.sent() == 4).await);
    })
    .await;
}

#[tokio::test]
async fn fifteen_hundred_events_while_it_is_down_are_the_newest_thousand_when_it_is_back() {
    in_time(async {
        let mut world = World::memory().await;
        world.server.stop().await;
        let tracker = world.tracker();
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 749).await;
        assert!(refused(&tracker).await);
        assert_eq!(tracker.dropped(), 0, "nothing is lost as long as it is not known");
        world.server.start_again().await;
        world.pass(ms(100)).await;
        assert!(eventually(async || tracker.sent() == 1000).await);
        assert_eq!((tracker.dropped(), world.server.sizes()), (500, vec![50; 20]));
        let events = world.server.events();
        assert_eq!(short(&events[..1]), ["step.completed step#250"]);
        assert_eq!(text(&events[999], "type"), "workflow.completed");
        assert_eq!(tracker.pending_count().await, 0);
    })
    .await;
}

#[tokio::test]
async fn while_it_hangs_at_most_a_thousand_wait_and_workflows_do_not_notice() {
    in_time(async {
        let world = World::memory().await;
        world.server.does(Does::Hangs);
        let tracker = world.tracker();
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 25).await;
        world.server.came(1).await;
        run_steps(&engine, 724).await;
        // Rows are read as a whole, so one event more may be there.
        let pending = tracker.pending_count().await;
        assert!((1050..1200).contains(&pending), "{pending}");
        world.server.does(Does::Answers(200));
        assert!(eventually(async || tracker.pending_count().await == 0).await);
        assert_eq!((tracker.sent(), tracker.dropped()), (1050, 452));
        assert_eq!(text(world.server.events().last().unwrap(), "type"), "workflow.completed");
    })
    .await;
}

#[tokio::test]
async fn an_immediate_shutdown_loses_nothing() {
    in_time(async {
        for world in [World::memory().await, World::sqlite().await] {
            let tracker = world.tracker();
            let engine = world.engine(steps(), &tracker).await;
            run_steps(&engine, 400).await;
            run_steps(&engine, 1).await;
            engine.shutdown().await;
            assert_eq!((tracker.sent(), tracker.dropped()), (806, 0));
            let events = world.server.events();
            assert_eq!(events.len(), 806);
            assert_eq!(short(&events[802..]).last().unwrap(), "workflow.completed");
            tracker.shutdown().await;
            tracker.flush().await;
            assert_eq!(tracker.pending_count().await, 0, "it is over");
        }
    })
    .await;
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_sink_that_hangs() {
    in_time(async {
        let world = World::memory().await;
        world.server.does(Does::Hangs);
        let config = TrackerConfig { shutdown_timeout: ms(1234), ..world.config() };
        let tracker = Tracker::new(config).unwrap();
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 1).await;
        world.server.came(1).await;
        let stopping = engine.clone();
        let stopped = tokio::spawn(async move { stopping.shutdown().await });
        world.pass(ms(1234)).await;
        stopped.await.unwrap();
        assert_eq!(tracker.sent(), 0);
    })
    .await;
}

#[tokio::test]
async fn an_engine_without_trackers_has_no_task_for_them() {
    in_time(async {
        let world = World::memory().await;
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let engine = world.builder().start().await.unwrap();
        let without = tasks() - before;
        engine.shutdown().await;
        drop(engine);
        assert!(eventually(async || tasks() == before).await);
        let engine = world.builder().observe(world.tracker()).start().await.unwrap();
        assert_eq!(tasks() - before, without + 1);
        drop(engine);
        assert!(eventually(async || tasks() == before).await, "it ends with its engine");
    })
    .await;
}
