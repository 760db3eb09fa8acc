//! The tokens that are known: those of the settings, and those that the store keeps.

use std::sync::Arc;

use abide::{DocumentKind, Json, Timestamp};
use axum::http::StatusCode;
use parking_lot::RwLock;
use ring::hmac;

use super::keys::{Keys, hex, random};
use super::scope::Scope;
use super::token::{Token, hashed};
use crate::api::app::App;
use crate::api::error::ApiError;

const PURPOSE: &str = "token";

/// See the module. In memory, because every request asks.
pub(crate) struct Tokens {
    all: RwLock<Vec<Known>>,
    /// Held while the store is asked, so that two changes at once can't remove the last two.
    changing: tokio::sync::Mutex<()>,
}

struct Known {
    /// None when it is of the settings, where it can't be removed.
    id: Option<Arc<str>>,
    token: Token,
    /// Its hash, signed: comparing signatures takes the same time whatever they are.
    tag: hmac::Tag,
}

impl Known {
    fn new(id: Option<Arc<str>>, token: Token, keys: &Keys) -> Result<Self, String> {
        let hash = token.hash().ok_or("its hash is not 64 hexadecimal digits")?;
        if token.scopes.is_empty() {
            return Err("it has no scopes".to_owned());
        }
        Ok(Self { id, tag: keys.sign(PURPOSE, &hash), token })
    }

    fn is_admin(&self) -> bool {
        self.token.scope() == Some(Scope::Admin)
    }
}

impl Tokens {
    /// Reads them all. One that can't be read stops the server from serving: without it, more might be
    /// open than should be.
    pub(super) async fn load(app: &App, keys: &Keys) -> Result<Self, ApiError> {
        let mut all = Vec::new();
        for configured in &app.settings().tokens {
            let known = Known::new(None, configured.into(), keys);
            all.push(known.map_err(|why| unreadable(&configured.name, &why))?);
        }
        for document in app.engine().store().documents(DocumentKind::Token).await? {
            let known = Known::new(Some(Arc::clone(&document.name)), document.body.decode()?, keys);
            all.push(known.map_err(|why| unreadable(&document.name, &why))?);
        }
        Ok(Self { all: RwLock::new(all), changing: tokio::sync::Mutex::new(()) })
    }

    /// Whether there is any, be it expired: a server that had one is never open again.
    pub(crate) fn are_any(&self) -> bool {
        !self.all.read().is_empty()
    }

    /// What somebody may do who shows this.
    pub(super) fn scope_of(&self, secret: &str, keys: &Keys, now: Timestamp) -> Option<Scope> {
        let hash = hashed(secret);
        let mut found = None;
        // All of them are looked at, so that the time does not tell which it was.
        for known in self.all.read().iter() {
            if keys.verify(PURPOSE, &hash, known.tag.as_ref()) && !known.token.is_expired(now) {
                found = found.max(known.token.scope());
            }
        }
        found
    }

    /// Those that the store keeps, by id.
    pub(crate) fn kept(&self) -> Vec<(Arc<str>, Token)> {
        let all = self.all.read();
        let kept = |known: &Known| known.id.clone().map(|id| (id, known.token.clone()));
        all.iter().filter_map(kept).collect()
    }

    /// Keeps another one, under an id of its own.
    pub(crate) async fn add(
        &self,
        app: &App,
        keys: &Keys,
        token: Token,
    ) -> Result<Arc<str>, ApiError> {
        let _changing = self.changing.lock().await;
        if !self.are_any() && token.scope() != Some(Scope::Admin) {
            let message = "the first token needs the scope admin, or nobody could make another";
            return Err(ApiError::invalid(message));
        }
        let id: Arc<str> = format!("tok_{}", hex(&random::<8>()?)).into();
        let known = Known::new(Some(Arc::clone(&id)), token.clone(), keys)
            .map_err(|why| ApiError::invalid(format!("the token is not acceptable: {why}")))?;
        let body = Json::encode(&token)?;
        app.engine().store().put_document(DocumentKind::Token, &id, body).await?;
        self.all.write().push(known);
        Ok(id)
    }

    /// Forgets one: who shows it is a stranger from now on.
    pub(crate) async fn remove(&self, app: &App, id: &str) -> Result<(), ApiError> {
        let _changing = self.changing.lock().await;
        let is_it = |known: &Known| known.id.as_deref() == Some(id);
        let (exists, is_last) = {
            let all = self.all.read();
            let mut admins = all.iter().filter(|known| known.is_admin());
            (all.iter().any(is_it), admins.clone().any(is_it) && admins.all(is_it))
        };
        if !exists {
            return Err(ApiError::not_found("NOT_FOUND", format!("no token {id:?}")));
        }
        if is_last {
            let message = format!("{id} is the last with the scope admin; make another first");
            return Err(ApiError::new(StatusCode::CONFLICT, "INVALID_TRANSITION", message));
        }
        app.engine().store().remove_document(DocumentKind::Token, id).await?;
        self.all.write().retain(|known| !is_it(known));
        Ok(())
    }
}

fn unreadable(name: &str, why: &str) -> ApiError {
    tracing::error!(token = name, why, "a token can't be read, so nothing is served");
    let message = format!("the token {name:?} can't be read: {why}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", message)
}
