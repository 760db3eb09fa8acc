//! A token: 32 random bytes that are shown once, and of which only a hash is kept.

use abide::Timestamp;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use serde::{Deserialize, Serialize};

use super::keys::{from_hex, hex, random};
use super::scope::Scope;
use crate::api::error::ApiError;

/// What every token begins with, so that scanners find one that was left somewhere.
const PREFIX: &str = "abd_";

/// A token that an operator wrote into the settings: its hash, never itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfiguredToken {
    /// For people.
    pub name: String,
    /// The SHA-256 of the token in hexadecimal digits, as `abide token new` prints it.
    pub hash: String,
    /// What it allows.
    pub scopes: Vec<Scope>,
}

/// A token that was just made.
#[derive(Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The token itself. Nobody can show it again.
    pub secret: String,
    /// What is kept of it.
    pub hash: String,
}

impl NewToken {
    /// Makes one.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn generate() -> Result<Self, String> {
        Self::new().map_err(|_| "the system gives no random bytes".to_owned())
    }

    pub(crate) fn new() -> Result<Self, ApiError> {
        let bytes: [u8; 32] = random()?;
        let secret = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
        let hash = hex(&hashed(&secret));
        Ok(Self { secret, hash })
    }
}

/// So that no log shows it by accident.
impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewToken").field("hash", &self.hash).finish_non_exhaustive()
    }
}

/// No slow hash is needed: nobody guesses 32 random bytes.
pub(super) fn hashed(secret: &str) -> Vec<u8> {
    digest::digest(&digest::SHA256, secret.as_bytes()).as_ref().to_vec()
}

/// What is kept of a token, as a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Token {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    hash: String,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
}

impl Token {
    pub(crate) fn new(
        new: &NewToken,
        name: Option<String>,
        scopes: Vec<Scope>,
        created_at: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Self {
        Self { name, hash: new.hash.clone(), scopes, created_at, expires_at }
    }

    /// The highest of its scopes.
    pub(crate) fn scope(&self) -> Option<Scope> {
        self.scopes.iter().max().copied()
    }

    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// The hash, when it is one.
    pub(super) fn hash(&self) -> Option<Vec<u8>> {
        from_hex(&self.hash).filter(|hash| hash.len() == 32)
    }
}

impl From<&ConfiguredToken> for Token {
    fn from(configured: &ConfiguredToken) -> Self {
        let ConfiguredToken { name, hash, scopes } = configured.clone();
        let created_at = Timestamp(0);
        Self { name: Some(name), hash, scopes, created_at, expires_at: None }
    }
}
