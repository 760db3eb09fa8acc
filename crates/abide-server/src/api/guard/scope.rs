//! What a token allows.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a token allows. Each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// To look.
    Read,
    /// To start, send, publish and control.
    Write,
    /// To change workflows, definitions, triggers, webhooks, sinks and tokens.
    Admin,
}

impl Scope {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}
