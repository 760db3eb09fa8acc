//! The reference of the HTTP interface names what is there, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test that can't read the docs has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use abide::history::EntryKind;

/// Every code that a request may be refused with, and its status.
const REFUSALS: &[(&str, &str)] = &[
    ("WORKFLOW_NOT_FOUND", "404"),
    ("EVENT_NOT_FOUND", "404"),
    ("SUBSCRIPTION_NOT_FOUND", "404"),
    ("DEFINITION_NOT_FOUND", "404"),
    ("OUTPUT_NOT_FOUND", "404"),
    ("STEP_NOT_FOUND", "404"),
    ("WORKFLOW_TYPE_UNKNOWN", "400"),
    ("VALIDATION_ERROR", "400"),
    ("EVENT_INVALID", "400"),
    ("INVALID_SCHEMA", "400"),
    ("FILTER_INVALID", "400"),
    ("DEFINITION_INVALID", "400"),
    ("WORKFLOW_ALREADY_EXISTS", "409"),
    ("WORKFLOW_NOT_RUNNING", "409"),
    ("INVALID_TRANSITION", "409"),
    ("UNAUTHORIZED", "401"),
    ("FORBIDDEN", "403"),
    ("PAYLOAD_TOO_LARGE", "413"),
    ("BUFFER_FULL", "429"),
    ("RATE_LIMITED", "429"),
    ("STORE_UNAVAILABLE", "503"),
    ("INTERNAL_ERROR", "500"),
];

/// Every code that an instance may fail with.
const FAILURES: &[&str] = &[
    "WORKFLOW_FAILED",
    "WORKFLOW_PANICKED",
    "WORKFLOW_TIMEOUT",
    "STEP_FAILED",
    "STEP_RETRY_EXHAUSTED",
    "STEP_INTERRUPTED",
    "STEP_TIMEOUT",
    "EVENT_TIMEOUT",
    "RESULT_TOO_LARGE",
    "LIMIT_EXCEEDED",
    "COMPENSATION_FAILED",
    "NON_DETERMINISTIC",
];

fn doc(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::read_to_string(docs.join(name)).unwrap()
}

/// The cells of every row of the tables below a heading.
fn rows<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let below = text.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let section = below.split_once("\n## ").map_or(below, |(section, _)| section);
    let rows = section.lines().filter(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn the_reference_names_exactly_the_routes_there_are() {
    let described = serde_json::to_value(abide_server::openapi()).unwrap();
    let there: BTreeSet<String> = described["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            let methods = methods.filter(|key| *key != "parameters");
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    let text = doc("http.md");
    let rows = rows(&text, "Routes");
    let is_route =
        |text: &&str| text.split_once(' ').is_some_and(|(_, path)| path.starts_with('/'));
    let named: Vec<&str> = rows.iter().flat_map(|row| quoted(row[0]).filter(is_route)).collect();
    let told: BTreeSet<String> = named.iter().map(|route| (*route).to_owned()).collect();
    assert_eq!(told, there);
    assert_eq!(named.len(), told.len(), "each is named once");
}

#[test]
fn the_reference_names_every_code_with_its_status() {
    let text = doc("http.md");
    let rows = rows(&text, "Errors");
    for (code, status) in REFUSALS {
        let found = rows.iter().any(|row| quoted(row[0]).any(|c| c == *code) && row[1] == *status);
        assert!(found, "{code} {status}");
    }
    for code in FAILURES {
        assert!(rows.iter().any(|row| quoted(row[0]).any(|named| named == *code)), "{code}");
    }
}

#[test]
fn the_guide_of_streams_names_every_type_of_entry() {
    let text = doc("streams.md");
    let rows = rows(&text, "What happens, in words");
    let told: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    let words = EntryKind::ALL.iter().filter(|kind| **kind != EntryKind::Seen);
    let there: BTreeSet<&str> = words.map(|kind| kind.as_str()).collect();
    assert_eq!(told, there);
}

/// Where a heading can be linked to.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_between_the_docs_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let others = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"];
    let mut broken = Vec::new();
    for page in pages.chain(others.map(|name| root.join(name))) {
        let text = fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.contains(char::is_whitespace) {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let leads = path.exists()
                && (heading.is_empty()
                    || fs::read_to_string(&path).unwrap().lines().any(|line| {
                        line.starts_with('#')
                            && anchor(line.trim_start_matches('#').trim()) == heading
                    }));
            if !leads {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
