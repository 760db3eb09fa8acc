//! A value that a JSON Schema could mean: for somebody to change, not for a machine to believe.

use serde_json::{Map, Value, json};

/// Objects in objects, at most so deep.
const MAX_DEPTH: usize = 4;

/// A sample with everything that is required.
pub(super) fn of(schema: &Value) -> Value {
    sample(schema, 0)
}

fn sample(schema: &Value, depth: usize) -> Value {
    let given = ["const", "default"].iter().find_map(|key| schema.get(key));
    let first = || ["enum", "examples"].iter().find_map(|key| schema.get(key)?.get(0));
    if let Some(value) = given.or_else(first) {
        return value.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().cloned().unwrap_or_default(),
        kind => kind.clone(),
    };
    match kind.as_str() {
        Some("string") => json!("…"),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("null") => Value::Null,
        _ if depth < MAX_DEPTH => object(schema, depth),
        _ => json!({}),
    }
}

fn object(schema: &Value, depth: usize) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let properties = &schema["properties"];
    let members = required.map(|name| {
        let of_it = properties.get(name);
        (name.to_owned(), of_it.map_or(json!("…"), |inner| sample(inner, depth + 1)))
    });
    Value::Object(members.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_what_is_required() {
        let schema = json!({
            "type": "object",
            "required": ["id", "amount", "kind", "to", "whatever"],
            "properties": {
                "id": {"type": "string"},
                "amount": {"type": "number", "minimum": 5},
                "kind": {"enum": ["a", "b"]},
                "to": {"type": "object", "required": ["city"], "properties": {"city": {"default": "Ulm"}}},
                "optional": {"type": "string"},
            },
        });
        let expect =
            json!({"id": "…", "amount": 5, "kind": "a", "to": {"city": "Ulm"}, "whatever": "…"});
        assert_eq!(of(&schema), expect);
        assert_eq!(of(&json!({"type": "array"})), json!([]));
        assert_eq!(of(&json!({})), json!({}));
    }
}
