//! Running the binary.

use std::path::Path;
use std::process::{Command, Output};

/// The binary, in an environment that sets nothing.
pub(crate) fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_abide"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_heard = ["ABIDE_", "OTEL_", "TRACEPARENT", "RUST_LOG"];
        if is_heard.iter().any(|heard| text.starts_with(heard)) {
            program.env_remove(&name);
        }
    }
    program
}

pub(crate) fn abide(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// What it wrote, having succeeded.
#[track_caller]
pub(crate) fn stdout(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(err));
    String::from_utf8(out.clone()).unwrap()
}

/// What it said about its failure.
#[track_caller]
pub(crate) fn stderr(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs what must fail, and answers what it said about that.
#[track_caller]
pub(crate) fn refusal(arguments: &[&str]) -> String {
    let output = abide(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?} failed and wrote to stdout");
    stderr(&output)
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
