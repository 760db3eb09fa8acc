//! Figures for Prometheus. `docs/metrics.md` says what each means.

use abide::Status;
use abide::history::EntryKind;
use abide::metrics::{Census, Metrics, Tally};
use abide_tracker::{SinkStatus, Tracker};
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use futures_util::future::join_all;

use super::exposition::Exposition;
use crate::api::app::App;

const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let (metrics, census) = (app.engine().metrics(), app.engine().census().await);
    // A store that can't count may have failed, and then somebody wants to see the other figures.
    let census = census.inspect_err(|error| tracing::warn!(%error, "the store can't be counted"));
    let mut page = Exposition::default();
    process(&mut page, &app);
    kept(&mut page, census.as_ref().ok());
    instances(&mut page, &metrics.store.tally);
    events(&mut page, &metrics.store.tally);
    waiting(&mut page, &metrics);
    store(&mut page, &metrics);
    sinks(&mut page, &told(&app).await);
    app.guard().meter.write(&mut page.0);
    ([(header::CONTENT_TYPE, MEDIA)], page.0)
}

fn process(page: &mut Exposition, app: &App) {
    let version = [(env!("CARGO_PKG_VERSION"), 1)];
    page.gauges("abide_build_info", "What runs.", "version", version);
    let uptime = format!("{:.3}", app.uptime().as_secs_f64());
    page.gauge("abide_uptime_seconds", "For how long it runs.", uptime);
    let workflows = app.engine().workflows().len();
    page.gauge("abide_workflows", "Workflows that are known.", workflows);
    let (events, bytes) = (app.readers().events.count(), app.readers().bytes.count());
    let formats = [("sse", events), ("bytes", bytes)];
    page.gauges("abide_stream_readers", "Streams that somebody reads.", "format", formats);
    let under_way = app.guard().under_way();
    page.gauge("abide_http_requests_in_flight", "Requests that are worked on.", under_way);
}

/// What there is.
fn kept(page: &mut Exposition, census: Option<&Census>) {
    let by_status = census.into_iter().flat_map(|census| {
        Status::ALL.iter().map(|status| (status.as_str(), census.instances(*status)))
    });
    page.gauges("abide_instances", "Instances that are kept, by status.", "status", by_status);
    let waits = census.map(|census| census.open_waits);
    page.gauge_if_known("abide_open_waits", "Waits that are open.", waits);
    let help = "What instances were sent and have not consumed.";
    page.gauge_if_known("abide_buffered_events", help, census.map(|census| census.buffered));
}

/// What happened to instances and their steps.
fn instances(page: &mut Exposition, tally: &Tally) {
    let of = |kind| tally.of(kind);
    page.counter("abide_runs_started_total", "Runs that began.", of(EntryKind::WorkflowStarted));
    let outcomes = [
        ("completed", of(EntryKind::WorkflowCompleted)),
        ("errored", of(EntryKind::WorkflowFailed)),
        ("terminated", of(EntryKind::WorkflowTerminated)),
        ("continued", of(EntryKind::WorkflowContinued)),
    ];
    page.counters("abide_runs_ended_total", "Runs that ended.", "outcome", outcomes);
    let pauses = of(EntryKind::WorkflowPaused);
    page.counter("abide_pauses_total", "Pauses, by hand or by themselves.", pauses);
    let stuck = of(EntryKind::WorkflowStuck);
    page.counter("abide_stuck_total", "Instances that waited for something foreign.", stuck);
    let attempts = of(EntryKind::StepStarted);
    page.counter("abide_step_attempts_total", "Attempts of steps that began.", attempts);
    let outcomes = [
        ("completed", of(EntryKind::StepCompleted)),
        ("failed", tally.steps_failed()),
        ("cancelled", of(EntryKind::StepCancelled)),
    ];
    page.counters("abide_steps_total", "Steps that came to an end.", "outcome", outcomes);
    let retries = of(EntryKind::RetryScheduled);
    page.counter("abide_step_retries_total", "Retries that were scheduled.", retries);
}

