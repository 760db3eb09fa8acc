//! Functions of the embedding program that documents may call.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use abide::BoxError;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

type Function = dyn Fn(Value) -> BoxFuture<'static, Result<Value, BoxError>> + Send + Sync;

/// Functions by name; see [`Actions::with`].
#[derive(Clone, Default)]
pub struct Actions(BTreeMap<String, Arc<Function>>);

impl Actions {
    /// Registers a function: `call: {action: name, input: …}` runs it as a step.
    #[must_use]
    pub fn with<F, Fut, I, O, E>(mut self, name: &str, function: F) -> Self
    where
        F: Fn(I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        I: DeserializeOwned,
        O: Serialize,
        E: Into<BoxError>,
    {
        let name_too = name.to_owned();
        let call = move |input: Value| -> BoxFuture<'static, Result<Value, BoxError>> {
            let called = serde_json::from_value(input).map(&function);
            let name = name_too.clone();
            Box::pin(async move {
                let called = called.map_err(|refused| {
                    abide::NonRetryable::new(format!("input of action {name:?}: {refused}"))
                })?;
                let output = called.await.map_err(Into::into)?;
                Ok(serde_json::to_value(output)?)
            })
        };
        self.0.insert(name.to_owned(), Arc::new(call));
        self
    }

    /// Calls one, or says that there is none.
    pub(crate) fn call(
        &self,
        name: &str,
        input: Value,
    ) -> BoxFuture<'static, Result<Value, BoxError>> {
        if let Some(function) = self.0.get(name) {
            return function(input);
        }
        let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("no action {name:?} is registered; known: {known}");
        Box::pin(async move { Err(abide::NonRetryable::new(message).into()) })
    }
}

impl std::fmt::Debug for Actions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
