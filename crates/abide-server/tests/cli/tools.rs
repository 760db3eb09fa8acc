//! Commands that need no server: demo, bench, validate.

use crate::program::{abide, path, refusal, stdout};

#[test]
fn demo_shows_the_kill_and_every_step_takes_effect_once() {
    let directory = tempfile::tempdir().unwrap();
    let told = stdout(&abide(&["demo", "--dir", path(directory.path())]));
    let (_, timeline) = told.split_once("Timeline of order-42").expect(&told);
    let at = |part: &str| {
        timeline.find(part).unwrap_or_else(|| panic!("{part:?} is missing in\n{timeline}"))
    };
    let order = [
        "the order begins",
        "✓ charge card, attempt 2",
        "pack parcel …",
        "killed (SIGKILL)",
        "went on",
        "pack parcel, attempt 1: the process stopped while it ran",
        "✓ pack parcel, attempt 2",
        "✓ wait for the courier: awake",
        "✓ mail receipt",
        "the order is complete",
    ];
    assert!(order.map(at).is_sorted(), "{timeline}");
    assert!(!told.contains('\x1b'), "colour without a terminal");

    let effects = std::fs::read_to_string(directory.path().join("effects.log")).unwrap();
    let of = |part: usize| effects.lines().map(move |line| line.split('\t').nth(part).unwrap());
    let steps: Vec<_> = of(1).collect();
    assert_eq!(steps, ["reserve stock", "charge card", "pack parcel", "ship", "mail receipt"]);
    let processes: Vec<_> = of(0).collect();
    assert_eq!(processes[0], processes[1], "{effects}");
    assert_ne!(processes[1], processes[2], "{effects}");
}

