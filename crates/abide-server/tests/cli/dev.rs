//! `abide dev`, as somebody who writes workflows meets it.

use std::process::{Child, Stdio};

use crate::lines::Lines;
use crate::program::{path, program, stderr, stdout};
use crate::server::{APPROVE, GREET, Place, terminate, write};

struct Dev {
    child: Child,
    out: Lines,
    url: String,
}

impl Dev {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut child = program()
            .arg("dev")
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .current_dir(place.at("."))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = Lines::of(child.stdout.take().unwrap());
        let line = out.until("  API ");
        let url = line.rsplit(' ').next().unwrap().strip_suffix("/v1").unwrap().to_owned();
        Self { child, out, url }
    }

    fn told(&self, arguments: &[&str]) -> String {
        stdout(&program().args(arguments).env("ABIDE_URL", &self.url).output().unwrap())
    }

    fn stop(mut self) -> Vec<String> {
        terminate(&self.child);
        assert!(self.child.wait().unwrap().success());
        std::mem::replace(&mut self.out, Lines::of(std::io::empty())).rest()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn dev_says_how_to_start_and_shows_what_happens() {
    let place = Place::with(&[APPROVE]);
    let mut dev = Dev::start(&place, &["flows"]);
    dev.out.until("workflows  approve v1");
    let start = dev.out.until("abide start approve");
    assert!(start.contains("--input '{\"amount\":\"…\"}'"), "{start}");
    dev.told(&["start", "approve", "--id", "a-1", "--input", "{\"amount\": 5}"]);
    let line = dev.out.until("● started");
    assert!(line.contains("approve a-1  ● started {\"amount\":5}"), "{line}");
    dev.out.until("a-1  … decision: waiting for event approval until ");
    dev.told(&["send", "a-1", "approval", "{\"approved\": true}"]);
    dev.out.until("a-1  → event approval {\"approved\":true}");
    dev.out.until("a-1  ✓ decision: event approval came {\"approved\":true}");
    dev.out.until("a-1  ● completed {\"approved\":true}");
    dev.stop();
    // What happened is kept for the next time.
    assert!(place.at(".abide/dev.db").exists() && place.at(".abide/.gitignore").exists());
    let dev = Dev::start(&place, &["flows"]);
    assert!(dev.told(&["list"]).contains("completed"));
}

#[test]
fn a_document_that_changes_is_read_again_and_a_wrong_one_leaves_the_last_good_version() {
    let place = Place::with(&[GREET]);
    let file = place.at("flows/0.yaml");
    let mut dev = Dev::start(&place, &["flows", "--fresh"]);
    dev.out.until("abide start greet");
    write(&file, &GREET.replace("hello", "good day"));
    dev.out.until("flows/0.yaml read again: greet version 2");
    let greet = ["start", "greet", "--input", "{\"name\": \"Ada\"}", "--wait"];
    assert_eq!(dev.told(&greet), "\"good day Ada\"\n");
    write(&file, &GREET.replace("setOutput", "setOutputs"));
    dev.out.until("flows/0.yaml:5:");
    dev.out.until("did you mean `setOutput`?");
    dev.out.until("the last good version stays");
    assert_eq!(dev.told(&greet), "\"good day Ada\"\n");
    write(&place.at("flows/new.yaml"), "name: new\nsteps: [{id: a, set: {x: 1}}]\nsteps:\n");
    dev.out.until("flows/new.yaml: not registered");
    write(&place.at("flows/new.yaml"), APPROVE);
    dev.out.until("flows/new.yaml read: approve version 1");
    assert!(dev.told(&["workflows"]).contains("approve"));
    std::fs::remove_file(place.at("flows/new.yaml")).unwrap();
    dev.out.until("flows/new.yaml is gone");
    dev.stop();
    assert!(!place.at(".abide").exists(), "a fresh one keeps nothing");
}

#[test]
fn dev_without_documents_says_so_and_reads_the_first_one() {
    let place = Place::with(&[]);
    let mut dev = Dev::start(&place, &["--fresh"]);
    dev.out.until("workflows  none yet");
    write(&place.at("greet.yaml"), GREET);
    dev.out.until("greet.yaml read: greet version 1");
    dev.stop();
}

#[test]
fn dev_on_an_address_that_is_taken_says_how_to_choose_another() {
    let place = Place::with(&[GREET]);
    let server = place.serve();
    let output = program()
        .args(["dev", "--fresh", "--listen", server.address(), path(&place.at("flows"))])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(said.contains("listens there already") && said.contains("--listen 127."), "{said}");
    let missing = program().args(["dev", "no-such-place", "--fresh"]).output().unwrap();
    assert!(stderr(&missing).contains("no-such-place"));
}
