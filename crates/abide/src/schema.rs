//! JSON Schema: what a payload may be.

use std::fmt;

use jsonschema::Validator;
use schemars::JsonSchema;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::json::Json;

/// A JSON Schema, compiled. References reach nothing outside it.
pub(crate) struct Schema {
    text: Value,
    validator: Validator,
}

impl Schema {
    /// Compiles a schema.
    pub(crate) fn new(text: Value) -> Result<Self> {
        let validator = jsonschema::validator_for(&text).map_err(|refused| Error::Invalid {
            what: "JSON Schema".into(),
            message: located(refused.instance_path().as_str(), &refused),
        })?;
        Ok(Self { text, validator })
    }

    /// The schema of a Rust type.
    pub(crate) fn of<T: JsonSchema>() -> Result<Self> {
        Self::new(schemars::schema_for!(T).to_value())
    }

    /// The payload with defaults filled in, or what is wrong with it and where. One that is absent
    /// is looked at as `null`, and stays absent if that is fine.
    pub(crate) fn admit(&self, payload: Option<&Json>) -> Result<Option<Json>, String> {
        let decoded = payload.map(Json::decode).transpose().map_err(|e: Error| e.to_string())?;
        let mut value: Value = decoded.unwrap_or_default();
        let is_filled = fill(&self.text, &self.text, &mut value, MOST_LEVELS);
        if let Some(wrong) = self.validator.iter_errors(&value).next() {
            return Err(located(wrong.instance_path().as_str(), &wrong));
        }
        if is_filled {
            return Json::encode(&value).map(Some).map_err(|refused| refused.to_string());
        }
        Ok(payload.cloned())
    }
}

/// Checks that a value is a JSON Schema that can be used: it compiles, and refers to nothing outside it.
///
/// # Errors
/// What is wrong with it and where.
pub fn check_schema(schema: &Value) -> Result<()> {
    Schema::new(schema.clone()).map(drop)
}

/// How deep defaults are looked for: a schema may refer to itself.
const MOST_LEVELS: usize = 64;

/// Fills in what is missing and has a default. Says whether anything was.
fn fill(root: &Value, schema: &Value, value: &mut Value, levels: usize) -> bool {
    if levels == 0 {
        return false;
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.is_some_and(|schema| fill(root, schema, value, levels - 1));
    }
    let mut is_filled = false;
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        is_filled |= fill(root, part, value, levels - 1);
    }
    if let (Some(properties), Value::Object(object)) =
        (schema.get("properties").and_then(Value::as_object), &mut *value)
    {
        for (name, schema) in properties {
            match (object.get_mut(name), schema.get("default")) {
                (Some(value), _) => is_filled |= fill(root, schema, value, levels - 1),
                (None, Some(default)) => {
                    object.insert(name.clone(), default.clone());
                    is_filled = true;
                }
                (None, None) => {}
            }
        }
    }
    if let (Some(items), Value::Array(array)) = (schema.get("items"), value) {
        for item in array {
            is_filled |= fill(root, items, item, levels - 1);
        }
    }
    is_filled
}

fn located(path: &str, what: &dyn fmt::Display) -> String {
    if path.is_empty() { what.to_string() } else { format!("at {path}: {what}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(text: Value) -> Schema {
        Schema::new(text).unwrap()
    }

    fn admitted(schema: &Schema, payload: &Value) -> Result<Value, String> {
        let payload = Json::encode(payload).unwrap();
        Ok(schema.admit(Some(&payload))?.unwrap().decode().unwrap())
    }

    #[test]
    fn defaults_are_filled_in_at_every_level_and_through_references() {
        let order = schema(json!({
            "type": "object",
            "properties": {
                "currency": { "default": "EUR" },
                "lines": { "type": "array", "items": { "$ref": "#/$defs/line" } }
            },
            "$defs": { "line": { "properties": { "count": { "default": 1, "type": "integer" } } } }
        }));
        let filled = admitted(&order, &json!({"lines": [{}, {"count": 3}]}));
        let expected = json!({"currency": "EUR", "lines": [{"count": 1}, {"count": 3}]});
        assert_eq!(filled, Ok(expected));
    }

    #[test]
    fn a_payload_that_needs_no_default_keeps_its_own_text() {
        let any = schema(json!({"properties": {"a": {"default": 1}}}));
        let payload = Json::from_stored(r#"{ "b":1.0, "a":2 }"#.to_owned()).unwrap();
        assert_eq!(any.admit(Some(&payload)).unwrap().unwrap().as_str(), payload.as_str());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let order =
            schema(json!({"properties": {"a": {"properties": {"b": {"type": "boolean"}}}}}));
        let refused = admitted(&order, &json!({"a": {"b": "no"}})).unwrap_err();
        assert_eq!(refused, r#"at /a/b: "no" is not of type "boolean""#);
    }

    #[test]
    fn an_absent_payload_stays_absent_where_null_is_fine() {
        assert_eq!(schema(json!({})).admit(None), Ok(None));
        assert!(schema(json!({"type": "object"})).admit(None).is_err());
    }

    #[test]
    fn a_schema_that_is_none_or_looks_elsewhere_is_refused() {
        assert!(Schema::new(json!({"type": "nonsense"})).is_err());
        assert!(check_schema(&json!({"type": "nonsense"})).is_err());
        assert!(check_schema(&json!({"type": "object"})).is_ok());
        assert!(Schema::new(json!({"$ref": "https://example.com/schema.json"})).is_err());
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_followed_as_deep_as_the_payload() {
        let tree = schema(json!({
            "$ref": "#/$defs/node",
            "$defs": { "node": { "properties": {
                "kind": { "default": "leaf" }, "next": { "$ref": "#/$defs/node" } } } }
        }));
        let filled = admitted(&tree, &json!({"next": {}}));
        assert_eq!(filled, Ok(json!({"kind": "leaf", "next": {"kind": "leaf"}})));
    }
}
