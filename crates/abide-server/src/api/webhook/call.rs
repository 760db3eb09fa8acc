//! A call from outside, and the event that a webhook makes of it.

use abide::Timestamp;
use abide::expr::Env;
use abide::publication::Publication;
use abide_flow::{Field, Unresolved};
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::definition::Webhook;
use super::signature::{Refused, Secret};
use crate::api::error::ApiError;
use crate::api::sound::unsound;

/// A call as it came.
pub(crate) struct Call {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What a webhook makes of a call.
pub(crate) struct Made {
    pub(crate) event: Publication,
    /// The instance that it is for, if it is for one.
    pub(crate) to: Option<String>,
}

impl Call {
    /// Whether it comes from who knows the secret; answers with the id that it has by itself.
    pub(crate) fn verify(
        &self,
        webhook: &Webhook,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<String, Refused> {
        webhook.verify.check(secret, &self.headers, &self.body, now)
    }

    /// The event of a call that is trusted.
    pub(crate) fn event(
        &self,
        name: &str,
        webhook: &Webhook,
        own_id: String,
    ) -> Result<Made, ApiError> {
        if let Some(why) = unsound(&self.body) {
            return Err(no_event(format!("the body is not acceptable JSON: {why}")));
        }
        let body: Value = serde_json::from_slice(&self.body)
            .map_err(|refused| no_event(format!("the body is not JSON: {refused}")))?;
        let headers = Value::Object(self.header_texts());
        let known = Env::new().with("body", &body).with("headers", &headers);
        let templates = webhook.templates()?;
        let render =
            |at: &str, field: &Field| field.render(at, &known).map_err(|all| unresolved(&all));
        let text = |at: &str, field: &Field| match render(at, field)? {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            Value::Number(number) => Ok(Some(number.to_string())),
            other => Err(no_event(format!("{at} must be a text, not {other}"))),
        };
        let maybe = |at: &str, field: &Option<Field>| match field {
            Some(field) => text(at, field),
            None => Ok(None),
        };
        let mut event = Map::new();
        event.insert("type".into(), render("type", &templates.event_type)?);
        event.insert("payload".into(), render("payload", &templates.payload)?);
        event.insert("id".into(), maybe("id", &templates.id)?.unwrap_or(own_id).into());
        let source = maybe("source", &templates.source)?;
        let source = source.unwrap_or_else(|| format!("webhooks/{name}"));
        event.insert("source".into(), source.into());
        // Read as if somebody had sent it, so that it is checked like everything else.
        let event = Publication::from_json(Value::Object(event).to_string().as_bytes());
        let event = event.map_err(|refused| no_event(refused.to_string()))?;
        Ok(Made { event, to: maybe("to", &templates.to)?.filter(|to| !to.is_empty()) })
    }

    /// The headers as templates see them. Several of one name are one, as HTTP has it.
    fn header_texts(&self) -> Map<String, Value> {
        let mut texts = Map::new();
        for name in self.headers.keys() {
            let values = self.headers.get_all(name).iter();
            let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
            texts.insert(name.as_str().to_owned(), values.join(", ").into());
        }
        texts
    }
}

fn no_event(message: String) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "EVENT_INVALID", message)
}

fn unresolved(all: &[Unresolved]) -> ApiError {
    let each = |one: &Unresolved| {
        let why = one.error.as_deref().unwrap_or("is undefined");
        format!("`{}` at `{}` {why}", one.expression, one.field)
    };
    let all: Vec<String> = all.iter().map(each).collect();
    no_event(format!("the call lacks what the webhook needs: {}", all.join("; ")))
}
