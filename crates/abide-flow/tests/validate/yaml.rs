//! The text: YAML, JSON, and what is neither.

use abide_flow::parse;

use crate::{check, fine, problems, steps};

#[test]
fn json_is_read_as_yaml() {
    let flow = fine("{\"name\": \"w\", \"steps\": [\n\t{\"id\": \"a\", \"sleep\": \"1m\"}\n]}");
    assert_eq!((flow.name.as_str(), flow.steps.len()), ("w", 1));
}

#[test]
fn what_is_not_yaml_is_told_with_its_place_and_the_usual_reason() {
    let text = steps("- {id: a, sleep: 1m}\n- id: b\n  if: input.x ? a: b\n  sleep: 1m");
    check(
        &text,
        &["5:18: this is not YAML: mapping values are not allowed in this context; \
                    a text with `: ` in it needs quotes"],
    );
    assert!(problems("name: [")[0].contains("a bracket is not closed"));
    check("", &["1:1: the document is empty"]);
    check(
        "just text",
        &["1:1: a map was expected, not a text; it may have name, description, input, \
        context, events, triggers, steps, handlers, output, defaults, $schema"],
    );
}

#[test]
fn a_template_without_quotes_in_brackets_is_explained() {
    let told = problems(&steps("- {id: a, set: {b: ${input.x}}}"));
    assert!(told[0].contains("quotes"), "{told:?}");
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_the_document() {
    let text = "name: w\nstep: []\nsteps:\n- id: a.b\n  slep: 1m\n- {id: c, sleep: 5}\n- {id: c, sleep: soon}\n";
    check(
        text,
        &[
            "2:1: `step` is not known here; did you mean `steps`?",
            "4:7: an id can't have '.' in it; write `a_b`",
            "5:3: `slep` is not known here; did you mean `sleep`?",
            "7:8: the id `c` is taken by the step in line 6; ids are unique in a document, branches included",
            "7:18: \"soon\" is not a duration: a number was expected at \"soon\"; write for example \
             \"5m\", \"24 hours\" or \"PT5M\"",
        ],
    );
}

#[test]
fn words_that_other_readers_take_for_booleans_are_texts() {
    let flow = fine(&steps("- {id: a, set: {country: no, zip: 01234, on: on, t: 12:30}}"));
    let abide_flow::Kind::Set(set) = &flow.steps[0].kind else { panic!() };
    let told: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    assert!(told.iter().all(|value| value.contains("String")), "{told:?}");
}

#[test]
fn a_key_given_twice_is_told() {
    check(&steps("- {id: a, sleep: 1m, sleep: 2m}"), &["3:22: `sleep` is given twice"]);
}

#[test]
fn a_second_document_a_tag_and_a_number_that_would_change_are_told() {
    let good = steps("- {id: a, sleep: 1m}\n");
    let told = problems(&format!("{good}---\nname: x\n"));
    assert!(told[0].starts_with("4:1: a second document"), "{told:?}");
    let told = problems(&steps("- {id: a, set: {x: !secret y}}"));
    assert!(told[0].contains("a tag that has no meaning here"), "{told:?}");
    fine(&steps("- {id: a, set: {x: !!str 5}}"));
    let told = problems(&steps("- {id: a, set: {x: 18446744073709551616}}"));
    assert_eq!(
        told,
        [
            "3:20: 18446744073709551616 is too large for a number; write it in quotes to keep it as a text"
        ]
    );
}

#[test]
fn anchors_aliases_and_merges_are_filled_in() {
    let text = "x-often: &often {maxAttempts: 9}\nname: w\nsteps:\n\
                - {id: a, sleep: 1m, retry: *often}\n\
                - {id: b, sleep: 1m, retry: {<<: *often, delay: 1s}}\n";
    let flow = fine(text);
    let attempts =
        |step: usize| format!("{:?}", flow.steps[step].retry.as_ref().unwrap().max_attempts);
    assert!(attempts(0).contains('9') && attempts(1).contains('9'));
    let told = problems(&steps("- {id: a, set: &x {a: *x}}"));
    assert_eq!(told, ["3:23: an alias can't stand within what it names"]);
    let told = problems(&steps("- {id: a, <<: 5, sleep: 1m}"));
    assert_eq!(told, ["3:15: `<<` takes a map or a list of maps"]);
}

#[test]
fn problems_have_a_path_and_a_report_with_a_caret() {
    let text = steps("- id: a\n  http: {url: 'http://x/', metod: POST}\n");
    let problems = parse(&text).unwrap_err();
    assert_eq!(problems[0].path, "steps.a.http.metod");
    let report = abide_flow::report("order.yaml", &text, &problems);
    let expect = "order.yaml:4:28: `metod` is not known here\n \
                  4 |   http: {url: 'http://x/', metod: POST}\n   \
                  |                            ^\n   = did you mean `method`?\n";
    assert_eq!(report, expect);
    let json = serde_json::to_value(&problems[0]).unwrap();
    assert_eq!((&json["line"], &json["column"]), (&4.into(), &28.into()));
}
