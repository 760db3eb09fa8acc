//! What events of a type look like.

use abide::{DocumentKind, Error, EventDefinition, Kept};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Defined, Reply};
use super::error::ApiError;
use super::params::At;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(put))
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(remove))
}

/// What is known about the events of a type.
#[derive(ToSchema)]
#[schema(as = DefinitionBody, rename_all = "camelCase")]
#[allow(dead_code, reason = "describes `EventDefinition`, which knows no OpenAPI")]
struct DefinitionBody {
    /// For people.
    name: Option<String>,
    /// For people.
    description: Option<String>,
    /// A JSON Schema of the payload; its defaults are filled in. None takes any payload. Also
    /// understood as `payloadSchema`.
    schema: Option<Value>,
    /// `active` (default), `deprecated` (still holds) or `draft` (does not hold yet).
    status: Option<String>,
    /// Payloads to learn from; they have to fit.
    examples: Option<Vec<Value>>,
}

/// A definition as it is kept.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DefinitionView {
    /// The type of the events.
    #[serde(rename = "type")]
    #[schema(example = "payment.received")]
    event_type: String,
    /// Counts from 1; a change makes the next.
    version: u32,
    #[serde(flatten)]
    #[schema(value_type = DefinitionBody)]
    body: EventDefinition,
}

impl From<Kept<EventDefinition>> for DefinitionView {
    fn from(kept: Kept<EventDefinition>) -> Self {
        Self { event_type: kept.name.to_string(), version: kept.version, body: kept.body }
    }
}

/// All of them, by type.
#[derive(Serialize, ToSchema)]
struct DefinitionList {
    definitions: Vec<DefinitionView>,
}

/// Say what events of a type look like
///
/// Payloads that don't are refused from now on, with `EVENT_INVALID`.
#[utoipa::path(put, path = "/event-definitions/{type}", tag = "event definitions",
    params(("type" = String, Path, description = "the type of the events")),
    request_body = DefinitionBody,
    responses((status = 200, description = "as it is kept", body = DefinitionView)))]
async fn put(
    State(app): State<App>,
    At(event_type): At<String>,
    Defined(body): Defined<EventDefinition>,
) -> Result<Reply<DefinitionView>, ApiError> {
    Ok(Reply(app.engine().define_event(&event_type, body).await?.into()))
}

/// List event definitions
#[utoipa::path(get, path = "/event-definitions", tag = "event definitions",
    responses((status = 200, description = "all of them", body = DefinitionList)))]
async fn list(State(app): State<App>) -> Result<Reply<DefinitionList>, ApiError> {
    let all = app.engine().event_definitions().await?;
    Ok(Reply(DefinitionList { definitions: all.into_iter().map(Into::into).collect() }))
}

/// One event definition
#[utoipa::path(get, path = "/event-definitions/{type}", tag = "event definitions",
    params(("type" = String, Path, description = "the type of the events")),
    responses((status = 200, description = "the definition", body = DefinitionView)))]
async fn show(
    State(app): State<App>,
    At(event_type): At<String>,
) -> Result<Reply<DefinitionView>, ApiError> {
    let kind = DocumentKind::EventDefinition;
    let found = app.engine().store().document(kind, &event_type, None).await?;
    let document = found
        .ok_or(Error::DefinitionNotFound { what: "event definition", name: event_type.clone() })?;
    let body = document.body.decode()?;
    Ok(Reply(DefinitionView { event_type, version: document.version, body }))
}

/// Remove an event definition: any payload is fine from now on
#[utoipa::path(delete, path = "/event-definitions/{type}", tag = "event definitions",
    params(("type" = String, Path, description = "the type of the events")),
    responses((status = 204, description = "removed")))]
async fn remove(
    State(app): State<App>,
    At(event_type): At<String>,
) -> Result<StatusCode, ApiError> {
    app.engine().remove_event_definition(&event_type).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::openapi::fields;

    #[test]
    fn the_description_has_the_fields_of_a_definition() {
        let full = EventDefinition {
            name: Some("n".into()),
            description: Some("d".into()),
            examples: vec![Value::Null],
            ..EventDefinition::of(Value::Bool(true))
        };
        let Value::Object(written) = serde_json::to_value(full).unwrap() else { panic!() };
        let mut written: Vec<String> = written.keys().cloned().collect();
        written.sort_unstable();
        assert_eq!(fields::<DefinitionBody>(), written);
    }
}
