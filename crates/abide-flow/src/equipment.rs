//! What documents may use of the program that runs them.

use abide::{BoxError, Error, NonRetryable};
use serde_json::Value;

use crate::action::Actions;
use crate::field::Field;
use crate::flow::Call;
use crate::interpret::{Snapshot, unresolved};

/// Functions, connections and secrets for the steps of documents.
#[derive(Default)]
pub struct Equipment {
    pub(crate) actions: Actions,
}

impl Equipment {
    /// Functions that documents may call.
    #[must_use]
    pub fn actions(mut self, actions: Actions) -> Self {
        self.actions = actions;
        self
    }

    pub(crate) async fn call(&self, known: &Snapshot, call: &Call) -> Result<Value, BoxError> {
        let name = self.text(known, &call.action, "call.action")?;
        let input = self.render_or_null(known, call.input.as_ref(), "call.input")?;
        self.actions.call(&name, input).await
    }
}

impl Equipment {
    /// The value of a field, with secrets.
    fn render(&self, known: &Snapshot, field: &Field, at: &str) -> Result<Value, BoxError> {
        let rendered = known.look(&[], |known| field.render(at, known));
        rendered.map_err(|missing| NonRetryable::new(Error::Failed(unresolved(&missing))).into())
    }

    fn render_or_null(
        &self,
        known: &Snapshot,
        field: Option<&Field>,
        at: &str,
    ) -> Result<Value, BoxError> {
        field.map_or(Ok(Value::Null), |field| self.render(known, field, at))
    }

    fn text(&self, known: &Snapshot, field: &Field, at: &str) -> Result<String, BoxError> {
        match self.render(known, field, at)? {
            Value::String(text) => Ok(text),
            other => Err(NonRetryable::new(format!("`{at}` must be a text, not {other}")).into()),
        }
    }

    pub(crate) async fn http(
        &self,
        _: &Snapshot,
        _: &crate::Http,
        _: String,
    ) -> Result<Value, BoxError> {
        Err("http is being wired".into())
    }

    pub(crate) async fn tool(&self, _: &Snapshot, _: &crate::Tool) -> Result<Value, BoxError> {
        Err("tools are being wired".into())
    }
}
