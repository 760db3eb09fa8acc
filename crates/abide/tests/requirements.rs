//! `docs/requirements.md` names a test for every requirement, and every test it names is there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation ends the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What has no test because it is not there yet.
const PENDING: [&str; 0] = [];

/// What each part asks for: numbered rows, and labelled ones.
const PARTS: [(char, u32); 5] = [('A', 21), ('B', 27), ('C', 28), ('D', 19), ('E', 17)];
const LABELLED: [(&str, usize); 3] = [("A edge:", 4), ("B shipped:", 5), ("C pitfall:", 5)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first cell of every row of every table, and the tests that its last cell names.
fn rows() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let rows = rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let named = cells.last().unwrap().split('`').filter(|text| text.contains("::"));
        (cells[0].to_owned(), named.map(str::to_owned).collect())
    });
    let is_header = |first: &str| first == "requirement" || first == "race";
    rows.filter(|(first, _): &(String, _)| !is_header(first)).collect()
}

/// Every source file below a directory, with its text.
fn sources(directory: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.to_string_lossy().replace('\\', "/");
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_test_that_is_named_is_there() {
    let mut files = BTreeMap::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("examples/tests"), &mut files);
    let mut missing = Vec::new();
    for (requirement, tests) in rows() {
        for test in tests {
            let (file, name) = test.split_once("::").unwrap();
            let end = format!("/{file}");
            let texts: Vec<_> = files.iter().filter(|(path, _)| path.ends_with(&end)).collect();
            let there = match &texts[..] {
                [(_, text)] => text.contains(&format!("fn {name}(")),
                _ => false,
            };
            if !there {
                missing.push(format!("{requirement}: {test} ({} such files)", texts.len()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_requirement_has_a_row_and_every_row_has_a_test() {
    let rows = rows();
    let numbers: Vec<&str> = rows.iter().filter_map(|(first, _)| first.split(' ').next()).collect();
    for (part, last) in PARTS {
        for number in 1..=last {
            let wanted = format!("{part}{number}");
            let found = numbers.iter().filter(|number| **number == wanted).count();
            assert_eq!(found, 1, "rows of {wanted}");
        }
    }
    for (label, times) in LABELLED {
        let found = rows.iter().filter(|(first, _)| first.starts_with(label)).count();
        assert_eq!(found, times, "rows of {label}");
    }
    let without =
        rows.iter().filter(|(_, tests)| tests.is_empty()).map(|(first, _)| first.as_str());
    assert_eq!(without.collect::<BTreeSet<_>>(), BTreeSet::from(PENDING));
}
