//! `workflow.context`: what a workflow knows about itself, open to filters and to people.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::expr::{self, Env, Expr};
use crate::id::InstanceId;
use crate::instance::Instance;
use crate::json::Json;
use crate::run::Resident;
use crate::wait::Folding;

/// The values themselves. They start as the input and are made anew by every replay.
pub(crate) struct ContextMap {
    input: Json,
    /// Filled on first use: most workflows never look.
    values: Option<Value>,
}

impl ContextMap {
    pub(crate) fn new(input: Json) -> Self {
        Self { input, values: None }
    }

    /// What a stored instance knows.
    pub(crate) fn of(instance: &Instance) -> Result<Self> {
        let values = instance.context.as_ref().map(Json::decode).transpose()?;
        Ok(Self { input: instance.input.clone(), values })
    }

    /// Writes what is known now into an expression about an event.
    pub(crate) fn fold(&mut self, instance: &InstanceId, expr: &Expr) -> Result<Folding> {
        let input: Value = self.input.decode()?;
        let context = &*self.values()?;
        let workflow =
            [("id", expr::Value::text(instance.as_str())), ("context", expr::Value::from(context))];
        let known =
            Env::new().with("workflow", expr::Value::object(workflow)).with("input", &input);
        let folded = expr.fold(&known).map_err(|refused| Error::Invalid {
            what: "expression".into(),
            message: refused.to_string(),
        })?;
        Ok(Folding { written: expr.written().into(), folded })
    }

    fn values(&mut self) -> Result<&mut Value> {
        if self.values.is_none() {
            self.values = Some(self.input.decode()?);
        }
        Ok(self.values.get_or_insert(Value::Null))
    }
}

/// A handle on `workflow.context`; see [`crate::Cx::context`].
pub struct Context {
    pub(crate) resident: Arc<Resident>,
}

impl Context {
    /// Sets a value. It is stored with the workflow's next commit.
    ///
    /// # Errors
    /// When the value can't be stored as JSON without being altered.
    pub fn set<T: Serialize>(&self, key: &str, value: T) -> Result<()> {
        let value: Value = Json::encode(&value)?.decode()?;
        let mut state = self.resident.state.lock();
        let values = state.context.values()?;
        if !values.is_object() {
            *values = Value::Object(Map::new());
        }
        if let Value::Object(map) = values {
            map.insert(key.to_owned(), value);
        }
        let changed = Json::encode(values)?;
        // A replay sets what the store has already.
        if state.is_live() {
            state.next.context = Some(changed);
        }
        Ok(())
    }

    /// Reads a value; `None` when it is not there.
    ///
    /// # Errors
    /// When it is not a `T`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let mut state = self.resident.state.lock();
        let Some(value) = state.context.values()?.get(key) else { return Ok(None) };
        Json::encode(value)?.decode().map(Some)
    }
}
