//! What happens, as it happens: server-sent events and streamed bytes.

mod all;
mod bytes;
mod history;
mod marks;
mod multiplexed;
mod sse;
mod step;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(history::stream))
        .routes(routes!(step::stream))
        .routes(routes!(multiplexed::stream))
        .routes(routes!(all::stream))
}
