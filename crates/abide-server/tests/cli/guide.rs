//! The conversation in `docs/getting-started.md`, held with a real server.

use std::path::PathBuf;
use std::process::Command;

use crate::program::program;
use crate::server::Server;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command and what it answers.
struct Exchange {
    command: String,
    answer: Vec<String>,
}

fn exchanges() -> Vec<Exchange> {
    let text = std::fs::read_to_string(root().join("docs/getting-started.md")).unwrap();
    let mut exchanges: Vec<Exchange> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match line.strip_prefix("$ ") {
                Some(command) => {
                    exchanges.push(Exchange { command: command.to_owned(), answer: Vec::new() });
                }
                None => exchanges.last_mut().unwrap().answer.push(line.to_owned()),
            }
        }
    }
    exchanges
}

/// Whether a line is as it was told, where `…` stands for anything.
fn is_as_told(line: &str, told: &str) -> bool {
    let mut parts = told.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut is_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        is_open = part.is_empty();
    }
    rest.is_empty() || is_open
}

/// Whether this machine has it: a newcomer may not.
fn has_curl() -> bool {
    Command::new("curl").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn whoever_follows_the_guide_sees_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", directory.path().join("abide.db").display());
    let flows = root().join("examples/flows");
    let flows = flows.to_str().unwrap();
    let server = Server::start(&["--store", &store, "--listen", "127.0.0.1:0", flows]);
    let exchanges = exchanges();
    assert!(exchanges.len() > 10, "the guide has lost its conversation");
    for Exchange { command, answer } in exchanges {
        let is_curl = command.starts_with("curl ");
        if is_curl && !has_curl() {
            // Whoever has none does it by the commands; the rest of the guide needs the instance.
            let body = "{\"document\": \"plan.pdf\"}";
            server.abide(&["start", "approval", "--id", "plan-8", "--input", body]);
            server.abide(&["send", "plan-8", "approval", "{\"approved\": true}"]);
            continue;
        }
        let script = command.replace("http://127.0.0.1:7878", &server.url);
        let abide = program();
        let binary = abide.get_program().to_str().unwrap();
        let script = script.replacen("abide ", &format!("'{binary}' "), usize::from(!is_curl));
        let output = Command::new("sh")
            .args(["-c", &format!("{script} 2>&1")])
            .env("ABIDE_URL", &server.url)
            .env_remove("ABIDE_TOKEN")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        let is_same = lines.len() == answer.len()
            && lines.iter().zip(&answer).all(|(line, told)| is_as_told(line, told));
        assert!(is_same, "$ {command}\n{said}\nbut the guide says\n{}", answer.join("\n"));
    }
}
