//! The JSON Schema of the format, for editors; made of the tables that the reader goes by.

use serde_json::{Map, Value, json};

use crate::read::{DOCUMENT, KINDS, STEP, Shape, Takes};

/// The JSON Schema of workflow documents. It knows fields and types; what only [`crate::parse`] knows are
/// names of steps, expressions and the order of things.
///
/// ```
/// let schema = abide_flow::format_schema();
/// assert_eq!(schema["required"], serde_json::json!(["name", "steps"]));
/// ```
#[must_use]
pub fn format_schema() -> Value {
    let mut definitions = Map::new();
    let mut schema = object(&[&DOCUMENT], &mut definitions);
    let step = step(&mut definitions);
    definitions.insert("step".to_owned(), step);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".into(), json!("Abide workflow"));
        schema.insert("patternProperties".into(), json!({ "^x-": true }));
        schema.insert("$defs".into(), Value::Object(definitions));
    }
    schema
}

/// A step: what all have, and exactly one of the kinds.
fn step(definitions: &mut Map<String, Value>) -> Value {
    let mut step = object(&[&STEP, &KINDS], definitions);
    let one = KINDS.names().map(|kind| json!({ "required": [kind] }));
    step["oneOf"] = one.collect();
    step
}

fn object(shapes: &[&Shape], definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for spec in shapes.iter().flat_map(|shape| shape.fields) {
        let mut field = schema(spec.takes, definitions);
        if let Some(field) = field.as_object_mut() {
            field.insert("description".to_owned(), json!(spec.about));
        } else {
            field = json!({ "description": spec.about });
        }
        properties.insert(spec.name.to_owned(), field);
        required.extend(spec.is_required.then_some(spec.name));
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A reference to the definition of a map.
fn definition(shape: &Shape, definitions: &mut Map<String, Value>) -> Value {
    if !definitions.contains_key(shape.name) {
        let made = object(&[shape], definitions);
        definitions.insert(shape.name.to_owned(), made);
    }
    json!({ "$ref": format!("#/$defs/{}", shape.name) })
}

fn schema(takes: Takes, definitions: &mut Map<String, Value>) -> Value {
    let template = json!({ "type": "string", "pattern": r"\$\{" });
    let steps = json!({ "type": "array", "items": { "$ref": "#/$defs/step" }, "minItems": 1 });
    match takes {
        Takes::Text | Takes::Period | Takes::Pattern | Takes::EventType | Takes::StepId => {
            json!({ "type": "string" })
        }
        Takes::Url => json!({ "type": "string", "pattern": r"^https?://|\$\{" }),
        Takes::NewId => {
            json!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^#.\[\]]+$" })
        }
        Takes::Expr | Takes::Filter => json!({ "type": ["string", "boolean", "number"] }),
        Takes::Template => json!({ "type": ["string", "number", "boolean"] }),
        Takes::Duration | Takes::Since => json!({ "type": ["string", "number"], "minimum": 0 }),
        Takes::Moment => json!({ "type": ["string", "integer"] }),
        Takes::Count => json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, template] }),
        Takes::Whole => json!({ "type": "integer", "minimum": 0 }),
        Takes::Integer => json!({ "type": "integer" }),
        Takes::Flag => json!({ "type": "boolean" }),
        Takes::Value | Takes::Outcome | Takes::InputMapping => json!(true),
        Takes::Members | Takes::Context => json!({ "anyOf": [{ "type": "object" }, template] }),
        Takes::Variables | Takes::Mapping => json!({ "type": "object" }),
        Takes::Word(words) => json!({ "enum": words }),
        Takes::WordOrTemplate(words) => json!({ "anyOf": [{ "enum": words }, template] }),
        Takes::Schema => json!({ "type": ["object", "boolean"] }),
        Takes::Patterns => {
            let list = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
            json!({ "anyOf": [{ "type": "string" }, list] })
        }
        Takes::Map(shape) => definition(shape, definitions),
        Takes::MapOf(shape) => {
            let one = json!({ "anyOf": [definition(shape, definitions), { "type": "null" }] });
            json!({ "type": "object", "additionalProperties": one })
        }
        Takes::ListOf(shape) => json!({ "type": "array", "items": definition(shape, definitions) }),
        Takes::Steps | Takes::Racers => steps,
        Takes::Branches => json!({ "type": "array", "items": steps, "minItems": 1 }),
        Takes::Phases => {
            let item = json!({ "anyOf": [{ "$ref": "#/$defs/step" }, steps] });
            json!({ "type": "array", "items": item, "minItems": 1 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{blocks, kept};

    #[test]
    fn the_schema_in_the_docs_is_the_one_of_the_reader() {
        let schema = format_schema();
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        kept("yaml.schema.json", &text);
        abide::check_schema(&schema).unwrap();
    }

    #[test]
    fn every_example_of_the_docs_fits_the_schema() {
        let schema = jsonschema::validator_for(&format_schema()).unwrap();
        for block in blocks() {
            let tree =
                crate::tree::build(&block, &crate::Limits::default(), &mut Default::default());
            let errors: Vec<String> = schema
                .iter_errors(&tree.unwrap().to_json())
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{errors:?} in {block}");
        }
    }
}
