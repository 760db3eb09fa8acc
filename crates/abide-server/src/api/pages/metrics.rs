//! Figures for Prometheus. `docs/metrics.md` says what each means.

use abide::Status;
use abide::history::EntryKind;
use abide::metrics::{Census, Metrics, Tally};
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use super::exposition::Exposition;
use crate::api::app::App;
use crate::api::error::ApiError;

const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn metrics(State(app): State<App>) -> Result<impl IntoResponse, ApiError> {
    let (metrics, census) = (app.engine().metrics(), app.engine().census().await?);
    let mut page = Exposition::default();
    process(&mut page, &app);
    kept(&mut page, &census);
    instances(&mut page, &metrics.store.tally);
    events(&mut page, &metrics.store.tally);
    waiting(&mut page, &metrics);
    store(&mut page, &metrics);
    app.guard().meter.write(&mut page.0);
    Ok(([(header::CONTENT_TYPE, MEDIA)], page.0))
}

fn process(page: &mut Exposition, app: &App) {
    let version = [(env!("CARGO_PKG_VERSION"), 1)];
    page.gauges("abide_build_info", "What runs.", "version", version);
    let uptime = format!("{:.3}", app.uptime().as_secs_f64());
    page.gauge("abide_uptime_seconds", "For how long it runs.", uptime);
    let workflows = app.engine().workflows().len();
    page.gauge("abide_workflows", "Workflows that are known.", workflows);
    page.gauge(
        "abide_sse_readers",
        "Streams of server-sent events that somebody reads.",
        app.readers().count(),
    );
}

/// What there is.
fn kept(page: &mut Exposition, census: &Census) {
    let by_status = Status::ALL.iter().map(|status| (status.as_str(), census.instances(*status)));
    page.gauges("abide_instances", "Instances that are kept, by status.", "status", by_status);
    page.gauge("abide_open_waits", "Waits that are open.", census.open_waits);
    let help = "What instances were sent and have not consumed.";
    page.gauge("abide_buffered_events", help, census.buffered);
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
    page.gauge("abide_loading_instances", "Instances being read from the store.", metrics.loading);
    page.gauge("abide_near_timers", "Timers in memory.", metrics.timers);
}

fn store(page: &mut Exposition, metrics: &Metrics) {
    let store = &metrics.store;
    page.sizes("abide_commit_batch_size", "Commands stored together.", &store.batches);
    page.times("abide_commit_duration_seconds", "How long that took.", &store.commits);
    page.counter("abide_store_errors_total", "Transactions that were refused.", store.failed);
    page.gauge("abide_store_queue_depth", "Commands that wait to be stored.", store.queued);
    let help = "Open waits that every event of their type has to be compared with.";
    page.gauge("abide_scanned_waits", help, store.scanned_waits);
}
