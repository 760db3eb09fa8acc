//! A server in a terminal, which `script` gives it.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, from_str};

use crate::lines::Lines;
use crate::program::program;
use crate::server::Place;

/// With its terminal a server goes as well.
struct Terminal(Child);

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn in_a_terminal_the_log_is_for_people_and_elsewhere_it_is_json() {
    let place = Place::with(&[]);
    let serve = format!(
        "{} serve --listen 127.0.0.1:0 --store {}",
        env!("CARGO_BIN_EXE_abide"),
        place.store()
    );
    let terminal = Command::new("script")
        .args(["-qec", &serve, "/dev/null"])
        .envs([("ABIDE_LOG", "abide=info,abide_server=debug"), ("TERM", "xterm")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script of util-linux is needed");
    let mut terminal = Terminal(terminal);
    let mut lines = Lines::of(terminal.0.stdout.take().unwrap());
    let ready = lines.until("listens on");
    let (_, url) = ready.split_once("listens on ").unwrap();
    let url = url.split(' ').next().unwrap();
    let list = program().args(["list", "--url", url]).output().unwrap();
    assert!(list.status.success(), "{list:?}");
    let answered = lines.until("answered");
    assert!(answered.contains("DEBUG") && answered.contains('\x1b'), "{answered}");
    assert!(!answered.trim_start().starts_with('{'), "{answered}");
    drop(terminal);

    let other = Place::with(&[]);
    let server = other.serve();
    for line in server.stop_and_read() {
        let told: Value = from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert!(told["level"].is_string() && told["message"].is_string(), "{line}");
    }
}
