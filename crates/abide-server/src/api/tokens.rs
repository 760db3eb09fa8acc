//! Tokens: making, listing and revoking them.

use std::time::Duration;

use abide::Timestamp;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Asked, Reply};
use super::error::ApiError;
use super::guard::{NewToken, Scope, Token};
use super::params::{At, Span};
use super::view::Moment;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(list))
        .routes(routes!(revoke))
        .routes(routes!(access))
}

/// What a token is to allow.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TokenBody {
    /// For people.
    name: Option<String>,
    /// What it allows; each includes those before it: `read`, `write`, `admin`.
    scopes: Vec<Scope>,
    /// For how long it is good, e.g. `90 days`; for ever when absent.
    #[schema(value_type = Option<String>)]
    expires_in: Option<Span>,
}

/// A token, without itself.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TokenView {
    #[schema(example = "tok_3f9a2c1b0d4e5f60")]
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    scopes: Vec<Scope>,
    created_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Moment>,
}

impl TokenView {
    fn new(id: &str, token: Token) -> Self {
        let Token { name, scopes, created_at, expires_at, .. } = token;
        let (created_at, expires_at) = (created_at.into(), expires_at.map(Into::into));
        Self { id: id.to_owned(), name, scopes, created_at, expires_at }
    }
}

/// A token that was just made.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MadeView {
    /// The token itself. It is shown this once.
    #[schema(example = "abd_…")]
    token: String,
    #[serde(flatten)]
    about: TokenView,
}

/// Make a token
///
/// From the first one on, every request has to show one.
#[utoipa::path(post, path = "/tokens", tag = "tokens", request_body = TokenBody,
    responses((status = 201, description = "the token, shown this once", body = MadeView)))]
async fn create(
    State(app): State<App>,
    Asked(body): Asked<TokenBody>,
) -> Result<Response, ApiError> {
    if body.scopes.is_empty() {
        return Err(ApiError::invalid("scopes is empty; give read, write or admin"));
    }
    let (new, now) = (NewToken::new()?, app.engine().now());
    let expires_at = body.expires_in.map(|Span(span)| now.after(span));
    let token = Token::new(&new, body.name, body.scopes, now, expires_at);
    let ready = app.guard().ready(&app).await?;
    let id = ready.tokens.add(&app, &ready.keys, token.clone()).await?;
    let made = MadeView { token: new.secret, about: TokenView::new(&id, token) };
    Ok((StatusCode::CREATED, unkept(Reply(made))).into_response())
}

/// An answer that nobody on the way may keep.
fn unkept(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response
}

/// All tokens but those of the settings.
#[derive(Debug, Serialize, ToSchema)]
struct TokenList {
    tokens: Vec<TokenView>,
}

/// List tokens
///
/// Those of the settings are not listed: they can't be revoked here.
#[utoipa::path(get, path = "/tokens", tag = "tokens",
    responses((status = 200, description = "without the tokens themselves", body = TokenList)))]
async fn list(State(app): State<App>) -> Result<Reply<TokenList>, ApiError> {
    let kept = app.guard().ready(&app).await?.tokens.kept();
    let tokens = kept.into_iter().map(|(id, token)| TokenView::new(&id, token)).collect();
    Ok(Reply(TokenList { tokens }))
}

/// Revoke a token
///
/// The last one with the scope `admin` stays.
#[utoipa::path(delete, path = "/tokens/{id}", tag = "tokens",
    params(("id" = String, Path, description = "the token")),
    responses((status = 204, description = "revoked")))]
async fn revoke(State(app): State<App>, At(id): At<String>) -> Result<StatusCode, ApiError> {
    app.guard().ready(&app).await?.tokens.remove(&app, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// For how long.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AccessBody {
    /// For how long it is good, e.g. `30s`: a minute when absent, ten at most.
    #[schema(value_type = Option<String>)]
    ttl: Option<Span>,
}

/// A short-lived token for the addresses of streams.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AccessView {
    access_token: String,
    expires_at: Moment,
}

/// Make a short-lived token that reads streams
///
/// It is passed as `?access_token=`, because `EventSource` can't send headers.
#[utoipa::path(post, path = "/access-tokens", tag = "tokens", request_body = AccessBody,
    responses((status = 201, description = "good in this process only", body = AccessView)))]
async fn access(
    State(app): State<App>,
    Asked(body): Asked<AccessBody>,
) -> Result<Response, ApiError> {
    const USUAL: Duration = Duration::from_secs(60);
    const LONGEST: Duration = Duration::from_secs(600);
    let ttl = body.ttl.map_or(USUAL, |Span(ttl)| ttl);
    if ttl > LONGEST {
        return Err(ApiError::invalid("ttl is over 10 minutes; make a new one before it is over"));
    }
    let until: Timestamp = app.engine().now().after(ttl);
    let keys = &app.guard().ready(&app).await?.keys;
    let view = AccessView { access_token: keys.access_token(until), expires_at: until.into() };
    Ok((StatusCode::CREATED, unkept(Reply(view))).into_response())
}
