//! The configuration, as an operator meets it.

use serde_json::{Value, json};

use crate::program::{abide, path, program, refusal, stderr, stdout};
use crate::server::write;

#[test]
fn check_shows_what_is_set_and_the_environment_wins_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("abide.toml");
    write(&file, "[server]\nlisten = \"127.0.0.1:1\"\ndrain = \"3s\"\n");
    let mut check = program();
    check.args(["config", "check", path(&file), "--json"]).env("ABIDE_SERVER_DRAIN", "4s");
    let shown: Value = serde_json::from_str(&stdout(&check.output().unwrap())).unwrap();
    let of = |name: &str| shown["settings"][name].clone();
    assert_eq!(of("server.listen")["value"], "127.0.0.1:1");
    assert_eq!(of("server.listen")["default"], "127.0.0.1:7878");
    assert_eq!(
        (&of("server.drain")["value"], &of("server.drain")["takes"]),
        (&json!("4s"), &json!("duration"))
    );
    let text = stdout(&abide(&["config", "check", path(&file)]));
    assert!(text.contains("drain = \"3s\"  # not \"10s\""), "{text}");
}

#[test]
fn a_wrong_file_is_told_problem_by_problem() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("abide.toml");
    write(
        &file,
        "[residency]\nidel = \"1m\"\n[http]\nallow = [\"not a host!\"]\n[telemetry]\nurl = 7\n",
    );
    let said = refusal(&["config", "check", path(&file)]);
    assert!(said.contains("abide.toml:2:1") && said.contains("residency.idle"), "{said}");
    assert!(said.contains("abide.toml:6:7: telemetry.url"), "{said}");
    write(&file, "[http]\nallow = [\"not a host!\"]\n");
    assert!(refusal(&["config", "check", path(&file)]).contains("not a host!"));
    assert!(refusal(&["serve", "--config", path(&file)]).contains("not a host!"));
    assert!(refusal(&["config", "check", "no-such.toml"]).contains("no-such.toml"));
    let mut serve = program();
    let said = stderr(&serve.arg("serve").env("ABIDE_SERVER_LISTN", "x").output().unwrap());
    assert!(said.contains("ABIDE_SERVER_LISTEN"), "{said}");
}
