//! Every field of the format is used by a document that a test runs, and refuses what it does not take.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::finding::Findings;
use crate::limits::Limits;
use crate::parse;
use crate::read::{DOCUMENT, KINDS, STEP, Shape, Spec, Takes};
use crate::reference::{blocks, shapes};
use crate::tree::build;

/// The documents that tests run: those of `tests/interpret`, the examples and the reference.
fn documents() -> Vec<Value> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut texts = blocks();
    for source in files(&here.join("tests/interpret")) {
        texts.extend(literals(&source).into_iter().filter(|text| text.contains("steps:")));
    }
    texts.extend(files(&here.join("../../examples/flows")));
    let whole = texts.iter().filter(|text| parse(text).is_ok());
    let tree = |text: &String| build(text, &Limits::default(), &mut Findings::default());
    whole.filter_map(tree).map(|tree| tree.to_json()).collect()
}

fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

/// The plain texts of a program, as far as documents need it.
fn literals(source: &str) -> Vec<String> {
    let (mut found, mut text, mut is_inside) = (Vec::new(), String::new(), false);
    let mut letters = source.chars().peekable();
    while let Some(letter) = letters.next() {
        match (is_inside, letter) {
            (true, '\\') => match letters.next() {
                // A line that goes on.
                Some('\n') => while letters.next_if(|next| next.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                Some(escaped) => text.push(escaped),
                None => {}
            },
            (true, '"') => {
                found.push(std::mem::take(&mut text));
                is_inside = false;
            }
            (true, letter) => text.push(letter),
            (false, letter) => is_inside = letter == '"',
        }
    }
    found
}

/// Where a field is used: a document and the way to the field in it.
struct Used {
    document: Value,
    pointer: String,
}

/// The first use of every field, by the name of its map and its own.
fn uses() -> BTreeMap<(&'static str, &'static str), Used> {
    let mut uses = BTreeMap::new();
    for document in documents() {
        let mut found = Vec::new();
        look(&document, &[&DOCUMENT], "", &mut found);
        for (shape, field, pointer) in found {
            let used = || Used { document: document.clone(), pointer };
            uses.entry((shape, field)).or_insert_with(used);
        }
    }
    uses
}

type Found = Vec<(&'static str, &'static str, String)>;

/// Notes the fields of a map that has these shapes, and of everything in it.
fn look(map: &Value, shapes: &[&'static Shape], at: &str, found: &mut Found) {
    let Value::Object(members) = map else { return };
    for (name, value) in members {
        let known = shapes.iter().find_map(|shape| Some((shape.name, shape.field(name)?)));
        let Some((shape, spec)) = known else { continue };
        let at = format!("{at}/{}", name.replace('/', "~1"));
        found.push((shape, spec.name, at.clone()));
        inside(value, spec.takes, &at, found);
    }
}

fn inside(value: &Value, takes: Takes, at: &str, found: &mut Found) {
    match takes {
        Takes::Map(shape) => look(value, &[shape], at, found),
        Takes::MapOf(shape) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                look(value, &[shape], &format!("{at}/{name}"), found);
            }
        }
        Takes::ListOf(shape) => {
            for (nth, value) in value.as_array().into_iter().flatten().enumerate() {
                look(value, &[shape], &format!("{at}/{nth}"), found);
            }
        }
        Takes::Steps | Takes::Phases | Takes::Branches | Takes::Racers => {
            for (nth, value) in value.as_array().into_iter().flatten().enumerate() {
                let at = format!("{at}/{nth}");
                match value {
                    Value::Array(_) => inside(value, Takes::Steps, &at, found),
                    step => look(step, &[&STEP, &KINDS], &at, found),
                }
            }
        }
        _ => {}
    }
}

fn fields() -> impl Iterator<Item = (&'static Shape, &'static Spec)> {
    shapes().into_iter().flat_map(|shape| shape.fields.iter().map(move |spec| (shape, spec)))
}

/// Something that a field does not take.
fn wrong(takes: Takes) -> Value {
    match takes {
        Takes::Text | Takes::Template => json!({"a": "map"}),
        Takes::Url => json!("not a url"),
        Takes::Expr | Takes::Filter => json!("1 +"),
        Takes::Duration | Takes::Period => json!("soonish"),
        Takes::Moment | Takes::Since => json!("someday"),
        Takes::Count => json!(0),
        Takes::Whole => json!(-1),
        Takes::Integer => json!(1.5),
        Takes::Flag => json!("maybe"),
        Takes::Value | Takes::Outcome => json!("${"),
        Takes::Word(_) | Takes::WordOrTemplate(_) => json!("neither"),
        Takes::NewId => json!("a#b"),
        Takes::StepId => json!("nowhere"),
        Takes::Schema => json!({"type": "nonsense"}),
        Takes::EventType | Takes::Pattern => json!("a..b"),
        Takes::Patterns => json!(["a..b"]),
        Takes::InputMapping => json!({"a": "${"}),
        Takes::Members
        | Takes::Context
        | Takes::Variables
        | Takes::Mapping
        | Takes::Map(_)
        | Takes::MapOf(_)
        | Takes::ListOf(_)
        | Takes::Steps
        | Takes::Phases
        | Takes::Branches
        | Takes::Racers => json!(3),
    }
}

#[test]
fn every_field_is_used_by_a_document_that_a_test_runs() {
    let uses = uses();
    let unused: Vec<_> = fields()
        .map(|(shape, spec)| (shape.name, spec.name))
        .filter(|field| !uses.contains_key(field))
        .collect();
    assert!(unused.is_empty(), "no test runs a document with {unused:?}");
}

#[test]
fn every_field_refuses_what_it_does_not_take_and_says_where() {
    let uses = uses();
    for (shape, spec) in fields() {
        let Used { document, pointer } = &uses[&(shape.name, spec.name)];
        let mut document = document.clone();
        *document.pointer_mut(pointer).unwrap() = wrong(spec.takes);
        let text = document.to_string();
        let problems = parse(&text).expect_err(&text);
        let is_told = problems.iter().any(|problem| problem.path.contains(spec.name));
        // An id is part of the way to its step.
        let is_told = is_told || matches!(spec.takes, Takes::NewId);
        assert!(is_told, "{}.{} is not told of: {problems:?}", shape.name, spec.name);
    }
}

#[test]
fn every_field_that_has_to_be_there_is_missed() {
    let uses = uses();
    for (shape, spec) in fields().filter(|(_, spec)| spec.is_required) {
        let Used { document, pointer } = &uses[&(shape.name, spec.name)];
        let mut document = document.clone();
        let (map, _) = pointer.rsplit_once('/').unwrap();
        document.pointer_mut(map).unwrap().as_object_mut().unwrap().remove(spec.name);
        let problems = parse(&document.to_string()).unwrap_err();
        let is_told = problems.iter().any(|problem| problem.message.contains(spec.name));
        assert!(is_told, "{}.{} is not missed: {problems:?}", shape.name, spec.name);
    }
}
