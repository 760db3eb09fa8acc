//! Fields: unknown, missing, of the wrong type, and constants that are none.

use crate::{check, fine, problems, steps};

#[test]
fn a_document_needs_a_name_and_steps() {
    check(
        "{}",
        &["1:1: `name` is missing; it is a text", "1:1: `steps` is missing; it is a list of steps"],
    );
    check(
        "{name: '', steps: [{id: a, sleep: 1}]}",
        &["1:8: a name has 1 to 255 bytes and no control characters"],
    );
    check(
        "{name: 5, steps: [{id: a, sleep: 1}]}",
        &["1:8: a text was expected, not a number; write it in quotes"],
    );
    check("{name: w, steps: []}", &["1:18: there is no step in this list"]);
    check("{name: w, steps: 5}", &["1:18: a list of steps was expected, not a number"]);
}

#[test]
fn a_step_needs_an_id_that_can_be_named() {
    check(&steps("- sleep: 1m"), &["3:3: `id` is missing; it is an id"]);
    check(&steps("- {id: '', sleep: 1m}"), &["3:8: an id has 1 to 200 bytes, not 0"]);
    for bad in ["a#b", "a[0", "a]", "a.b"] {
        assert!(
            problems(&steps(&format!("- {{id: '{bad}', sleep: 1m}}")))[0]
                .contains("an id can't have"),
            "{bad}"
        );
    }
    let long = "x".repeat(201);
    assert!(problems(&steps(&format!("- {{id: {long}, sleep: 1m}}")))[0].contains("not 201"));
    let text = steps("- {id: my-id, sleep: 1m}\n- {id: b, set: {x: '${steps[\"my-id\"].output}'}}");
    fine(&text);
}

#[test]
fn an_id_is_unique_also_across_branches_and_handlers() {
    let text = steps("- id: p\n  parallel:\n  - [{id: a, sleep: 1m}]\n  - [{id: a, sleep: 1m}]\n");
    assert!(problems(&text)[0].starts_with("6:11: the id `a` is taken by the step in line 5"));
    let text = "name: w\nsteps: [{id: a, sleep: 1m, onError: a}]\nhandlers: [{id: a, sleep: 1m}]";
    assert!(problems(text).iter().any(|told| told.contains("taken by the step in line 2")));
}

#[test]
fn a_step_does_exactly_one_thing() {
    let told = problems(&steps("- {id: a, next: a}"));
    assert!(
        told[0].starts_with("3:3: the step does not say what to do; it is one of http, sleep,"),
        "{told:?}"
    );
    let told = problems(&steps("- {id: a, sleep: 1m, return: 5}"));
    assert_eq!(
        told,
        [
            "3:22: a step does one thing, and `return` is the second after `sleep`; make it a step of its own"
        ]
    );
    let told = problems(&steps("- {id: a, htp: {url: 'http://x'}}"));
    assert_eq!(told, ["3:11: `htp` is not known here; did you mean `http`?"], "told once");
    let told = problems(&steps("- just text"));
    assert!(told[0].starts_with("3:3: a map was expected, not a text"), "{told:?}");
}

#[test]
fn durations_are_checked_where_they_are_constant() {
    for good in ["1m", "24 hours", "PT5M", "250", "'${input.time}'", "1.5"] {
        fine(&steps(&format!("- {{id: a, sleep: {good}}}")));
    }
    for bad in ["'5'", "soon", "-1s", "-5", "true", "[]"] {
        assert_eq!(problems(&steps(&format!("- {{id: a, sleep: {bad}}}"))).len(), 1, "{bad}");
    }
    check(
        &steps("- {id: a, sleep:  }"),
        &["3:16: a value is missing: a duration such as `5 minutes`, or milliseconds"],
    );
    let text = "name: w\ndefaults: {timeout: x, waitTimeout: y, retry: {maxDelay: z}}\nsteps: [{id: a, sleep: 1}]";
    assert_eq!(problems(text).len(), 3);
}