/// What happened to events and waits.
fn events(page: &mut Exposition, tally: &Tally) {
    let of = |kind| tally.of(kind);
    let help = "Events, signals and messages that instances were sent.";
    page.counter("abide_events_received_total", help, of(EntryKind::EventReceived));
    let fates = [
        ("buffered", of(EntryKind::EventBuffered)),
        ("superseded", of(EntryKind::EventSuperseded)),
        ("discarded", of(EntryKind::EventDiscarded)),
    ];
    let help = "What happened in the buffers of instances.";
    page.counters("abide_buffer_changes_total", help, "change", fates);
    let published = [
        ("matched", tally.published_wanted()),
        ("unmatched", tally.published_unwanted()),
        ("duplicate", tally.published_again()),
    ];
    let help = "Events that were published, by whether anybody wanted them then.";
    page.counters("abide_events_published_total", help, "verdict", published);
    page.counter(
        "abide_waits_started_total",
        "Waits that were reached.",
        of(EntryKind::WaitStarted),
    );
    let outcomes = [
        ("fulfilled", of(EntryKind::WaitFulfilled)),
        ("expired", of(EntryKind::WaitExpired)),
        ("cancelled", of(EntryKind::WaitCancelled)),
    ];
    page.counters("abide_waits_ended_total", "Waits that came to an end.", "outcome", outcomes);
}

/// How late things came, and what is in memory.
fn waiting(page: &mut Exposition, metrics: &Metrics) {
    let help = "How much too late timers went off.";
    page.times("abide_timer_lateness_seconds", help, &metrics.timer_lateness);
    let causes = [
        ("event", &metrics.event_wakes),
        ("timer", &metrics.timer_wakes),
        ("retry", &metrics.retry_wakes),
    ];
    let help = "From what woke a workflow until it went on.";
    page.times_by("abide_wake_latency_seconds", help, "cause", causes);
    page.gauge("abide_resident_instances", "Instances in memory.", metrics.resident);
    let help = "Instances that are read from the store or wait to be.";
    page.gauge("abide_loading_instances", help, metrics.loading);
    page.gauge("abide_near_timers", "Timers in memory.", metrics.timers);
}

fn store(page: &mut Exposition, metrics: &Metrics) {
    let store = &metrics.store;
    page.sizes("abide_commit_batch_size", "Commands stored together.", &store.batches);
    page.times("abide_commit_duration_seconds", "How long that took.", &store.commits);
    let refused = [("write", store.failed), ("read", store.reads_failed)];
    let help = "What the disk or the file refused.";
    page.counters("abide_store_errors_total", help, "operation", refused);
    let waiting = [("write", store.queued), ("read", store.reads_queued)];
    let help = "What waits for the store.";
    page.gauges("abide_store_queue_depth", help, "operation", waiting);
    let help = "Instances that a published event has yet to meet.";
    page.gauge("abide_fanout_backlog", help, store.left_to_meet);
    let help = "Open waits that have not looked at everything they look back to.";
    page.gauge("abide_lookback_backlog", help, store.looking_back);
    let help = "Open waits that every event of their type has to be compared with.";
    page.gauge("abide_scanned_waits", help, store.scanned_waits);
}

/// How those are doing who are told what happens.
async fn told(app: &App) -> Vec<SinkStatus> {
    let asked = app.settings().sinks.iter().map(Tracker::status);
    let answers = join_all(asked).await.into_iter();
    let known = answers.filter_map(|status| {
        status.inspect_err(|error| tracing::warn!(%error, "a sink can't say how far it is")).ok()
    });
    known.collect()
}

fn sinks<'s>(page: &mut Exposition, sinks: &'s [SinkStatus]) {
    let all = |of: fn(&SinkStatus) -> u64| sinks.iter().map(move |sink| (&*sink.name, of(sink)));
    let help = "Events that a sink took.";
    page.counters("abide_tracker_events_sent_total", help, "sink", all(|sink| sink.sent));
    let help = "Events that a sink was not told and will not be.";
    page.counters("abide_tracker_events_dropped_total", help, "sink", all(|sink| sink.dropped));
    let help = "Events that wait to be sent to a sink.";
    page.gauges("abide_tracker_pending_events", help, "sink", all(|sink| sink.pending as u64));
    let lag = |sink: &'s SinkStatus| Some((&*sink.name, sink.lag?.cast_unsigned()));
    let help = "Rows of the history that a durable sink has yet to be told.";
    page.gauges("abide_tracker_lag_rows", help, "sink", sinks.iter().filter_map(lag));
    let help = "Whether somebody stopped a sink.";
    page.gauges("abide_tracker_paused", help, "sink", all(|sink| u64::from(sink.paused)));
    let failing = all(|sink| u64::from(sink.last_error.is_some()));
    let help = "Whether the last request to a sink failed.";
    page.gauges("abide_tracker_failing", help, "sink", failing);
}
