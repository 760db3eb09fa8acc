//! Lets a request through, or says why not.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::need::{Need, is_stream, need};
use super::scope::Scope;
use super::tell::Shown;
use super::{Ready, origin};
use crate::api::app::App;
use crate::api::error::ApiError;

pub(super) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let asked = Asked::of(&request);
    let Need::Token(needed) = asked.need else { return next.run(request).await };
    match app.guard().ready(&app).await {
        Ok(ready) => {
            let admitted = if ready.tokens.are_any() {
                asked.check(needed, &app, ready)
            } else {
                origin::check(&request, app.settings())
            };
            match admitted {
                Ok(()) => next.run(request).await,
                Err(refused) => refused.into_response(),
            }
        }
        Err(broken) => broken.into_response(),
    }
}

/// What a request needs, and what it shows for it.
struct Asked {
    need: Need,
    bearer: Option<String>,
    /// A token in the address, where that is allowed.
    in_address: Option<String>,
}

impl Asked {
    fn of(request: &Request) -> Self {
        let (method, extensions) = (request.method(), request.extensions());
        let route = extensions.get::<MatchedPath>().map(MatchedPath::as_str);
        let shown = extensions.get::<Shown>().filter(|_| is_stream(method, route));
        Self {
            need: need(method, route),
            bearer: bearer(request.headers()),
            in_address: shown.map(|Shown(token)| token.clone()),
        }
    }

    fn check(&self, needed: Scope, app: &App, ready: &Ready) -> Result<(), ApiError> {
        let now = app.engine().now();
        let shown = match (&self.bearer, &self.in_address) {
            (Some(secret), _) => ready.tokens.scope_of(secret, &ready.keys, now),
            (None, Some(token)) => ready.keys.opens(token, now).then_some(Scope::Read),
            (None, None) => None,
        };
        let Some(scope) = shown else {
            let message = "show a token that is known: `Authorization: Bearer abd_…`";
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message));
        };
        if scope < needed {
            let (scope, needed) = (scope.as_str(), needed.as_str());
            let message = format!("this needs the scope {needed}; the token has {scope}");
            return Err(ApiError::new(StatusCode::FORBIDDEN, "FORBIDDEN", message));
        }
        Ok(())
    }
}

/// The one token in the headers.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (given.next(), given.next()) else { return None };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}
