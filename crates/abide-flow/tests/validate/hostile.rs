//! Documents that are too large, too deep, or nothing at all: refused, never a panic.

use abide_flow::{Limits, parse, parse_within};
use proptest::prelude::*;

use crate::{problems, steps};

const ORDER: &str = include_str!("order.yaml");

#[test]
fn a_document_that_is_too_large_is_refused_before_it_is_read() {
    let text = format!("name: w\n{}", "x: [".repeat(2_500_000));
    assert_eq!(
        problems(&text),
        [format!(
            "1:1: the document has {} bytes; at most 1048576 are allowed; the limit is document.maxBytes",
            text.len()
        )]
    );
}

#[test]
fn too_many_steps_are_refused() {
    let text = steps(&"- {id: a, sleep: 1}\n".repeat(20_000));
    let told = problems(&text);
    assert!(
        told[0].starts_with(
            "10003:3: there are more than 10000 steps; the limit is document.maxSteps"
        ),
        "{told:?}"
    );
    assert_eq!(told.len(), 1);
    let limits = Limits { bytes: 10 << 20, ..Limits::default() };
    let text = steps(&"- {id: a, sleep: 1}\n".repeat(100_000));
    assert_eq!(parse_within(&text, &limits).unwrap_err().len(), 1);
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    for deep in
        ["[".repeat(50_000), "- ".repeat(50_000), "{a: ".repeat(50_000), "? ".repeat(50_000)]
    {
        let told = problems(&deep);
        assert!(
            told[0].contains("nested more than 100 levels deep; the limit is document.maxDepth"),
            "{told:?}"
        );
    }
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert!(problems(&steps(&format!("- {{id: a, set: {{x: {}}}}}", nested(90)))).is_empty());
    assert!(
        problems(&steps(&format!("- {{id: a, set: {{x: {}}}}}", nested(99))))[0]
            .contains("maxDepth")
    );
}

#[test]
fn aliases_of_aliases_are_refused() {
    let mut bomb = String::from("x-0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for nth in 1..30 {
        let before = format!("*a{}", nth - 1);
        bomb += &format!("x-{nth}: &a{nth} [{}]\n", [before.as_str(); 9].join(", "));
    }
    let told = problems(&bomb);
    assert!(told[0].contains("anchors and aliases stand for more than 4194304 bytes; the limit is document.maxAliasBytes"), "{told:?}");
    let long = format!("x-a: &a {}\nx-b: [{}]", "y".repeat(100_000), "*a, ".repeat(1_000));
    assert!(problems(&long)[0].contains("maxAliasBytes"));
    let deep = format!(
        "x-a: &a {}1{}\nx-b: {}*a{}",
        "[".repeat(60),
        "]".repeat(60),
        "[".repeat(60),
        "]".repeat(60)
    );
    assert!(problems(&deep)[0].contains("maxDepth"));
}

#[test]
fn very_many_problems_are_cut_and_counted() {
    let text = format!(
        "name: w\n{}steps: [{{id: a, sleep: 1}}]\n",
        (0..5_000).map(|n| format!("f{n}: 1\n")).collect::<String>()
    );
    let found = parse(&text).unwrap_err();
    assert_eq!(found.len(), 1_000);
    assert!(found[999].hint.as_ref().unwrap().contains("and 4000 more problems"));
}

#[test]
fn a_text_with_very_many_expressions_is_read_once() {
    let text = steps(&format!("- {{id: a, set: {{x: '{}'}}}}", "${input.a} ".repeat(60_000)));
    assert!(problems(&text).is_empty());
}

/// Whatever is said, it is said of a place that is in the text.
fn places_are_in(text: &str) {
    let Err(found) = parse(text) else { return };
    assert!(!found.is_empty());
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in &found {
        let line = lines.get(problem.position.line - 1);
        let length = line.unwrap_or_else(|| panic!("{problem} in {text:?}")).chars().count();
        assert!((1..=length + 1).contains(&problem.position.column), "{problem} in {text:?}");
    }
    let mut sorted = found.clone();
    sorted.sort_by_key(|problem| problem.position);
    assert_eq!(found, sorted, "in the order of the document");
    assert!(!abide_flow::report("x.yaml", text, &found).is_empty());
}

/// A document with something cut out, put in, doubled or exchanged.
fn mutated(from: usize, length: usize, kind: u8, insert: &str) -> String {
    let chars: Vec<char> = ORDER.chars().collect();
    let from = from % chars.len();
    let to = (from + length).min(chars.len());
    let part = |range: std::ops::Range<usize>| chars[range].iter().collect::<String>();
    let (before, cut, after) = (part(0..from), part(from..to), part(to..chars.len()));
    match kind % 4 {
        0 => before + &after,
        1 => format!("{before}{insert}{cut}{after}"),
        2 => format!("{before}{cut}{cut}{after}"),
        _ => format!("{before}{insert}{after}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutations_never_panic(from in 0_usize..4_000, length in 0_usize..40, kind in 0_u8..4, insert in "[ -~\n\t\u{e9}]{0,12}") {
        places_are_in(&mutated(from, length, kind, &insert));
    }

    #[test]
    fn pieces_of_the_format_never_panic(parts in prop::collection::vec(prop::sample::select(vec![
        "name: w\n", "steps:\n", "- id: a\n", "  sleep: ", "1m\n", "{", "}", "[", "]", ", ", ": ", "\n", "  ", "- ", "'", "\"", "|\n", ">-\n",
        "${", "steps.a", "&x ", "*x", "<<", "!!str ", "\\u00e9", "é", "\r\n", "\u{feff}", "\t", "# c\n", "---\n", "next: ", "if: ", "parallel: ",
        "forEach: ", "items: ", "input.x", " && ", "handlers:\n",
    ]), 0..40)) {
        places_are_in(&parts.concat());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        places_are_in(&String::from_utf8_lossy(&bytes));
    }
}
