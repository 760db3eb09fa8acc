//! The routes of `/v1`, one file per noun, and what they share.

mod app;
mod body;
mod bulk;
mod control;
mod definitions;
mod error;
mod events;
mod guard;
mod handlers;
mod instances;
mod meter;
mod nodes;
mod openapi;
mod pages;
mod params;
mod readers;
mod records;
mod sends;
mod sinks;
mod sound;
mod streams;
mod subscriptions;
mod tokens;
mod triggers;
mod view;
mod webhook;
mod webhooks;
mod workflows;

pub use app::App;
pub use guard::{ConfiguredToken, NewToken, Scope, TokenTerms, make_token, may_listen};
pub use openapi::openapi;

use axum::Router;
use utoipa_axum::router::OpenApiRouter;

/// Every route under `/v1`, with its documentation.
fn v1() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(workflows::routes())
        .merge(instances::routes())
        .merge(control::routes())
        .merge(bulk::routes())
        .merge(sends::routes())
        .merge(records::routes())
        .merge(streams::routes())
        .merge(nodes::routes())
        .merge(events::routes())
        .merge(subscriptions::routes())
        .merge(definitions::routes())
        .merge(triggers::routes())
        .merge(tokens::routes())
        .merge(webhooks::routes())
        .merge(sinks::routes())
}

/// The whole server as a service.
pub fn router(app: App) -> Router {
    let (routes, described) = OpenApiRouter::new().nest("/v1", v1()).split_for_parts();
    let routes = routes
        .merge(openapi::routes(described))
        .merge(pages::routes())
        .fallback(error::no_such_route)
        .method_not_allowed_fallback(error::no_such_method);
    guard::before(routes, &app).with_state(app)
}
