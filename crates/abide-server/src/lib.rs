//! Abide over HTTP: the routes, who may use them, and the sockets they listen on.
//!
//! ```text
//!   socket ──listen──▶ guard (who, from where) ──▶ route ──▶ Engine
//!                                                    └─ views: JSON as the outside sees it
//! ```

mod api;
mod listen;
mod settings;

pub use api::{
    App, ConfiguredToken, NewToken, Scope, TokenTerms, make_token, may_listen, openapi, router,
};
pub use listen::{Listening, listen};
pub use settings::Settings;
