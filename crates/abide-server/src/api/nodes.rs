//! Who runs instances.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::Reply;
use super::view::Moment;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A process that runs instances.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NodeView {
    id: String,
    /// The version of Abide.
    version: &'static str,
    started_at: Moment,
    /// How many instances it has in memory.
    resident: usize,
}

/// Every node.
#[derive(Debug, Serialize, ToSchema)]
struct NodeList {
    nodes: Vec<NodeView>,
}

/// List nodes
///
/// On the embedded store there is one.
#[utoipa::path(get, path = "/nodes", tag = "nodes",
    responses((status = 200, description = "every node", body = NodeList)))]
async fn list(State(app): State<App>) -> Reply<NodeList> {
    let node = NodeView {
        id: app.node_id().to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        started_at: app.started_at().into(),
        resident: app.engine().resident(),
    };
    Reply(NodeList { nodes: vec![node] })
}
