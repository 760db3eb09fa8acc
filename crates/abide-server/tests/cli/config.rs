//! The configuration, as an operator meets it.

use serde_json::{Value, json};

use crate::program::{abide, path, program, refusal, stderr, stdout};
use crate::server::{Place, Server, write};

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

const SINKS: &str = "
[[tracker]]
url = \"https://user:hush@example.com/x?key=hush\"
accessToken = \"hush\"
[[tracker]]
name = \"audit\"
url = \"http://127.0.0.1:1/\"
accessToken = \"env:MARKED_TOKEN\"
signingSecret = \"whsec_aHVzaGh1c2g=\"
durable = true
batch.maxSize = 7
";

#[test]
fn check_shows_sinks_with_everything_but_their_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("abide.toml");
    write(&file, SINKS);
    let check = |more: &[&str]| {
        let mut check = program();
        check.args(["config", "check", path(&file)]).args(more).env("MARKED_TOKEN", "hush");
        let told = stdout(&check.output().unwrap());
        assert!(!told.contains("hush") && !told.contains("aHVzaGh1c2g"), "{told}");
        told
    };
    let told = check(&[]);
    let (_, sinks) = told.split_once("\n[[tracker]]\n").unwrap();
    for line in [
        "name = \"tracker\"\nurl = \"https://***@example.com/x?***\"\naccessToken = \"***\"\n",
        "name = \"audit\"  # not \"tracker\"\n",
        "accessToken = \"env:MARKED_TOKEN\"\n",
        "signingSecret = \"***\"\n",
        "durable = true  # not false\n",
        "batch.maxSize = 7  # not 50\n",
        "retry.maxDelayMs = 5000\n",
    ] {
        assert!(sinks.contains(line), "{line} is not in\n{told}");
    }
    let shown: Value = serde_json::from_str(&check(&["--json"])).unwrap();
    assert_eq!(shown["trackers"][1]["accessToken"], "env:MARKED_TOKEN");
    assert_eq!(shown["trackers"][1]["batch.maxSize"], 7);
    assert_eq!(shown["trackers"][0].get("signingSecret"), None);
}

#[test]
fn what_is_wrong_with_a_sink_is_told_with_its_line_and_the_nearest_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("abide.toml");
    write(&file, "[tracker]\nurl = \"http://a/\"\naccesToken = \"hush\"\nbatch.maxSize = \"x\"\n");
    let said = refusal(&["config", "check", path(&file)]);
    assert!(said.contains("abide.toml:3:1: there is no setting `tracker.accesToken`"), "{said}");
    assert!(said.contains("did you mean `accessToken`?"), "{said}");
    assert!(said.contains("abide.toml:4:17: tracker.batch.maxSize: it must be a whole"), "{said}");
    assert!(!said.contains("hush"), "{said}");
}

#[test]
fn what_a_start_would_refuse_is_told_with_where_it_was_set() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("abide.toml");
    write(&file, "[server]\nlisten = \"here\"\n[http]\ndeny = [\"not a host!\"]\n");
    let mut check = program();
    check.args(["config", "check", path(&file)]).env("ABIDE_STORE_URL", "abide.db");
    let output = check.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    for line in [
        "abide.toml:2:10: server.listen: \"here\"",
        "abide.toml:4:8: http.deny: ",
        "ABIDE_STORE_URL: store.url: ",
    ] {
        assert!(said.contains(line), "{line} is not in\n{said}");
    }
}

/// Whoever does not win would keep the server from starting.
#[test]
fn the_environment_wins_over_the_file_and_flags_over_both() {
    let place = Place::with(&[]);
    let file = place.at("abide.toml");
    let at = |name: &str| format!("sqlite:{}", path(&place.at(name)));
    let nowhere = "192.0.2.1:9";
    let text = |listen: &str| {
        let store = at("file.db");
        format!("[server]\nlisten = {listen:?}\n[store]\nurl = {store:?}\n")
    };
    let config = ["--config", path(&file)];
    write(&file, &text("127.0.0.1:0"));
    drop(Server::start(&config));
    assert!(place.at("file.db").exists());

    write(&file, &text(nowhere));
    std::fs::remove_file(place.at("file.db")).unwrap();
    let set = at("variable.db");
    let variables = [("ABIDE_SERVER_LISTEN", "127.0.0.1:0"), ("ABIDE_STORE_URL", &set)];
    drop(Server::start_with(&config, &variables));
    assert!(place.at("variable.db").exists() && !place.at("file.db").exists());

    std::fs::remove_file(place.at("variable.db")).unwrap();
    let variables = [("ABIDE_SERVER_LISTEN", nowhere), ("ABIDE_STORE_URL", &set)];
    let (store, listen) = (at("flag.db"), "127.0.0.1:0");
    let flags = [&config[..], &["--store", &store, "--listen", listen]].concat();
    drop(Server::start_with(&flags, &variables));
    assert!(place.at("flag.db").exists() && !place.at("variable.db").exists());
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
