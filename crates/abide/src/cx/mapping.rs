//! Parts of a payload that go into `workflow.context`.

use serde_json::Value;

use crate::error::Result;
use crate::json::Json;
use crate::mapping::at_path;

use super::Cx;

/// Variables and the dotted paths of what they get.
#[derive(Clone, Default)]
pub(super) struct Mapping(Vec<(String, String)>);

impl Mapping {
    pub(super) fn add(&mut self, variable: &str, path: &str) {
        self.0.push((variable.to_owned(), path.to_owned()));
    }

    /// Takes the parts out of an event that came.
    pub(super) fn apply(&self, cx: &Cx, received: &Json) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let event: Value = received.decode()?;
        for (variable, path) in &self.0 {
            cx.context().set(variable, at_path(&event["payload"], path))?;
        }
        Ok(())
    }
}
