//! Workflow documents in files and directories.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// As deep as directories are looked through.
const MAX_DEPTH: usize = 8;

/// As many files as are looked at; a directory of more is not one of workflows.
const MAX_FILES: usize = 10_000;

/// Directories that hold what others made.
const LEFT_OUT: [&str; 2] = ["node_modules", "target"];

/// A file that may be a workflow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    pub(crate) path: PathBuf,
    /// Somebody named the file itself, so it is one.
    is_named: bool,
}

impl Candidate {
    pub(crate) fn is_workflow(&self) -> bool {
        self.is_named || looks_like_a_workflow(&self.path)
    }
}

/// The documents at these places: every file that is named, and what looks like a workflow in
/// directories. In order of their names.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let candidates = candidates(paths)?.into_iter();
    Ok(candidates.filter(Candidate::is_workflow).map(|candidate| candidate.path).collect())
}

/// Whether all of them could be registered; tells everything that is wrong.
pub(crate) fn check(files: &[PathBuf]) -> Result<(), Error> {
    let mut wrong = String::new();
    for file in files {
        let shown = file.display().to_string();
        let text = fs::read_to_string(file).map_err(Error::io(shown.as_str()))?;
        if let Err(problems) = abide_flow::parse(&text) {
            wrong += &abide_flow::report(&shown, &text, &problems);
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Error::Document(wrong.trim_end().to_owned())) }
}

/// The same without looking into files.
pub(crate) fn candidates(paths: &[PathBuf]) -> Result<Vec<Candidate>, Error> {
    let mut found = Vec::new();
    for path in paths {
        let shown = path.display().to_string();
        let about = fs::metadata(path).map_err(Error::io(shown.as_str()))?;
        if about.is_dir() {
            look_into(path, 0, &mut found)?;
        } else {
            found.push(Candidate { path: path.clone(), is_named: true });
        }
    }
    found.sort();
    found.dedup_by(|second, first| second.path == first.path);
    Ok(found)
}

fn look_into(directory: &Path, depth: usize, found: &mut Vec<Candidate>) -> Result<(), Error> {
    let shown = directory.display().to_string();
    for entry in fs::read_dir(directory).map_err(Error::io(shown.as_str()))? {
        let entry = entry.map_err(Error::io(shown.as_str()))?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // What went away meanwhile is not there.
        let Ok(about) = fs::metadata(&path) else { continue };
        if name.starts_with('.') {
            continue;
        }
        if about.is_dir() {
            if depth < MAX_DEPTH && !LEFT_OUT.contains(&name.as_ref()) {
                look_into(&path, depth + 1, found)?;
            }
        } else if is_document(&path) {
            if found.len() == MAX_FILES {
                let message = format!("{shown} has more than {MAX_FILES} documents");
                return Err(Error::Refused(message));
            }
            found.push(Candidate { path, is_named: false });
        }
    }
    Ok(())
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// Whether a file has steps at its top, which configurations of other programs have not.
fn looks_like_a_workflow(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    if path.extension().is_some_and(|extension| extension == "json") {
        let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
        return read.map_or_else(|_| text.contains("\"steps\""), |it| it.get("steps").is_some());
    }
    text.lines().any(|line| line.starts_with("steps:") || line.starts_with("\"steps\":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_looked_through_for_what_looks_like_a_workflow() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for inner in ["sub", ".git", "node_modules"] {
            fs::create_dir(at(inner)).unwrap();
        }
        let workflow = "name: a\nsteps: []\n";
        for (name, text) in [
            ("b.yaml", workflow),
            ("sub/a.yml", workflow),
            ("c.json", "{\"name\": \"c\", \"steps\": []}"),
            ("ci.yaml", "jobs:\n  a:\n    steps: []\n"),
            ("package.json", "{\"name\": \"x\"}"),
            ("readme.md", workflow),
            (".git/d.yaml", workflow),
            ("node_modules/e.yaml", workflow),
        ] {
            fs::write(at(name), text).unwrap();
        }
        let found = find(&[directory.path().to_owned()]).unwrap();
        assert_eq!(found, [at("b.yaml"), at("c.json"), at("sub/a.yml")]);
        assert_eq!(find(&[at("readme.md")]).unwrap(), [at("readme.md")]);
        assert!(find(&[at("missing.yaml")]).unwrap_err().to_string().contains("missing.yaml"));
    }
}
