//! How callers sign.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a caller signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scheme {
    /// `Stripe-Signature: t=…,v1=…`
    Stripe,
    /// `X-Hub-Signature-256: sha256=…`
    Github,
    /// Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`
    Standard,
    /// A header (`X-Signature`) with the HMAC-SHA256 of the body in hexadecimal digits
    Hmac,
}

/// How a webhook knows its caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Verify {
    pub(crate) scheme: Scheme,
    /// The environment variable that holds the secret. It is read with each call.
    #[schema(example = "STRIPE_WEBHOOK_SECRET")]
    pub(crate) secret_env: String,
    /// `hmac` only: the header with the signature; `X-Signature` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<String>,
    /// `hmac` only: a header with the time of signing in Unix seconds. What is signed is then
    /// `<time>.<body>`, and calls older than 5 minutes are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timestamp_header: Option<String>,
}
