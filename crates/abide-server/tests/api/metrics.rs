//! The figures at `/metrics`: that they agree with the history, and with what is written about them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use abide::history::EntryKind;
use abide::prelude::*;
use abide::{BoxError, Builder, WaitFilter};
use reqwest::Method;
use serde_json::Value;

use crate::instances::APPROVE;
use crate::reader::Reader;
use crate::world::{World, answer};

async fn page(world: &World) -> String {
    answer(world.client.request(Method::GET, format!("{}/metrics", world.base))).await.text
}

/// A page of metrics by name and labels.
pub(crate) struct Scraped(BTreeMap<String, f64>);

impl Scraped {
    pub(crate) async fn of(world: &World) -> Self {
        let page = page(world).await;
        let samples = page.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        });
        Self(samples.collect())
    }

    /// Once a figure is what it should be: some follow what a client sees.
    pub(crate) async fn once(world: &World, name: &str, is_right: impl Fn(f64) -> bool) -> Self {
        let looks = async {
            loop {
                let shown = Self::of(world).await;
                if shown.0.get(name).is_some_and(|value| is_right(*value)) {
                    return shown;
                }
            }
        };
        let patience = std::time::Duration::from_secs(30);
        tokio::time::timeout(patience, looks).await.unwrap_or_else(|_| panic!("{name} stays wrong"))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    #[track_caller]
    pub(crate) fn shows(&self, name: &str, expected: usize) {
        let shown = self.0.get(name).unwrap_or_else(|| panic!("there is no {name}"));
        assert!((shown - expected as f64).abs() < 0.1, "{name} is {shown}, not {expected}");
    }
}

/// Fails at first, sleeps, has a child and waits for an event; its input says what else.
async fn mixed(cx: Cx, how: String) -> Result<String, BoxError> {
    let tries = AtomicU32::new(0);
    let flaky = cx.step("flaky", async || {
        let is_first = tries.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first || how == "hopeless" { Err("not yet") } else { Ok(1) }
    });
    flaky.retry(Retry::times(3).delay("1 ms")).await?;
    cx.sleep("nap", "2 ms").await?;
    cx.child::<u32>("leaf", 1).await?;
    if how == "continues" {
        return Ok(cx.continue_as_new("completes").await?);
    }
    if how == "expires" {
        let never = cx.wait_for_event::<String>("never").timeout("3 ms").await;
        assert!(never.is_err());
    }
    let told: Event<String> = cx.wait_for_event("go").await?;
    cx.publish(Publication::new("done")).await?;
    Ok(told.payload)
}

async fn leaf(_: Cx, input: u32) -> Result<u32> {
    Ok(input + 1)
}

async fn idle(cx: Cx, (): ()) -> Result<u32> {
    Ok(cx.wait_for_event("wake").await?.payload)
}

fn workflows(builder: Builder) -> Builder {
    builder.workflow("mixed", mixed).workflow("leaf", leaf).workflow("idle", idle)
}

/// A bit of everything, all of it over in the end but one instance.
async fn run_everything(engine: &Engine) {
    let mut started = Vec::new();
    for how in ["completes", "completes", "hopeless", "continues", "expires"] {
        let handle = engine.start("mixed", Start::new(how)).await.unwrap();
        let go = Outgoing::event("go").payload(&"gone");
        handle.send(go.ignore_terminal()).await.unwrap();
        started.push(handle);
    }
    let listener = engine.start("idle", Start::new(&())).await.unwrap();
    listener.settled().await.unwrap();
    let payload = Some(abide::Json::encode(&7).unwrap());
    let id = Some("e1".to_owned());
    let wake = Publication { id, payload, ..Publication::new("wake") };
    engine.publish(wake.clone()).await.unwrap();
    engine.publish(wake).await.unwrap();
    engine.publish(Publication::new("nobody")).await.unwrap();
    started.push(listener);
    let doomed = engine.start("idle", Start::new(&())).await.unwrap();
    doomed.settled().await.unwrap();
    doomed.pause().await.unwrap();
    doomed.terminate(Terminate::because("enough")).await.unwrap();
    started.push(doomed);
    for handle in started {
        handle.ended().await.unwrap();
    }
    let open = engine.start("idle", Start::new(&())).await.unwrap();
    open.settled().await.unwrap();
    for _ in 0..2 {
        open.signal("later", &1).await.unwrap();
    }
}