#[test]
fn moments_are_checked_where_they_are_constant() {
    for good in
        ["'2026-01-31T12:00:00Z'", "2026-01-31T12:00:00+01:00", "1769860800000", "'${input.at}'"]
    {
        fine(&steps(&format!("- {{id: a, sleepUntil: {good}}}")));
    }
    for bad in ["tomorrow", "'2026-01-31'", "1.5", "5m"] {
        assert_eq!(problems(&steps(&format!("- {{id: a, sleepUntil: {bad}}}"))).len(), 1, "{bad}");
    }
}

#[test]
fn retries_are_checked() {
    fine(&steps(
        "- {id: a, sleep: 1m, retry: {maxAttempts: 5, delay: 1s, backoff: linear, maxDelay: 1m, maxDuration: 1h}}",
    ));
    fine(&steps("- {id: a, sleep: 1m, retry: {maxAttempts: '${input.n}', backoff: '${input.b}'}}"));
    check(
        &steps("- {id: a, sleep: 1m, retry: {maxAttempts: 0, backoff: exponentiel, attempts: 3}}"),
        &[
            "3:43: 0 is not a whole number from 1, or `${…}`",
            "3:55: `exponentiel` is not one of constant, fixed, linear, exponential; did you mean `exponential`?",
            "3:68: `attempts` is not known here; did you mean `maxAttempts`?",
        ],
    );
    assert_eq!(problems(&steps("- {id: a, sleep: 1m, retry: 3}")).len(), 1);
}

#[test]
fn http_is_checked() {
    fine(&steps(
        "- {id: a, http: {method: POST, url: 'https://x.y/z?q=1', query: {a: 1}, headers: {b: c}, body: [1], stream: true, followRedirects: 3}}",
    ));
    fine(&steps("- {id: a, http: {method: '${input.m}', url: '${input.url}/x'}}"));
    check(
        &steps("- {id: a, http: {method: FETCH}}"),
        &[
            "3:17: `url` is missing; it is a URL",
            "3:26: `FETCH` is not one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS; did you mean `PATCH`?",
        ],
    );
    for bad in ["stock.internal", "ftp://x", "'http:///x'", "5", "'http://a b'"] {
        assert_eq!(
            problems(&steps(&format!("- {{id: a, http: {{url: {bad}}}}}"))).len(),
            1,
            "{bad}"
        );
    }
    assert_eq!(
        problems(&steps(
            "- {id: a, http: {url: 'http://x', stream: yes, followRedirects: -1, headers: [a]}}"
        ))
        .len(),
        3
    );
}

#[test]
fn waits_are_checked() {
    fine(&steps("- {id: a, waitForEvent: {}}"));
    fine(&steps("- {id: a, waitForEvent: {eventPattern: [a.*, '${input.x}'], since: 3600000}}"));
    fine(&steps(
        "- {id: a, waitForEvent: {type: a.b, timeoutAt: 2026-01-31T12:00:00Z, since: now}}",
    ));
    check(
        &steps("- {id: a, waitForEvent: {type: a, eventPattern: b, timeout: 1m, timeoutAt: 5}}"),
        &[
            "3:32: `eventPattern` and `type` can't both be given",
            "3:76: `timeout` and `timeoutAt` can't both be given",
        ],
    );
    check(
        &steps("- {id: a, waitForEvent: {eventPattern: a..b, distinctBy: event.id, since: begin}}"),
        &[
            "3:40: bad event pattern: \"a..b\" has an empty segment",
            "3:58: `distinctBy` says which events count, and needs `count`",
            "3:75: `begin` says no time to look back to; it is `start`, `now`, a moment, a duration or milliseconds",
        ],
    );
    fine(&steps(
        "- {id: a, waitForEvent: {eventPattern: a.*, count: 2, distinctBy: event.payload.u, since: 1h}}",
    ));
    let several = problems(&steps("- {id: a, waitForEvent: {eventPattern: [a, b], count: 2}}"));
    assert!(
        several[0].starts_with("3:55: `count` counts the events of one pattern"),
        "{several:?}"
    );
    for bad in ["0", "-1", "1.5", "'3'", "many"] {
        assert_eq!(
            problems(&steps(&format!("- {{id: a, waitForEvent: {{count: {bad}}}}}"))).len(),
            1,
            "{bad}"
        );
    }
    assert_eq!(problems(&steps("- {id: a, waitForEvent: {eventPattern: []}}")).len(), 1);
}

