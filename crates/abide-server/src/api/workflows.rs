//! Workflows as documents: registering, reading, checking.

use abide::Error;
use abide_flow::{Problem, RegisterError, Registered};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Raw, Reply, media_type, unsupported};
use super::error::ApiError;
use super::params::{At, Params};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(register, show))
        .routes(routes!(list))
        .routes(routes!(validate))
}

/// The document in a body.
fn document(raw: &Raw) -> Result<&str, ApiError> {
    let media = media_type(&raw.headers);
    let is_yaml = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];
    if media != "application/json" && !is_yaml.contains(&media.as_str()) {
        return Err(unsupported("application/yaml` or `application/json"));
    }
    std::str::from_utf8(&raw.bytes)
        .map_err(|refused| ApiError::invalid(format!("the document is not UTF-8: {refused}")))
}

/// A document that was registered.
#[derive(Debug, Serialize, ToSchema)]
struct RegisteredView {
    name: String,
    version: u32,
    /// Whether it was new or differs from the version before.
    changed: bool,
}

/// Register a workflow
///
/// A change makes the next version; instances that run keep theirs.
#[utoipa::path(put, path = "/workflows/{name}", tag = "workflows",
    params(("name" = String, Path, description = "the workflow, as its document says")),
    request_body(content((String = "application/yaml"), (Value = "application/json"))),
    responses(
        (status = 200, description = "it is as it was, or has a new version", body = RegisteredView),
        (status = 201, description = "it is new", body = RegisteredView)))]
async fn register(
    State(app): State<App>,
    At(name): At<String>,
    raw: Raw,
) -> Result<(StatusCode, Reply<RegisteredView>), ApiError> {
    let text = document(&raw)?;
    let flow = abide_flow::parse(text).map_err(|problems| invalid(text, &problems))?;
    if flow.name != name {
        let message = format!("the document's name is {:?}, the path says {name:?}", flow.name);
        return Err(definition_invalid(message));
    }
    let Registered { name, version, changed } =
        app.flows().register(text).await.map_err(|refused| match refused {
            RegisterError::Invalid { text, problems } => invalid(&text, &problems),
            RegisterError::Engine(error) => error.into(),
        })?;
    let status = if changed && version == 1 { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Reply(RegisteredView { name, version, changed })))
}

fn definition_invalid(message: String) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "DEFINITION_INVALID", message)
}

fn invalid(text: &str, problems: &[Problem]) -> ApiError {
    let message = abide_flow::report("document", text, problems);
    definition_invalid(message).with_details(json!({ "problems": problems }))
}

/// A workflow in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WorkflowView {
    name: String,
    /// The version that new instances take.
    version: u32,
    /// Every version that is known, oldest first.
    versions: Vec<u32>,
}

/// Every workflow.
#[derive(Debug, Serialize, ToSchema)]
struct WorkflowList {
    workflows: Vec<WorkflowView>,
}

/// List workflows
#[utoipa::path(get, path = "/workflows", tag = "workflows",
    responses((status = 200, description = "by name", body = WorkflowList)))]
async fn list(State(app): State<App>) -> Reply<WorkflowList> {
    let workflows = app.engine().workflows().into_iter();
    let view = |(name, versions): (std::sync::Arc<str>, Vec<u32>)| WorkflowView {
        name: name.to_string(),
        version: versions.last().copied().unwrap_or_default(),
        versions,
    };
    Reply(WorkflowList { workflows: workflows.map(view).collect() })
}

/// Which version.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct VersionQuery {
    /// The latest when absent.
    version: Option<u32>,
}

/// A workflow with its document.
#[derive(Debug, Serialize, ToSchema)]
struct DocumentView {
    name: String,
    version: u32,
    versions: Vec<u32>,
    /// As it was registered; absent for a workflow written in Rust.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    /// JSON Schema of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<serde_json::Value>,
}

/// Read a workflow
///
/// With `Accept: application/yaml`, the document alone.
#[utoipa::path(get, path = "/workflows/{name}", tag = "workflows",
    params(("name" = String, Path, description = "the workflow"), VersionQuery),
    responses((status = 200, description = "the workflow", content(
        (DocumentView = "application/json"), (String = "application/yaml")))))]
async fn show(
    State(app): State<App>,
    At(name): At<String>,
    Params(query): Params<VersionQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let known = app.engine().workflows().into_iter().find(|(known, _)| **known == *name);
    let stored = app.flows().text(&name, query.version).await;
    let versions = known.map(|(_, versions)| versions).unwrap_or_default();
    let asked = query.version.or(versions.last().copied());
    let (version, document) = match (stored, asked) {
        (Ok((version, text)), _) => (version, Some(text)),
        (Err(_), Some(version)) if versions.contains(&version) => (version, None),
        (Err(Error::DefinitionNotFound { .. }), Some(version)) if !versions.is_empty() => {
            let message =
                format!("workflow {name:?} has no version {version}; it has {versions:?}");
            return Err(ApiError::not_found("DEFINITION_NOT_FOUND", message));
        }
        (Err(error), _) => return Err(error.into()),
    };
    let wants_yaml = headers.get(header::ACCEPT).is_some_and(|accept| accept == "application/yaml");
    if let Some(text) = document.as_ref().filter(|_| wants_yaml) {
        return Ok(([(header::CONTENT_TYPE, "application/yaml")], text.clone()).into_response());
    }
    let flow = document.as_deref().and_then(|text| abide_flow::parse(text).ok());
    let input = flow.and_then(|flow| flow.input);
    Ok(Reply(DocumentView { name, version, versions, document, input }).into_response())
}

/// What is wrong with a document.
#[derive(Debug, Serialize, ToSchema)]
struct ValidationView {
    valid: bool,
    #[schema(value_type = Vec<Value>)]
    problems: Vec<Problem>,
    /// The same for a person, each with its line; empty when there is none.
    report: String,
}

/// Check a document without registering it
#[utoipa::path(post, path = "/workflows/validate", tag = "workflows",
    request_body(content((String = "application/yaml"), (Value = "application/json"))),
    responses((status = 200, description = "everything that is wrong with it", body = ValidationView)))]
async fn validate(raw: Raw) -> Result<Reply<ValidationView>, ApiError> {
    let text = document(&raw)?;
    let problems = abide_flow::parse(text).err().unwrap_or_default();
    let report = match problems.is_empty() {
        true => String::new(),
        false => abide_flow::report("document", text, &problems),
    };
    Ok(Reply(ValidationView { valid: problems.is_empty(), problems, report }))
}
