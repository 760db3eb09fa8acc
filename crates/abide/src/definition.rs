//! What an event of a type looks like.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::json::Json;
use crate::schema::Schema;
use crate::status::words;

words! {
    /// Whether a definition holds.
    DefinitionStatus, "definition status", {
        /// It holds.
        Active = "active",
        /// It holds, and whoever publishes should look for another type.
        Deprecated = "deprecated",
        /// It does not hold yet.
        Draft = "draft",
    }
}

/// What is known about the events of a type. Payloads are checked when they are published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventDefinition {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema of the payload; its defaults are filled in. None takes any payload.
    #[serde(default, alias = "payloadSchema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Whether it holds.
    #[serde(default = "active")]
    pub status: DefinitionStatus,
    /// Payloads to learn from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
}

fn active() -> DefinitionStatus {
    DefinitionStatus::Active
}

impl Default for EventDefinition {
    fn default() -> Self {
        Self { name: None, description: None, schema: None, status: active(), examples: Vec::new() }
    }
}

impl EventDefinition {
    /// Payloads of this schema.
    #[must_use]
    pub fn of(schema: Value) -> Self {
        Self { schema: Some(schema), ..Self::default() }
    }
}

/// A definition with its schema read.
pub(crate) struct Defined {
    pub(crate) written: EventDefinition,
    schema: Option<Schema>,
}

impl Defined {
    /// Reads a definition. Its examples have to fit.
    pub(crate) fn new(written: EventDefinition) -> Result<Self> {
        let schema = written.schema.clone().map(Schema::new).transpose()?;
        let defined = Self { written, schema };
        for (place, example) in defined.written.examples.iter().enumerate() {
            defined.fits(Some(Json::encode(example)?)).map_err(|wrong| Error::Invalid {
                what: "event definition".into(),
                message: format!("example {place} does not fit: {wrong}"),
            })?;
        }
        Ok(defined)
    }

    /// The payload with defaults filled in, or what is wrong with it.
    pub(crate) fn admit(&self, payload: Option<Json>) -> Result<Option<Json>, String> {
        match self.written.status {
            DefinitionStatus::Draft => Ok(payload),
            DefinitionStatus::Active | DefinitionStatus::Deprecated => self.fits(payload),
        }
    }

    fn fits(&self, payload: Option<Json>) -> Result<Option<Json>, String> {
        match &self.schema {
            Some(schema) => schema.admit(payload.as_ref()),
            None => Ok(payload),
        }
    }
}
