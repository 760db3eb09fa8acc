//! The description of the routes, made from the routes themselves.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ContentBuilder, InfoBuilder, OpenApi, Ref, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use super::app::App;
use super::error::ErrorBody;

/// Refusals that any route may answer with.
const REFUSALS: &[(&str, &str)] = &[
    ("400", "the request is not acceptable"),
    ("401", "no token, or none that is known"),
    ("403", "the token, the host or the origin does not allow it"),
    ("404", "there is no such thing"),
    ("405", "the route does not take this method"),
    ("408", "the body did not come in time"),
    ("409", "not in this state"),
    ("413", "too large"),
    ("415", "not a media type that the route takes"),
    ("429", "too much at once; retry later"),
    ("503", "the store is not available; retry later with the same id"),
];

/// The whole description.
#[must_use]
pub fn openapi() -> OpenApi {
    let (_, described) = OpenApiRouter::<App>::new().nest("/v1", super::v1()).split_for_parts();
    complete(described)
}

/// Adds what all routes have in common.
fn complete(mut described: OpenApi) -> OpenApi {
    described.info = InfoBuilder::new()
        .title("Abide")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Durable, event-driven workflows."))
        .build();
    let components = described.components.get_or_insert_default();
    components.schemas.insert(ErrorBody::name().into_owned(), ErrorBody::schema());
    let mut nested = Vec::new();
    ErrorBody::schemas(&mut nested);
    components.schemas.extend(nested);
    for item in described.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        operations.into_iter().flatten().for_each(add_refusals);
    }
    described
}

fn add_refusals(operation: &mut Operation) {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name(ErrorBody::name()))).build();
    for (status, why) in REFUSALS {
        let refusal = ResponseBuilder::new()
            .description(*why)
            .content("application/json", body.clone())
            .build();
        let responses = &mut operation.responses.responses;
        responses.entry((*status).to_owned()).or_insert_with(|| refusal.into());
    }
}

/// `/openapi.json`.
pub(super) fn routes(described: OpenApi) -> Router<App> {
    let text = complete(described).to_json().unwrap_or_default();
    let text = axum::body::Bytes::from(text);
    let answer = move || {
        let text = text.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], text).into_response() }
    };
    Router::new().route("/openapi.json", get(answer))
}

/// The names of the fields that a description has, sorted.
#[cfg(test)]
pub(super) fn fields<T: PartialSchema>() -> Vec<String> {
    let schema = serde_json::to_value(T::schema()).unwrap();
    let mut names: Vec<String> =
        schema["properties"].as_object().unwrap().keys().cloned().collect();
    names.sort_unstable();
    names
}