#[test]
fn schemas_are_compiled_and_problems_placed_in_them() {
    fine(
        "{name: w, input: {type: object}, events: {approval: {schema: true, buffer: queue}, go: }, steps: [{id: a, sleep: 1}]}",
    );
    let text = "name: w\ninput:\n  properties:\n    a: {type: nonsense}\nevents:\n  b: {schema: {type: 5}, buffer: newest}\nsteps: [{id: a, sleep: 1}]\n";
    let told = problems(text);
    assert!(told[0].starts_with("4:15: this is not a JSON Schema: "), "{told:?}");
    assert!(told[1].starts_with("6:22: this is not a JSON Schema: "), "{told:?}");
    assert!(told[2].starts_with("6:34: `newest` is not one of latest, queue, none"), "{told:?}");
    let told = problems("{name: w, events: {'a.*': {}}, steps: [{id: a, sleep: 1}]}");
    assert_eq!(told, ["1:20: `a.*` is a pattern; an event has one type"]);
}

#[test]
fn every_kind_tells_what_it_lacks() {
    for (kind, missing) in [
        ("http", 1),
        ("waitForEvent", 0),
        ("waitForSignal", 1),
        ("receive", 1),
        ("send", 2),
        ("sendEvent", 2),
        ("publish", 1),
        ("setOutput", 2),
        ("getOutput", 2),
        ("emit", 1),
        ("call", 1),
        ("forEach", 2),
        ("workflow", 1),
        ("fail", 1),
        // What a tool lacks is told when it runs.
        ("tool", 0),
    ] {
        let told = problems(&steps(&format!("- {{id: a, {kind}: {{}}}}")));
        assert_eq!(
            told.iter().filter(|told| told.contains("is missing")).count(),
            missing,
            "{kind}: {told:?}"
        );
        let told = problems(&steps(&format!("- {{id: a, {kind}: 5}}")));
        assert!(told[0].contains("a map was expected, not a number"), "{kind}: {told:?}");
    }
}

#[test]
fn sending_takes_a_moment_or_a_delay() {
    fine(&steps("- {id: a, send: {to: x, topic: t, id: m-1, onTerminal: ignore, delay: 5m}}"));
    check(
        &steps("- {id: a, sendEvent: {to: x, type: t, visibleAt: 5, delay: 5m, onTerminal: drop}}"),
        &[
            "3:60: `visibleAt` and `delay` can't both be given",
            "3:76: `drop` is not one of error, ignore",
        ],
    );
    assert_eq!(
        problems(&steps("- {id: a, publish: {type: a.*}}")),
        ["3:27: `a.*` is a pattern; an event has one type"]
    );
}

#[test]
fn branches_are_lists_that_have_steps() {
    check(&steps("- {id: a, parallel: []}"), &["3:21: there is no branch to run"]);
    check(&steps("- {id: a, race: []}"), &["3:17: there is nobody to race"]);
    check(&steps("- {id: a, switch: []}"), &["3:19: there is no case to go by"]);
    check(&steps("- {id: a, parallel: [[]]}"), &["3:22: there is no step in this list"]);
    check(
        &steps("- {id: a, forEach: {items: [1], steps: []}}"),
        &["3:40: there is no step in this list"],
    );
    let told = problems(&steps("- {id: a, parallel: [{id: b, sleep: 1}]}"));
    assert!(told[0].starts_with("3:22: a branch is a list of steps; write a list"), "{told:?}");
    assert_eq!(problems(&steps("- {id: a, parallel: 5}")).len(), 1);
    assert_eq!(
        problems(&steps("- {id: a, forEach: {items: [1], as: steps, steps: [{id: b, sleep: 1}]}}")),
        ["3:37: `steps` has a meaning already"]
    );
    assert_eq!(
        problems(&steps("- {id: a, forEach: {items: [1], as: 1x, steps: [{id: b, sleep: 1}]}}"))
            .len(),
        1
    );
}

#[test]
fn a_case_after_one_without_a_condition_is_told() {
    let text =
        steps("- {id: a, switch: [{next: b}, {when: input.x, next: b}]}\n- {id: b, sleep: 1}");
    check(&text, &["3:31: this case is never looked at: the one before has no `when`"]);
}