#[tokio::test]
async fn figures_agree_with_the_history_after_a_mixed_run() {
    let world = World::coded(workflows).await;
    let engine = world.app.engine();
    run_everything(engine).await;
    let shown = Scraped::of(&world).await;

    let tail = engine.store().tail(0, 100_000).await.unwrap();
    let entries: Vec<_> = tail.rows.iter().flat_map(|row| &row.recorded).collect();
    let told = |kind| entries.iter().filter(|recorded| recorded.entry.entry == kind).count();
    for (name, kind) in [
        ("abide_runs_started_total", EntryKind::WorkflowStarted),
        ("abide_runs_ended_total{outcome=\"completed\"}", EntryKind::WorkflowCompleted),
        ("abide_runs_ended_total{outcome=\"errored\"}", EntryKind::WorkflowFailed),
        ("abide_runs_ended_total{outcome=\"terminated\"}", EntryKind::WorkflowTerminated),
        ("abide_runs_ended_total{outcome=\"continued\"}", EntryKind::WorkflowContinued),
        ("abide_pauses_total", EntryKind::WorkflowPaused),
        ("abide_step_attempts_total", EntryKind::StepStarted),
        ("abide_steps_total{outcome=\"completed\"}", EntryKind::StepCompleted),
        ("abide_step_retries_total", EntryKind::RetryScheduled),
        ("abide_events_received_total", EntryKind::EventReceived),
        ("abide_buffer_changes_total{change=\"buffered\"}", EntryKind::EventBuffered),
        ("abide_buffer_changes_total{change=\"discarded\"}", EntryKind::EventDiscarded),
        ("abide_waits_started_total", EntryKind::WaitStarted),
        ("abide_waits_ended_total{outcome=\"fulfilled\"}", EntryKind::WaitFulfilled),
        ("abide_waits_ended_total{outcome=\"expired\"}", EntryKind::WaitExpired),
        ("abide_waits_ended_total{outcome=\"cancelled\"}", EntryKind::WaitCancelled),
        ("abide_wake_latency_seconds_count{cause=\"event\"}", EntryKind::WaitFulfilled),
        ("abide_wake_latency_seconds_count{cause=\"timer\"}", EntryKind::SleepCompleted),
        ("abide_wake_latency_seconds_count{cause=\"retry\"}", EntryKind::RetryScheduled),
    ] {
        assert!(told(kind) > 0, "the run was to have some {kind}");
        shown.shows(name, told(kind));
    }
    assert!(shown.0["abide_commit_duration_seconds_count"] > 0.5);
    let commands = shown.0["abide_commit_batch_size_sum"];
    assert!(commands >= shown.0["abide_commit_batch_size_count"], "{commands}");
    let failed = entries.iter().map(|recorded| &recorded.entry);
    let failed = failed.filter(|e| e.entry == EntryKind::StepFailed && !e.will_retry).count();
    shown.shows("abide_steps_total{outcome=\"failed\"}", failed);
    shown.shows("abide_store_errors_total{operation=\"write\"}", 0);
    shown.shows("abide_store_errors_total{operation=\"read\"}", 0);
    agrees_with_the_store(&shown, engine).await;
}

async fn agrees_with_the_store(shown: &Scraped, engine: &Engine) {
    let logged = engine.store().log(LogFilter::default()).await.unwrap();
    let wanted = logged.iter().filter(|logged| logged.verdict.is_wanted()).count();
    shown.shows("abide_events_published_total{verdict=\"matched\"}", wanted);
    shown.shows("abide_events_published_total{verdict=\"unmatched\"}", logged.len() - wanted);
    shown.shows("abide_events_published_total{verdict=\"duplicate\"}", 1);
    let page = Page { limit: 1_000, ..Page::default() };
    let all = engine.list(Filter::default(), page).await.unwrap().instances;
    for status in Status::ALL {
        let count = all.iter().filter(|instance| instance.status() == *status).count();
        shown.shows(&format!("abide_instances{{status=\"{status}\"}}"), count);
    }
    let open = WaitFilter { status: Some(abide::WaitStatus::Active), ..WaitFilter::default() };
    shown.shows("abide_open_waits", engine.store().waits(open).await.unwrap().len());
    shown.shows("abide_buffered_events", 2);
}

const SSE_READERS: &str = "abide_stream_readers{format=\"sse\"}";

#[tokio::test]
async fn whoever_reads_a_stream_is_counted_until_they_leave() {
    let world = World::with(&[APPROVE]).await;
    let started =
        world.post("/workflows/approve/instances", serde_json::json!({"input": {"amount": 1}}));
    let id = started.await.with(201)["id"].as_str().unwrap().to_owned();
    let stream = format!("/instances/{id}/stream");
    let mut reader = Reader::of(world.request(Method::GET, &stream)).await;
    reader.event().await.unwrap();
    Scraped::of(&world).await.shows(SSE_READERS, 1);
    world.post(format!("/instances/{id}/terminate"), serde_json::json!({})).await;
    reader.events().await;
    Scraped::of(&world).await.shows(SSE_READERS, 0);
}

/// The names of all metrics of a page, without what a histogram adds.
async fn shown_names() -> BTreeSet<String> {
    let world = World::with(&[]).await;
    page(&world).await;
    let page = page(&world).await;
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_documentation_names_every_metric_and_no_other() {
    let text = include_str!("../../../../docs/metrics.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<String> = rows.map(str::to_owned).collect();
    assert_eq!(documented, shown_names().await);
}

#[tokio::test]
async fn the_dashboard_asks_for_nothing_that_is_not_there() {
    let board: Value = serde_json::from_str(include_str!("../../../../docs/grafana.json")).unwrap();
    let known = shown_names().await;
    let targets = board["panels"].as_array().unwrap().iter();
    let targets = targets.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut asked = BTreeSet::new();
    for target in targets {
        let text = target["expr"].as_str().unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("abide_")) {
            let parts = ["_bucket", "_sum", "_count"];
            let whole = parts.iter().find_map(|part| word.strip_suffix(part)).unwrap_or(word);
            assert!(known.contains(word) || known.contains(whole), "{word} of {text}");
            asked.insert(whole.to_owned());
        }
    }
    let unseen: Vec<_> = known.difference(&asked).collect();
    assert!(unseen.is_empty(), "no panel shows {unseen:?}");
}
