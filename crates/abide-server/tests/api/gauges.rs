//! Figures at `/metrics` that go up and down again.

use std::sync::Arc;

use abide::prelude::*;
use abide_sqlite::SqliteStore;
use abide_tracker::{Batch, Sink, SinkError, Tracker, TrackerConfig};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::metrics::Scraped;
use crate::streams::{Talk, say};
use crate::world::World;

async fn nothing(_: Cx, (): ()) -> Result<()> {
    Ok(())
}

async fn run(world: &World) {
    world.post("/workflows/w/instances?settle=30s", json!({})).await.with(201);
}

/// Takes nothing while it is down.
struct Shaky(watch::Receiver<bool>);

impl Sink for Shaky {
    fn send(&self, _: Arc<Batch>) -> BoxFuture<'_, std::result::Result<(), SinkError>> {
        let is_down = *self.0.borrow();
        async move { if is_down { Err(SinkError::new("it is down")) } else { Ok(()) } }.boxed()
    }
}

/// A server with one sink that is down until it is told otherwise.
async fn tracked(durable: bool) -> (World, watch::Sender<bool>) {
    let (tell, down) = watch::channel(true);
    let soon = std::time::Duration::from_millis(1);
    let config = TrackerConfig {
        durable,
        retry_max_attempts: 0,
        retry_initial_delay: soon,
        retry_max_delay: soon,
        ..TrackerConfig::new("", "")
    };
    let tracker = Tracker::with_sink(config, Shaky(down));
    let observer = tracker.clone();
    let world = World::observed(
        move |builder| builder.workflow("w", nothing).observe(observer),
        move |settings| settings.sinks = vec![tracker],
    )
    .await;
    (world, tell)
}

fn of_sink(name: &str) -> String {
    format!("abide_tracker_{name}{{sink=\"tracker\"}}")
}

#[tokio::test]
async fn a_durable_sink_falls_behind_while_it_is_down_and_catches_up() {
    let (world, down) = tracked(true).await;
    let rows = async || world.app.engine().store().tail(i64::MAX, 0).await.unwrap().head as usize;
    Scraped::of(&world).await.shows(&of_sink("lag_rows"), 0);
    let mut before = 0;
    for nth in 1..=3 {
        run(&world).await;
        let shown = Scraped::once(&world, &of_sink("failing"), |is| is > 0.5).await;
        let all = rows().await;
        assert!(all > before);
        before = all;
        shown.shows(&of_sink("lag_rows"), all);
        shown.shows(&of_sink("pending_events"), 2 * nth);
        shown.shows(&of_sink("events_sent_total"), 0);
    }
    down.send(false).unwrap();
    let shown = Scraped::once(&world, &of_sink("lag_rows"), |lag| lag < 0.5).await;
    shown.shows(&of_sink("events_sent_total"), 6);
    shown.shows(&of_sink("events_dropped_total"), 0);
    shown.shows(&of_sink("pending_events"), 0);
    shown.shows(&of_sink("failing"), 0);
    shown.shows(&of_sink("paused"), 0);
    world.post("/sinks/tracker/pause", json!({})).await.with(200);
    Scraped::of(&world).await.shows(&of_sink("paused"), 1);
}

#[tokio::test]
async fn what_a_volatile_sink_was_not_told_is_counted_as_dropped() {
    let (world, _down) = tracked(false).await;
    run(&world).await;
    let shown = Scraped::once(&world, &of_sink("events_dropped_total"), |lost| lost > 1.5).await;
    shown.shows(&of_sink("events_dropped_total"), 2);
    shown.shows(&of_sink("events_sent_total"), 0);
    assert!(!shown.has(&of_sink("lag_rows")), "only of a durable one it is known");
}

const BYTE_READERS: &str = "abide_stream_readers{format=\"bytes\"}";
const SSE_READERS: &str = "abide_stream_readers{format=\"sse\"}";

#[tokio::test]
async fn readers_of_bytes_and_of_events_are_counted_apart() {
    let talk = Talk::begun("talk").await;
    let source = talk.source();
    let mut bytes = talk.bytes().await;
    let events = talk.events(None).await;
    say(&source, "one ");
    bytes.up_to("one ").await.unwrap();
    let shown = Scraped::of(&talk.world).await;
    shown.shows(BYTE_READERS, 1);
    shown.shows(SSE_READERS, 1);
    drop((bytes, events));
    say(&source, "two");
    drop(source);
    for readers in [BYTE_READERS, SSE_READERS] {
        Scraped::once(&talk.world, readers, |count| count < 0.5).await;
    }
}