#[test]
fn demo_leaves_a_database_alone_that_is_there() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("demo.db"), "precious").unwrap();
    let said = refusal(&["demo", "--dir", path(directory.path())]);
    assert!(said.contains("exists already") && said.contains("--dir"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn bench_steps_answers_json_with_every_figure_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let place = path(directory.path());
    let mut arguments = vec!["bench", "steps", "--json", "--dir", place];
    arguments.extend(["--in-flight", "1,64", "--instances", "100", "--seconds", "0.2"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&abide(&arguments))).unwrap();

    let positive = |value: &serde_json::Value| value.as_f64().is_some_and(|value| value > 0.0);
    assert!(positive(&report["yardsticks"]["commitP50Ms"]), "{report}");
    assert!(positive(&report["yardsticks"]["rowsPerSecond"]), "{report}");
    let measurements = report["measurements"].as_array().unwrap();
    let cases: Vec<_> = measurements.iter().map(|one| one["case"].as_str().unwrap()).collect();
    assert_eq!(cases, ["1 in flight", "64 in flight", "one instance of 100 steps"]);
    for (name, ratio_of) in [
        ("stepsPerSecond", Some("rowsPerSecond")),
        ("instancesPerSecond", Some("rowsPerSecond")),
        ("latencyP50", Some("commitP50Ms")),
        ("latencyP99", Some("commitP50Ms")),
        ("commitsPerSecond", Some("commitsPerSecond")),
        ("stepsPerCommit", None),
    ] {
        let figure = &measurements[1]["figures"][name];
        assert!(positive(&figure["value"]), "{name}: {figure}");
        assert_eq!(figure["ratioOf"].as_str(), ratio_of, "{name}: {figure}");
        assert_eq!(positive(&figure["ratio"]), ratio_of.is_some(), "{name}: {figure}");
    }
    let target = &measurements[1]["figures"]["stepsPerSecond"]["target"];
    assert_eq!(target["limit"].as_f64(), Some(0.15), "{target}");
    assert!(target["met"].is_boolean(), "{target}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// The measurements of a bench that is small enough for a test, and leaves nothing behind.
fn small_bench(workload: &str) -> Vec<serde_json::Value> {
    let directory = tempfile::tempdir().unwrap();
    let mut arguments = vec!["bench", workload, "--json", "--dir", path(directory.path())];
    arguments.extend(["--instances", "40", "--seconds", "0.2"]);
    let mut report: serde_json::Value = serde_json::from_str(&stdout(&abide(&arguments))).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    report["measurements"].as_array_mut().unwrap().split_off(0)
}

/// A measurement has its name, and every figure a value above zero; those with a target have that.
fn check_figures(
    measurement: &serde_json::Value,
    case: &str,
    figures: &[&str],
    targets: &[(&str, f64)],
) {
    assert_eq!(measurement["case"], case);
    for name in figures {
        let value = measurement["figures"][name]["value"].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{name}: {measurement}");
    }
    for (name, figure) in measurement["figures"].as_object().unwrap() {
        let expected = targets.iter().find(|(with, _)| with == name).map(|(_, limit)| *limit);
        assert_eq!(figure["target"]["limit"].as_f64(), expected, "{name}: {figure}");
        assert_eq!(figure["target"]["met"].is_boolean(), expected.is_some(), "{name}: {figure}");
    }
}

#[test]
fn bench_events_measures_one_many_and_one_among_many() {
    let measured = small_bench("events");
    let [one, many, among] = &measured[..] else { panic!("{measured:?}") };
    let load =
        ["eventsPerSecond", "latencyP50", "latencyP99", "commitsPerSecond", "eventsPerCommit"];
    check_figures(one, "1 in flight", &load, &[("latencyP50", 4.0)]);
    check_figures(many, "64 in flight", &load, &[("eventsPerSecond", 0.04)]);
    let figures = ["fewP50", "fewP99", "manyP50", "manyP99", "growth"];
    check_figures(among, "one among 10 and 40 evicted", &figures, &[("growth", 1.5)]);
}

#[test]
fn bench_flow_holds_a_document_against_the_same_in_rust() {
    let measured = small_bench("flow");
    let [flow] = &measured[..] else { panic!("{measured:?}") };
    let figures =
        ["stepsPerSecond", "rustStepsPerSecond", "ofRust", "latencyP50", "rustLatencyP50"];
    check_figures(flow, "64 in flight", &figures, &[("ofRust", 0.6)]);
}

#[test]
fn bench_wake_measures_a_storm_of_events_and_one_of_deadlines() {
    let measured = small_bench("wake");
    let [woken, expired] = &measured[..] else { panic!("{measured:?}") };
    let figures = ["wakesPerSecond", "sentPerSecond", "wakesPerCommit"];
    let mut targets = vec![("wakesPerSecond", 10_000.0)];
    if cfg!(target_os = "linux") {
        targets.push(("peakRss", 300e6));
    }
    check_figures(woken, "40 evicted, an event for each", &figures, &targets);
    let figures = [
        "stepP50Idle",
        "stepP99Idle",
        "stepP50Storm",
        "stepP99Storm",
        "slowdown",
        "allExpired",
        "expiredPerSecond",
    ];
    check_figures(expired, "40 deadlines at once", &figures, &[("slowdown", 5.0)]);
}

#[test]
fn bench_match_measures_the_index_publishing_and_a_storm() {
    let measured = small_bench("match");
    let [keyed, scanned, published, among_scanners, subscriptions, reopened, storm] = &measured[..]
    else {
        panic!("{measured:?}")
    };
    let figures = ["publishP50", "publishP99", "growth", "registration", "insertion", "bytesEach"];
    let registration = ("registration", 10.0);
    let targets = [("publishP50", 5.0), ("growth", 3.0), registration, ("bytesEach", 300.0)];
    check_figures(keyed, "index of 40", &figures, &targets);
    check_figures(scanned, "index of 40, 1 % scanned", &figures, &[registration]);
    let figures = [
        "publishP50",
        "publishP99",
        "completedP50",
        "completedP99",
        "eventsPerSecond",
        "latencyP50",
        "latencyP99",
        "eventsPerCommit",
    ];
    check_figures(published, "published among 40 evicted", &figures, &[]);
    check_figures(among_scanners, "published among 40 evicted, 1 % scanned", &figures, &[]);
    let bytes = [("bytesEach", 300.0)];
    check_figures(subscriptions, "40 subscriptions, evicted", &["startedPerSecond"], &bytes);
    let figures = ["engineStarted", "ready", "grownEach"];
    check_figures(reopened, "reopened with 40 subscriptions", &figures, &[]);
    let figures = [
        "stepP50Idle",
        "stepP99Idle",
        "stepP50Storm",
        "stepP99Storm",
        "slowdown",
        "accepted",
        "allWoken",
        "wokenPerSecond",
    ];
    check_figures(storm, "one event for 40 evicted", &figures, &[("slowdown", 5.0)]);
}

#[test]
fn bench_keeps_away_from_a_database_that_exists() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    std::fs::write(&file, "precious").unwrap();
    let said = refusal(&["bench", "steps", "--store", &format!("sqlite:{}", path(&file))]);
    assert!(said.contains("shop.db exists already"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn bad_arguments_are_explained() {
    let check = |arguments: &[&str], part: &str| {
        let said = refusal(arguments);
        assert!(said.contains(part), "{arguments:?} said\n{said}");
    };
    check(&["bench", "stepz"], "steps");
    check(&["bench"], "--help");
    check(&["bench", "steps", "--in-flight", "0"], "above zero");
    check(&["bench", "steps", "--seconds", "soon"], "seconds above zero");
    check(&["bench", "steps", "--store", "postgres://localhost"], "sqlite:FILE");
    check(&["bench", "steps", "--dir", "/does/not/exist"], "/does/not/exist");
    check(&["demoo"], "demo");
}

#[test]
fn help_and_version_are_there() {
    let help = stdout(&abide(&["--help"]));
    assert!(help.contains("demo") && help.contains("bench"), "{help}");
    assert!(!help.contains("probe"), "hidden commands are shown\n{help}");
    assert!(stdout(&abide(&["--version"])).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn validate_tells_every_problem_with_its_place_and_fails() {
    let directory = tempfile::tempdir().unwrap();
    let (good, bad) = (directory.path().join("good.yaml"), directory.path().join("bad.yaml"));
    std::fs::write(&good, "name: good\nsteps: [{id: a, set: {x: 1}}]\n").unwrap();
    std::fs::write(
        &bad,
        "name: bad\nsteps:\n  - {id: a, slep: 1 hour}\n  - {id: b, set: {x: 1}, next: c}\n",
    )
    .unwrap();
    assert!(stdout(&abide(&["validate", path(&good)])).ends_with("good.yaml: ok\n"));
    let output = abide(&["validate", path(&good), path(&bad)]);
    assert!(!output.status.success());
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("bad.yaml:3:"), "{told}");
    assert!(told.contains("bad.yaml:4:"), "{told}");
    assert!(told.contains("sleep"), "{told}");
    let json = abide(&["validate", "--json", path(&bad)]);
    let told: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(told["files"][0]["problems"].as_array().unwrap().len() >= 2, "{told}");
    assert!(refusal(&["validate", "no such file.yaml"]).contains("no such file.yaml"));
}
