//! A server of its own for a test: the real binary, on a free port.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::lines::Lines;
use crate::program::{path, program, stderr, stdout};

pub(crate) const GREET: &str = "
name: greet
steps:
  - {id: compose, set: {greeting: 'hello ${input.name}'}}
  - {id: keep, setOutput: {key: greeting, value: '${workflow.context.greeting}'}}
output: ${workflow.context.greeting}
";

pub(crate) const APPROVE: &str = "
name: approve
input: {type: object, required: [amount]}
steps:
  - id: decision
    waitForEvent: {eventPattern: approval, timeout: 1 hour}
  - id: verdict
    switch: [{when: steps.decision.output.payload.approved, next: good}, {next: bad}]
  - {id: good, return: '${steps.decision.output.payload}'}
  - {id: bad, fail: {code: REJECTED, message: not approved}}
";

pub(crate) const PAY: &str = "
name: pay
input: {type: object, required: [orderId, amount]}
triggers: [{eventPattern: order.placed, inputMapping: {orderId: id, amount: total}}]
steps:
  - id: payment
    waitForEvent:
      eventPattern: payment.*
      filterCondition: event.payload.orderId === input.orderId && event.payload.amount >= input.amount
      timeout: 1 hour
output: ${steps.payment.output.payload.amount}
";

/// What is kept between one life of a server and the next.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn with(documents: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let flows = directory.path().join("flows");
        std::fs::create_dir(&flows).unwrap();
        for (nth, document) in documents.iter().enumerate() {
            std::fs::write(flows.join(format!("{nth}.yaml")), document).unwrap();
        }
        Self { directory }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn store(&self) -> String {
        format!("sqlite:{}", path(&self.at("abide.db")))
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_at("127.0.0.1:0")
    }

    pub(crate) fn serve_at(&self, listen: &str) -> Server {
        Server::start(&["--store", &self.store(), "--listen", listen, path(&self.at("flows"))])
    }
}

/// See the module. It is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    log: Lines,
    pub(crate) url: String,
}

impl Server {
    /// `abide serve` with these arguments, once it listens.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// With variables in its environment.
    pub(crate) fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut serve = program();
        serve.arg("serve").args(arguments).envs(variables.iter().copied());
        Self::run(serve)
    }

    /// On a disk where no file may be larger than so many kibibytes.
    pub(crate) fn start_within(kibibytes: u32, arguments: &[&str]) -> Self {
        let limit = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$0\" serve \"$@\"");
        let mut serve = std::process::Command::new("bash");
        serve.args(["-c", &limit, env!("CARGO_BIN_EXE_abide")]).args(arguments);
        Self::run(serve)
    }

    fn run(mut serve: std::process::Command) -> Self {
        let mut child = serve.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = Lines::of(child.stderr.take().unwrap());
        let ready: Value = serde_json::from_str(&log.until("\"listening\"")).unwrap();
        let url = ready["url"].as_str().unwrap().to_owned();
        Self { child, log, url }
    }

    /// The part of the address that says where to listen.
    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    pub(crate) fn abide(&self, arguments: &[&str]) -> Output {
        program().args(arguments).env("ABIDE_URL", &self.url).output().unwrap()
    }

    /// A command of somebody whose work belongs to a trace.
    pub(crate) fn abide_within(&self, trace: &str, arguments: &[&str]) -> Output {
        let mut command = program();
        command.args(arguments).env("ABIDE_URL", &self.url).env("TRACEPARENT", trace);
        command.output().unwrap()
    }

    /// What a command wrote, having succeeded.
    #[track_caller]
    pub(crate) fn told(&self, arguments: &[&str]) -> String {
        stdout(&self.abide(arguments))
    }

    /// The same as JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let text = self.told(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"))
    }

    /// What a command said about its failure.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        stderr(&self.abide(arguments))
    }

    /// As whoever supervises it does. Answers how it ended.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        terminate(&self.child);
        self.child.wait().unwrap()
    }

    /// The same, and answers everything that it logged.
    pub(crate) fn stop_and_read(mut self) -> Vec<String> {
        terminate(&self.child);
        assert!(self.child.wait().unwrap().success());
        std::mem::replace(&mut self.log, Lines::of(std::io::empty())).rest()
    }

    /// Until it ends by itself, and everything that it logged.
    pub(crate) fn ends(mut self) -> (ExitStatus, Vec<String>) {
        let status = self.child.wait().unwrap();
        (status, std::mem::replace(&mut self.log, Lines::of(std::io::empty())).rest())
    }

    /// As a power cut does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// SIGTERM.
pub(crate) fn terminate(child: &Child) {
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(sent.success());
}

/// A file beside others.
pub(crate) fn write(place: &Path, text: &str) {
    std::fs::write(place, text).unwrap();
}