#[tokio::test]
async fn lines_of_all_streams_have_a_reader_too() {
    let talk = Talk::begun("talk").await;
    let source = talk.source();
    let lines = talk.world.request(reqwest::Method::GET, "/instances/t/streams");
    let mut lines = crate::reader::Reader::of(lines).await;
    say(&source, "one ");
    lines.up_to("\n").await.unwrap();
    Scraped::of(&talk.world).await.shows(BYTE_READERS, 1);
    drop(source);
    lines.rest().await.unwrap();
    Scraped::once(&talk.world, BYTE_READERS, |readers| readers < 0.5).await;
}

#[tokio::test]
async fn requests_are_counted_while_they_are_worked_on() {
    const IN_FLIGHT: &str = "abide_http_requests_in_flight";
    let world = World::coded(|builder| builder.workflow("w", nothing)).await;
    Scraped::of(&world).await.shows(IN_FLIGHT, 0);
    let mut client = TcpStream::connect(world.listening.address()).await.unwrap();
    let head = "POST /v1/workflows/w/instances HTTP/1.1\r\nhost: 127.0.0.1\r\n\
                content-type: application/json\r\ncontent-length: 2\r\n\r\n{";
    client.write_all(head.as_bytes()).await.unwrap();
    Scraped::once(&world, IN_FLIGHT, |requests| requests > 0.5).await;
    client.write_all(b"}").await.unwrap();
    Scraped::once(&world, IN_FLIGHT, |requests| requests < 0.5).await;
}

/// Waits for whatever comes, and sleeps.
async fn dozing(cx: Cx, (): ()) -> Result<()> {
    let (_, slept) = tokio::join!(
        cx.wait_for_event::<()>("any").filter("event.payload > 1"),
        cx.sleep("nap", "9 seconds")
    );
    slept
}

#[tokio::test]
async fn what_is_in_memory_goes_when_its_instance_goes() {
    let world = World::coded(|builder| builder.workflow("w", dozing)).await;
    for (name, expected) in [("a", 1), ("b", 2)] {
        let body = json!({"id": name, "input": null});
        world.post("/workflows/w/instances?settle=30s", body).await.with(201);
        let shown = Scraped::of(&world).await;
        for name in ["abide_resident_instances", "abide_near_timers", "abide_scanned_waits"] {
            shown.shows(name, expected);
        }
    }
    for name in ["a", "b"] {
        world.post(format!("/instances/{name}/terminate"), json!({})).await.with(200);
    }
    // A timer may stay until it goes off, and then finds nobody.
    for name in ["abide_resident_instances", "abide_scanned_waits"] {
        Scraped::once(&world, name, |count| count < 0.5).await;
    }
}

/// On a busy machine some sleeps are over before anybody can set a timer for them.
async fn napping(cx: Cx, (): ()) -> Result<()> {
    for nth in 0..200 {
        cx.sleep(&format!("nap {nth}"), "50 ms").await?;
    }
    Ok(())
}

#[tokio::test]
async fn timers_that_go_off_are_measured() {
    const LATENESS: &str = "abide_timer_lateness_seconds_count";
    let world = World::coded(|builder| builder.workflow("w", napping)).await;
    Scraped::of(&world).await.shows(LATENESS, 0);
    world.post("/workflows/w/instances", json!({})).await.with(201);
    Scraped::once(&world, LATENESS, |timers| timers > 0.5).await;
}

#[tokio::test]
async fn what_is_known_is_told_also_when_the_store_can_not_be_asked() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let of_engine = Arc::new(store.clone());
    let world = World::on(of_engine, &[], |builder| builder.workflow("w", nothing), |_| {}).await;
    run(&world).await;
    store.close().await.unwrap();
    let shown = Scraped::once(&world, "abide_runs_started_total", |runs| runs > 0.5).await;
    assert!(!shown.has("abide_open_waits"));
    assert!(shown.has("abide_store_errors_total{operation=\"write\"}"));
}
