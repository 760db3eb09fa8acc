//! Webhooks: defining them, and the calls that come in.

use abide::{Document, DocumentKind, Error, Json, Outgoing};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Defined, Raw, Reply};
use super::error::ApiError;
use super::params::At;
use super::view::{DeliveredView, VerdictView};
use super::webhook::{Call, Refused, Secret, Verify, Webhook};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(put))
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(remove))
        .routes(routes!(receive))
}

/// A webhook as it is kept.
#[derive(Debug, Serialize, ToSchema)]
struct WebhookView {
    name: String,
    /// Counts from 1; a change makes the next.
    version: u32,
    #[serde(rename = "type")]
    event_type: String,
    payload: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    verify: Verify,
}

impl WebhookView {
    fn of(document: &abide::Document) -> Result<Self, ApiError> {
        let Webhook { event_type, payload, id, source, to, verify } = document.body.decode()?;
        let (name, version) = (document.name.to_string(), document.version);
        Ok(Self { name, version, event_type, payload, id, source, to, verify })
    }
}

/// All of them, by name.
#[derive(Debug, Serialize, ToSchema)]
struct WebhookList {
    webhooks: Vec<WebhookView>,
}

/// Define a webhook, or change it
///
/// It is called at `/v1/hooks/{name}`, without a token: the signature says who calls.
#[utoipa::path(put, path = "/webhooks/{name}", tag = "webhooks",
    params(("name" = String, Path, description = "the webhook")),
    request_body = Webhook,
    responses((status = 200, description = "as it is kept", body = WebhookView)))]
async fn put(
    State(app): State<App>,
    At(name): At<String>,
    Defined(body): Defined<Webhook>,
) -> Result<Reply<WebhookView>, ApiError> {
    body.check()?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 128 || !name.chars().all(is_part) {
        let message =
            format!("the name {name:?} must be 1 to 128 letters, digits, '-', '_' or '.'");
        return Err(ApiError::invalid(message));
    }
    let stored = app.engine().store();
    let stored = stored.put_document(DocumentKind::Webhook, &name, Json::encode(&body)?).await?;
    Ok(Reply(WebhookView::of(&stored)?))
}

/// List webhooks
#[utoipa::path(get, path = "/webhooks", tag = "webhooks",
    responses((status = 200, description = "all of them", body = WebhookList)))]
async fn list(State(app): State<App>) -> Result<Reply<WebhookList>, ApiError> {
    let all = app.engine().store().documents(DocumentKind::Webhook).await?;
    let webhooks = all.iter().map(WebhookView::of).collect::<Result<_, _>>()?;
    Ok(Reply(WebhookList { webhooks }))
}

/// One webhook
#[utoipa::path(get, path = "/webhooks/{name}", tag = "webhooks",
    params(("name" = String, Path, description = "the webhook")),
    responses((status = 200, description = "the webhook", body = WebhookView)))]
async fn show(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Reply<WebhookView>, ApiError> {
    Ok(Reply(WebhookView::of(&find(&app, &name).await?)?))
}

async fn find(app: &App, name: &str) -> Result<Document, ApiError> {
    let found = app.engine().store().document(DocumentKind::Webhook, name, None).await?;
    Ok(found.ok_or_else(|| missing(name))?)
}

fn missing(name: &str) -> Error {
    Error::DefinitionNotFound { what: "webhook", name: name.to_owned() }
}

/// Remove a webhook
#[utoipa::path(delete, path = "/webhooks/{name}", tag = "webhooks",
    params(("name" = String, Path, description = "the webhook")),
    responses((status = 204, description = "removed")))]
async fn remove(State(app): State<App>, At(name): At<String>) -> Result<StatusCode, ApiError> {
    if app.engine().store().remove_document(DocumentKind::Webhook, &name).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(missing(&name).into())
    }
}

/// What came of a call.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum ReceivedView {
    Published(Box<VerdictView>),
    Sent(DeliveredView),
}

/// Take a call
///
/// It is authorised by its signature. Publishes the event that the webhook makes of it, or sends it to
/// an instance. The same call again changes nothing and is answered as the first time.
#[utoipa::path(post, path = "/hooks/{name}", tag = "webhooks",
    params(("name" = String, Path, description = "the webhook")),
    request_body = serde_json::Value,
    responses((status = 202, description = "what came of it", body = ReceivedView)))]
async fn receive(
    State(app): State<App>,
    At(name): At<String>,
    Raw { headers, bytes }: Raw,
) -> Result<(StatusCode, Reply<ReceivedView>), ApiError> {
    let webhook: Webhook = find(&app, &name).await?.body.decode()?;
    let call = Call { headers, body: bytes };
    let secret = secret(&app, &name, &webhook)?;
    let verified = call.verify(&webhook, &secret, app.engine().now());
    let own_id = verified.map_err(|why| untrusted(&name, &why))?;
    let made = call.event(&name, &webhook, own_id)?;
    let answer = match made.to {
        None => {
            let verdict = app.engine().publish(made.event).await?;
            ReceivedView::Published(Box::new(verdict.into()))
        }
        Some(to) => {
            let mut sent = Outgoing::event(&made.event.event_type);
            if let Some(payload) = &made.event.payload {
                sent = sent.payload(payload);
            }
            if let Some(id) = &made.event.id {
                sent = sent.id(id);
            }
            ReceivedView::Sent(DeliveredView::new(app.handle(&to)?.send(sent).await?, None))
        }
    };
    Ok((StatusCode::ACCEPTED, Reply(answer)))
}

/// An empty secret is none: anybody could sign with it.
fn secret(app: &App, name: &str, webhook: &Webhook) -> Result<Secret, ApiError> {
    let variable = &webhook.verify.secret_env;
    let found = (app.settings().environment)(variable).filter(|secret| !secret.is_empty());
    found.map(Secret).ok_or_else(|| {
        tracing::error!(webhook = name, variable, "the variable with the secret is not set");
        unusable(name)
    })
}

fn untrusted(name: &str, why: &Refused) -> ApiError {
    if *why == Refused::Secret {
        tracing::error!(webhook = name, "{why}");
        return unusable(name);
    }
    tracing::warn!(webhook = name, %why, "a call was refused");
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "UNAUTHORIZED",
        format!("the call is not trusted: {why}"),
    )
}

fn unusable(name: &str) -> ApiError {
    let message = format!("the webhook {name:?} has no secret that can be used; the log says why");
    ApiError::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
}
