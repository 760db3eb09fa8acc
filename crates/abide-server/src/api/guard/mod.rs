//! Who may do what, and from where.
//!
//! ```text
//!   request ──▶ tell (id, span, panics, counts) ──▶ cors ──▶ admit ──▶ room ──▶ route
//! ```
//!
//! With tokens, a request shows one whose scope covers what it asks for. Without any, the server is for
//! those who sit at the machine: [`origin`] refuses what a web page could have sent.

mod access_token;
mod admit;
mod cors;
mod keys;
mod listening;
mod need;
mod offline;
mod origin;
mod request_id;
mod room;
mod scope;
mod tell;
#[cfg(test)]
mod tests;
mod token;
mod tokens;

pub use listening::may_listen;
pub use offline::{TokenTerms, make_token};
pub use scope::Scope;
pub use token::{ConfiguredToken, NewToken};

pub(super) use keys::{from_hex, hex};
pub(super) use token::Token;
pub(super) use tokens::Tokens;

use axum::Router;
use axum::middleware::from_fn_with_state;
use tokio::sync::{OnceCell, Semaphore};

use super::app::App;
use super::error::ApiError;
use super::meter::Meter;
use crate::settings::Settings;
use keys::Keys;

/// What the layers in front of the routes share.
pub(super) struct Guard {
    /// Read from the store with the first request: until then nothing is admitted.
    ready: OnceCell<Ready>,
    /// Places for requests that are served at once.
    room: Semaphore,
    /// How many there are.
    places: usize,
    pub(super) meter: Meter,
}

pub(super) struct Ready {
    pub(super) keys: Keys,
    pub(super) tokens: Tokens,
}

impl Guard {
    pub(super) fn new(settings: &Settings) -> Self {
        let places = settings.max_requests.min(Semaphore::MAX_PERMITS);
        let room = Semaphore::new(places);
        Self { ready: OnceCell::new(), room, places, meter: Meter::default() }
    }

    /// How many requests have a place.
    pub(super) fn under_way(&self) -> u64 {
        (self.places - self.room.available_permits()) as u64
    }

    /// The tokens that are known.
    pub(super) async fn ready(&self, app: &App) -> Result<&Ready, ApiError> {
        let load = async || {
            let keys = Keys::generate()?;
            let tokens = Tokens::load(app, &keys).await?;
            Ok(Ready { keys, tokens })
        };
        self.ready.get_or_try_init(load).await
    }
}

/// Puts the layers in front of routes.
pub(super) fn before(routes: Router<App>, app: &App) -> Router<App> {
    // The last is the first to see a request.
    routes
        .layer(from_fn_with_state(app.clone(), room::layer))
        .layer(from_fn_with_state(app.clone(), admit::layer))
        .layer(from_fn_with_state(app.clone(), cors::layer))
        .layer(from_fn_with_state(app.clone(), tell::layer))
}
