//! Runs and steps as spans, as a collector reads them: with what OpenTelemetry itself generates from its definitions.

use std::sync::Arc;
use std::time::Duration;

use abide::prelude::*;
use abide::trace::{self, Trace};
use abide_tracker::{BuilderExt, OtlpConfig, Tracker};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use parking_lot::Mutex;
use prost::Message;

use crate::sink::Does;
use crate::world::{Gate, World, eventually, in_time};

const FIRST: &str = "00-4bf92f3577b34da6a3ce929d0e0e4731-00f067aa0ba902b1-01";
const SECOND: &str = "00-4bf92f3577b34da6a3ce929d0e0e4732-00f067aa0ba902b2-01";

fn config(world: &World) -> OtlpConfig {
    let url = format!("http://{}/v1/traces", world.server.address);
    let headers = vec![("x-api-key".to_owned(), "hush".to_owned())];
    OtlpConfig { service: "shop".to_owned(), headers, ..OtlpConfig::new(url) }
}

/// What reached the collector.
fn told(world: &World) -> Vec<ResourceSpans> {
    let read = |bytes: Vec<u8>| ExportTraceServiceRequest::decode(&bytes[..]).unwrap();
    let requests = world.server.requests().into_iter();
    requests.flat_map(|request| read(request.bytes).resource_spans).collect()
}

fn spans(world: &World) -> Vec<Span> {
    let scopes = told(world).into_iter().flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.clone()?.value? {
        Value::StringValue(text) => Some(text),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{key} is {other:?}"),
    }
}

fn of(span: &Span, key: &str) -> String {
    attribute(&span.attributes, key).unwrap_or_default()
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The place that whatever is called from a span belongs to.
fn place(span: &Span) -> String {
    format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.span_id))
}

/// What is under the span of a place, in order of beginning: name, attempt and outcome.
fn under(spans: &[Span], place: &str) -> Vec<String> {
    let mut found: Vec<&Span> = spans
        .iter()
        .filter(|span| {
            format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.parent_span_id)) == place
        })
        .collect();
    found.sort_by_key(|span| span.start_time_unix_nano);
    let outcome = |span: &Span| match of(span, "abide.step.attempt") {
        attempt if attempt.is_empty() => of(span, "abide.outcome"),
        attempt => format!("{attempt} {}", of(span, "abide.outcome")),
    };
    found.into_iter().map(|span| format!("{} {}", span.name, outcome(span))).collect()
}

fn find<'s>(spans: &'s [Span], name: &str, attempt: &str) -> &'s Span {
    let is_it = |span: &&Span| span.name == name && of(span, "abide.step.attempt") == attempt;
    let mut found = spans.iter().filter(is_it);
    let span = found.next().unwrap_or_else(|| panic!("no span {name:?} {attempt:?}"));
    assert!(found.next().is_none(), "{name:?} {attempt:?} was told twice");
    span
}

/// What steps see as their place in a trace.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

fn see(seen: &Seen, who: &str) {
    let place = trace::current().map(|trace| trace.to_string()).unwrap_or_default();
    seen.lock().push((who.to_owned(), place));
}

/// Fails once, sleeps, waits, has a child.
fn parent(seen: &Seen) -> Workflow {
    let seen = Arc::clone(seen);
    Workflow::new("parent", move |cx: Cx, (): ()| {
        let seen = Arc::clone(&seen);
        async move {
            let attempt = || {
                let seen = Arc::clone(&seen);
                async move {
                    see(&seen, "charge");
                    let is_first = seen.lock().len() == 1;
                    if is_first { Err(Error::failed("DOWN", "not yet")) } else { Ok(()) }
                }
            };
            cx.step("charge", attempt).retry(Retry::times(2).delay("1s").no_jitter()).await?;
            cx.sleep("rest", "1s").await?;
            cx.named("ask").wait_for_event::<()>("go").await?;
            let after = || {
                let seen = Arc::clone(&seen);
                async move {
                    see(&seen, "after");
                    Ok::<_, Error>(())
                }
            };
            cx.step("after", after).await?;
            cx.named("below").child::<()>("child", &()).await
        }
    })
}

fn child() -> Workflow {
    Workflow::new("child", async |cx: Cx, (): ()| -> Result<()> {
        cx.step("deep", || async { Ok::<_, Error>(()) }).await
    })
}

async fn worlds() -> [World; 2] {
    [World::memory().await, World::sqlite().await]
}

fn within<F: Future>(place: &str, future: F) -> impl Future<Output = F::Output> {
    trace::within(place.parse::<Trace>().ok(), future)
}

