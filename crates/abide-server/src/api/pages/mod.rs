//! What is served outside `/v1`: probes, metrics, and pages that need nothing but this server.

mod asset;
mod exposition;
mod health;
mod metrics;

use axum::Router;
use axum::routing::get;

use super::app::App;
use asset::Asset;

const HOME: Asset = Asset::html(include_str!("../../../pages/home.html"));
const HOME_SCRIPT: Asset = Asset::script(include_str!("../../../pages/home.js"));
const DOCS: Asset = Asset::html(include_str!("../../../pages/docs.html"));
const DOCS_SCRIPT: Asset = Asset::script(include_str!("../../../pages/docs.js"));
const STYLE: Asset = Asset::style(include_str!("../../../pages/pages.css"));

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/", get(HOME))
        .route("/home.js", get(HOME_SCRIPT))
        .route("/docs", get(DOCS))
        .route("/docs/docs.js", get(DOCS_SCRIPT))
        .route("/pages.css", get(STYLE))
}
