//! A webhook as an operator writes it.

use abide::expr::{Roots, Shape};
use abide_flow::Field;
use axum::http::{HeaderName, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::scheme::{Scheme, Verify};
use crate::api::error::ApiError;

/// Makes an event of a call. All but `verify` may hold `${…}` over `body` (the JSON of the call) and
/// `headers` (names in lower case).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Webhook {
    /// The type of the event.
    #[serde(rename = "type")]
    #[schema(example = "stripe.${body.type}")]
    pub(crate) event_type: String,
    /// Its payload; the whole body when absent.
    #[serde(default = "whole_body")]
    #[schema(example = "${body.data.object}")]
    pub(crate) payload: Value,
    /// Its id: the same call again is then the same event. When absent, what the scheme has for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "${body.id}")]
    pub(crate) id: Option<String>,
    /// Its source; `webhooks/{name}` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// The instance that it is sent to. When absent or null it is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "${body.metadata.instanceId}")]
    pub(crate) to: Option<String>,
    pub(crate) verify: Verify,
}

fn whole_body() -> Value {
    Value::from("${body}")
}

/// A webhook with its templates read.
pub(super) struct Templates {
    pub(super) event_type: Field,
    pub(super) payload: Field,
    pub(super) id: Option<Field>,
    pub(super) source: Option<Field>,
    pub(super) to: Option<Field>,
}

impl Webhook {
    /// Everything that can be checked before there is a call.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        self.templates()?;
        let Verify { scheme, secret_env, header, timestamp_header } = &self.verify;
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if secret_env.is_empty() || !secret_env.bytes().all(is_part) {
            return Err(invalid("verify.secretEnv", "must name an environment variable"));
        }
        for (field, given) in [("header", header), ("timestampHeader", timestamp_header)] {
            let Some(name) = given else { continue };
            let field = format!("verify.{field}");
            if *scheme != Scheme::Hmac {
                return Err(invalid(&field, "is only for the scheme hmac"));
            }
            HeaderName::try_from(name).map_err(|_| invalid(&field, "must name a header"))?;
        }
        Ok(())
    }

    pub(super) fn templates(&self) -> Result<Templates, ApiError> {
        let text = |name, text: &String| template(name, &Value::from(text.as_str()));
        let maybe = |name, given: &Option<String>| {
            given.as_ref().map(|given| text(name, given)).transpose()
        };
        Ok(Templates {
            event_type: text("type", &self.event_type)?,
            payload: template("payload", &self.payload)?,
            id: maybe("id", &self.id)?,
            source: maybe("source", &self.source)?,
            to: maybe("to", &self.to)?,
        })
    }
}

fn template(name: &str, value: &Value) -> Result<Field, ApiError> {
    let roots = Roots::new().with("body", Shape::Any).with("headers", Shape::Any);
    let read = Field::parse(value).and_then(|field| field.check(&roots).map(|()| field));
    read.map_err(|(path, wrong)| {
        let at = if path.is_empty() { name.to_owned() } else { format!("{name}.{path}") };
        invalid(&at, &wrong.to_string())
    })
}

fn invalid(field: &str, why: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "DEFINITION_INVALID", format!("{field}: {why}"))
}