#[tokio::test]
async fn a_run_is_a_span_and_so_is_every_attempt_and_what_they_call_is_under_them() {
    in_time(async {
        for world in worlds().await {
            let seen = Seen::default();
            let tracker = Tracker::otlp(&config(&world)).unwrap();
            let engine = world
                .builder()
                .configure(|engine| engine.own_spans = true)
                .register(parent(&seen))
                .register(child())
                .observe(tracker.clone())
                .start()
                .await
                .unwrap();
            let start = engine.start("parent", Start::new(&()).id("p"));
            let handle = within(FIRST, start).await.unwrap();
            world.until(&handle, Status::Sleeping).await;
            world.later(&tracker, Duration::from_secs(1)).await;
            let sleeps =
                async || handle.steps().await.unwrap().iter().any(|step| &*step.name == "rest");
            assert!(eventually(sleeps).await);
            world.until(&handle, Status::Sleeping).await;
            world.later(&tracker, Duration::from_secs(1)).await;
            world.until(&handle, Status::Waiting).await;
            world.later(&tracker, Duration::from_secs(5)).await;
            within(SECOND, handle.send_event("go", &())).await.unwrap();
            handle.result::<()>().await.unwrap();
            tracker.flush().await;

            let spans = spans(&world);
            assert_eq!(under(&spans, FIRST), ["parent completed"]);
            let run = find(&spans, "parent", "");
            let steps = ["charge 1 failed", "charge 2 completed", "rest 1 completed"];
            assert_eq!(under(&spans, &place(run)), steps);
            assert_eq!(
                (of(run, "abide.instance.id"), of(run, "abide.run")),
                ("p".into(), "1".into())
            );
            assert_eq!(run.end_time_unix_nano - run.start_time_unix_nano, 7_000_000_000);

            // The event takes the instance into its own trace.
            assert_eq!(under(&spans, SECOND), ["ask 1 completed"]);
            let wait = find(&spans, "ask", "1");
            assert_eq!(wait.links.len(), 1);
            assert_eq!(
                (&wait.links[0].trace_id, &wait.links[0].span_id),
                (&run.trace_id, &run.span_id)
            );
            assert_eq!(wait.end_time_unix_nano - wait.start_time_unix_nano, 5_000_000_000);
            assert_eq!(under(&spans, &place(wait)), ["after 1 completed", "below 1 completed"]);
            assert_eq!(under(&spans, &place(find(&spans, "below", "1"))), ["child completed"]);
            assert_eq!(under(&spans, &place(find(&spans, "child", ""))), ["deep 1 completed"]);

            let failed = find(&spans, "charge", "1");
            let status = failed.status.clone().unwrap();
            assert_eq!((status.code, &*status.message), (2, "DOWN: not yet"));
            assert_eq!(of(failed, "error.type"), "DOWN");
            let of_attempt =
                |who: &str, attempt: &str| (who.to_owned(), place(find(&spans, who, attempt)));
            let expected =
                [of_attempt("charge", "1"), of_attempt("charge", "2"), of_attempt("after", "1")];
            assert_eq!(*seen.lock(), expected, "what a step passes on is the span that is told");
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_says_who_sends_it() {
    in_time(async {
        let world = World::memory().await;
        let engine = world.builder().register(child()).otlp(&config(&world)).unwrap();
        let engine = engine.start().await.unwrap();
        engine.start("child", Start::new(&())).await.unwrap().result::<()>().await.unwrap();
        engine.shutdown().await;
        let requests = world.server.requests();
        assert_eq!(requests[0].line, "POST /v1/traces HTTP/1.1");
        assert_eq!(requests[0].header("content-type"), Some("application/x-protobuf"));
        assert_eq!(requests[0].header("x-api-key"), Some("hush"));
        let told = told(&world);
        let resource = told[0].resource.clone().unwrap().attributes;
        assert_eq!(attribute(&resource, "service.name").as_deref(), Some("shop"));
        assert_eq!(told[0].scope_spans[0].scope.as_ref().unwrap().name, "abide");
    })
    .await;
}

#[tokio::test]
async fn a_run_that_nobody_gave_a_trace_begins_one_and_a_crash_does_not_end_it() {
    in_time(async {
        for world in worlds().await {
            let gate = Gate::closed();
            let flow = || {
                let gate = gate.clone();
                Workflow::new("w", move |cx: Cx, (): ()| {
                    let gate = gate.clone();
                    async move {
                        cx.step("one", || async { Ok::<_, Error>(()) }).await?;
                        cx.step("two", || gate.clone().pass()).await
                    }
                })
            };
            let engine = world.builder().register(flow()).otlp(&config(&world)).unwrap();
            let engine = engine.start().await.unwrap();
            let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
            assert!(eventually(async || handle.steps().await.unwrap().len() == 2).await);
            assert!(
                eventually(async || {
                    world.clock.advance(Duration::from_secs(1));
                    spans(&world).len() == 1
                })
                .await
            );
            engine.kill();

            let tracker = Tracker::otlp(&config(&world)).unwrap();
            let engine =
                world.builder().configure(|engine| engine.own_spans = true).register(flow());
            let engine = engine.observe(tracker.clone()).start().await.unwrap();
            gate.open();
            engine.get(handle.id()).result::<()>().await.unwrap();
            tracker.flush().await;
            let spans = spans(&world);
            let run = find(&spans, "w", "");
            assert!(run.parent_span_id.is_empty(), "it begins the trace");
            assert_eq!(
                under(&spans, &place(run)),
                ["one 1 completed", "two 1 failed", "two 2 completed"]
            );
        }
    })
    .await;
}

#[tokio::test]
async fn what_its_beginner_does_not_want_told_is_passed_on_and_not_told() {
    in_time(async {
        let world = World::memory().await;
        let seen = Seen::default();
        let tracker = Tracker::otlp(&config(&world)).unwrap();
        let looks = Arc::clone(&seen);
        let flow = Workflow::new("w", move |cx: Cx, (): ()| {
            let looks = Arc::clone(&looks);
            async move {
                let look = || {
                    see(&looks, "look");
                    async { Ok::<_, Error>(()) }
                };
                cx.step("look", look).await
            }
        });
        let engine = world.builder().configure(|engine| engine.own_spans = true);
        let engine = engine.register(flow).observe(tracker.clone()).start().await.unwrap();
        let unsampled = FIRST.replace("-01", "-00");
        let handle = within(&unsampled, engine.start("w", Start::new(&()))).await.unwrap();
        handle.result::<()>().await.unwrap();
        tracker.flush().await;
        assert_eq!(spans(&world).len(), 0);
        let (_, passed_on) = seen.lock()[0].clone();
        assert!(
            passed_on.starts_with(&unsampled[..36]) && passed_on.ends_with("-00"),
            "{passed_on}"
        );
        assert_ne!(passed_on, unsampled, "under a span of its own");
    })
    .await;
}

#[tokio::test]
async fn what_a_run_leaves_undone_is_over_with_it() {
    in_time(async {
        for world in worlds().await {
            let gate = Gate::closed();
            let waits = gate.clone();
            let flow = Workflow::new("w", move |cx: Cx, (): ()| {
                let waits = waits.clone();
                async move {
                    let _ = cx.now();
                    cx.step("long", || waits.clone().pass()).await
                }
            });
            let tracker = Tracker::otlp(&config(&world)).unwrap();
            let engine = world.builder().configure(|engine| engine.own_spans = true);
            let engine = engine.register(flow).observe(tracker.clone()).start().await.unwrap();
            let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
            let runs =
                async || handle.steps().await.unwrap().iter().any(|step| &*step.name == "long");
            assert!(eventually(runs).await);
            handle.restart().await.unwrap();
            assert!(eventually(runs).await);
            handle.terminate(abide::Terminate::default()).await.unwrap();
            tracker.flush().await;
            let spans = spans(&world);
            let outcomes: Vec<String> = spans
                .iter()
                .map(|span| {
                    format!("{} {} {}", of(span, "abide.run"), span.name, of(span, "abide.outcome"))
                })
                .collect();
            assert_eq!(
                outcomes,
                ["1 long cancelled", "1 w restarted", "2 long cancelled", "2 w terminated"]
            );
            assert_ne!(spans[0].trace_id, spans[2].trace_id);
        }
    })
    .await;
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again() {
    in_time(async {
        let world = World::memory().await;
        world.server.does(Does::Answers(503));
        let tracker = Tracker::otlp(&config(&world)).unwrap();
        let engine = world.engine(child(), &tracker).await;
        engine.start("child", Start::new(&())).await.unwrap().result::<()>().await.unwrap();
        world.pass(Duration::from_secs(1)).await;
        world.server.came(1).await;
        let refused = async || tracker.status().await.unwrap().last_error.is_some();
        assert!(eventually(refused).await);
        world.server.does(Does::Answers(200));
        world.pass(Duration::from_millis(100)).await;
        assert!(eventually(async || tracker.sent() == 2).await);
        let status = tracker.status().await.unwrap();
        assert_eq!((&*status.name, status.dropped), ("otlp", 0));
        assert_eq!(status.url, format!("http://{}/v1/traces", world.server.address));
    })
    .await;
}

#[test]
fn a_collector_that_can_not_be_reached_by_its_address_is_refused_at_once() {
    for (url, header) in [("nowhere", "a"), ("ftp://a/", "a"), ("http://a/", "no name")] {
        let headers = vec![(header.to_owned(), "hush".to_owned())];
        let refused = Tracker::otlp(&OtlpConfig { headers, ..OtlpConfig::new(url) }).unwrap_err();
        assert!(!refused.to_string().contains("hush"), "{refused}");
    }
}
