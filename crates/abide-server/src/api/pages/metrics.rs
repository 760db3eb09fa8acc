//! Figures for Prometheus, in its text format.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::api::app::App;
use crate::api::error::ApiError;

const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn metrics(State(app): State<App>) -> Result<impl IntoResponse, ApiError> {
    let log = app.engine().store().log_span().await?;
    let mut page = String::new();
    let mut figure = |name: &str, kind: &str, help: &str, labels: &str, value: String| {
        let _ =
            writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}");
    };
    let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    figure("abide_build_info", "gauge", "What runs.", &version, "1".into());
    let uptime = format!("{:.3}", app.uptime().as_secs_f64());
    figure("abide_uptime_seconds", "gauge", "Since when it runs.", "", uptime);
    let resident = app.engine().resident().to_string();
    figure("abide_resident_instances", "gauge", "Instances in memory.", "", resident);
    let workflows = app.engine().workflows().len().to_string();
    figure("abide_workflows", "gauge", "Workflows that are known.", "", workflows);
    let accepted = log.newest.to_string();
    figure("abide_events_accepted_total", "counter", "Events that were published.", "", accepted);
    app.guard().meter.write(&mut page);
    Ok(([(header::CONTENT_TYPE, MEDIA)], page))
}
