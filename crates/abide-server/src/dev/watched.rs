//! Files that are looked at again and again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::documents::{self, Candidate};
use crate::error::Error;

/// What became of a file since it was last looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is new or was written to.
    Written(PathBuf),
    /// It is no longer there.
    Gone(PathBuf),
}

/// What tells one content of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

/// A file as it was.
struct Seen {
    stamp: Stamp,
    /// It was a workflow once: whatever becomes of it is told.
    is_workflow: bool,
}

/// See the module.
pub(super) struct Watched {
    paths: Vec<PathBuf>,
    seen: BTreeMap<PathBuf, Seen>,
}

impl Watched {
    pub(super) fn new(paths: Vec<PathBuf>) -> Self {
        let plain = |path: PathBuf| match path.strip_prefix(".") {
            Ok(rest) if !rest.as_os_str().is_empty() => rest.to_owned(),
            _ => path,
        };
        Self { paths: paths.into_iter().map(plain).collect(), seen: BTreeMap::new() }
    }

    /// What changed since the last time; the first time, everything that is there.
    pub(super) fn changes(&mut self) -> Result<Vec<Change>, Error> {
        let paths: Vec<PathBuf> = if self.seen.is_empty() {
            self.paths.clone()
        } else {
            // A file that was named may be away while an editor replaces it.
            self.paths.iter().filter(|path| path.exists()).cloned().collect()
        };
        let candidates = documents::candidates(&paths)?;
        let mut changes = Vec::new();
        for candidate in &candidates {
            changes.extend(self.look(candidate));
        }
        let is_gone = |file: &&PathBuf| !candidates.iter().any(|there| there.path == **file);
        let gone: Vec<PathBuf> = self.seen.keys().filter(is_gone).cloned().collect();
        for file in gone {
            if self.seen.remove(&file).is_some_and(|seen| seen.is_workflow) {
                changes.push(Change::Gone(file));
            }
        }
        Ok(changes)
    }

    fn look(&mut self, candidate: &Candidate) -> Option<Change> {
        let file = &candidate.path;
        let stamp = stamp(file)?;
        let before = self.seen.get(file);
        if before.is_some_and(|seen| seen.stamp == stamp) {
            return None;
        }
        let was_workflow = before.is_some_and(|seen| seen.is_workflow);
        let is_workflow = was_workflow || candidate.is_workflow();
        self.seen.insert(file.clone(), Seen { stamp, is_workflow });
        is_workflow.then(|| Change::Written(file.clone()))
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let about = fs::metadata(file).ok()?;
    Some(Stamp { modified: about.modified().ok(), length: about.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_changed_or_gone_is_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let (a, b) = (directory.path().join("a.yaml"), directory.path().join("b.yaml"));
        fs::write(&a, "name: a\nsteps: []\n").unwrap();
        fs::write(&b, "jobs: 1\n").unwrap();
        let mut watched = Watched::new(vec![directory.path().to_owned()]);
        assert_eq!(watched.changes().unwrap(), [Change::Written(a.clone())]);
        assert_eq!(watched.changes().unwrap(), []);
        fs::write(&a, "name: a\nstops: []\nmore: 1\n").unwrap();
        assert_eq!(watched.changes().unwrap(), [Change::Written(a.clone())]);
        fs::write(&b, "name: b\nsteps: []\n").unwrap();
        assert_eq!(watched.changes().unwrap(), [Change::Written(b)]);
        fs::remove_file(&a).unwrap();
        assert_eq!(watched.changes().unwrap(), [Change::Gone(a)]);
        assert_eq!(watched.changes().unwrap(), []);
    }
}
