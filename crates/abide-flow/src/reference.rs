//! The tables of `docs/yaml.md`, kept in step with those that the reader goes by.
//!
//! `ABIDE_BLESS=1 cargo test -p abide-flow --lib` writes them anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::flow::{Kind, Step};
use crate::read::{DOCUMENT, KINDS, STEP, Shape, Spec, Takes};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Checks that a file of the docs has this text, or writes it when asked to.
pub(crate) fn kept(name: &str, text: &str) {
    if std::env::var_os("ABIDE_BLESS").is_some() {
        fs::write(path(name), text).unwrap();
    }
    let kept = fs::read_to_string(path(name)).unwrap_or_default();
    assert!(kept == text, "docs/{name} is stale; run ABIDE_BLESS=1 cargo test -p abide-flow --lib");
}

/// The documents in the docs.
pub(crate) fn blocks() -> Vec<String> {
    let text = fs::read_to_string(path("yaml.md")).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or("").to_owned()).collect()
}

/// All shapes by name, in the order in which they are met.
pub(crate) fn shapes() -> Vec<&'static Shape> {
    const ROOTS: [&Shape; 3] = [&DOCUMENT, &STEP, &KINDS];
    let mut all: Vec<&'static Shape> = ROOTS.to_vec();
    let mut nth = 0;
    while let Some(shape) = all.get(nth) {
        let inner = shape.fields.iter().filter_map(|spec| match spec.takes {
            Takes::Map(shape) | Takes::MapOf(shape) | Takes::ListOf(shape) => Some(shape),
            _ => None,
        });
        let new: Vec<_> = inner.filter(|new| !all.iter().any(|old| old.name == new.name)).collect();
        all.extend(new);
        nth += 1;
    }
    all
}

fn row(spec: &Spec) -> String {
    let needed = if spec.is_required { " (required)" } else { "" };
    let wanted = match spec.takes {
        Takes::Map(shape) | Takes::MapOf(shape) | Takes::ListOf(shape) => {
            format!("{}, see `{}`", spec.takes.wanted().split(':').next().unwrap_or(""), shape.name)
        }
        takes => takes.wanted(),
    };
    format!("| `{}`{needed} | {wanted} | {} |\n", spec.name, spec.about)
}

fn table(shape: &Shape) -> String {
    let rows: String = shape.fields.iter().map(row).collect();
    format!("\n| field | takes | |\n|---|---|---|\n{rows}")
}

#[test]
fn every_field_is_in_the_docs_as_the_reader_has_it() {
    let mut text = fs::read_to_string(path("yaml.md")).unwrap();
    for shape in shapes() {
        let (begin, end) = (format!("<!-- fields: {} -->\n", shape.name), "<!-- end -->");
        let Some((before, after)) = text.split_once(&begin) else {
            panic!("{begin} is not in the docs")
        };
        let (_, after) = after.split_once(end).unwrap();
        text = format!("{before}{begin}{}\n{end}{after}", table(shape));
    }
    kept("yaml.md", &text);
}

#[test]
fn every_kind_has_an_example_and_every_example_is_fine() {
    let mut shown = BTreeSet::new();
    for block in &blocks() {
        match crate::parse(block) {
            Ok(flow) => flow.steps.iter().chain(&flow.handlers).for_each(|s| note(s, &mut shown)),
            Err(problems) => panic!("{}", crate::report("docs/yaml.md", block, &problems)),
        }
    }
    let kinds: BTreeSet<&str> = KINDS.names().collect();
    assert_eq!(shown, kinds);
}

/// Notes what a step does, and what those in it do.
fn note(step: &Step, kinds: &mut BTreeSet<&'static str>) {
    kinds.insert(step.kind.name());
    match &step.kind {
        Kind::Parallel(branches) => branches.iter().flatten().for_each(|s| note(s, kinds)),
        Kind::Race(steps) => steps.iter().for_each(|s| note(s, kinds)),
        Kind::ForEach(each) => each.steps.iter().for_each(|s| note(s, kinds)),
        _ => {}
    }
}
