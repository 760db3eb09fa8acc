//! What became of something sent to an instance.

use abide::{Delivered, Status};
use serde::Serialize;
use utoipa::ToSchema;

/// What became of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveredView {
    event_id: String,
    /// How many waits it fulfilled.
    delivered: u32,
    /// Whether it is kept for a later wait.
    buffered: bool,
    /// With `settle`: the status of the instance then.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

impl DeliveredView {
    pub(crate) fn new(delivered: Delivered, status: Option<Status>) -> Self {
        let Delivered { event_id, delivered, buffered } = delivered;
        let (event_id, status) = (event_id.to_string(), status.map(Status::as_str));
        Self { event_id, delivered, buffered, status }
    }
}
