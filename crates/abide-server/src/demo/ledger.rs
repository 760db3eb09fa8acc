//! The log of effects: a plain file beside the database that steps append to.
//!
//! It stands for the world outside, which no database can roll back. If a step ran twice, it is
//! here twice.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// One line: which process did what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) pid: u32,
    pub(crate) step: String,
    pub(crate) what: String,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    file: PathBuf,
}

impl Ledger {
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self { file: directory.join("effects.log") }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Appends in one write, so that a kill leaves a whole line or none.
    pub(crate) fn append(&self, step: &str, what: &str) -> std::io::Result<()> {
        let line = format!("{}\t{step}\t{what}\n", std::process::id());
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        file.write_all(line.as_bytes())
    }

    pub(crate) fn read(&self) -> Result<Vec<Effect>, Error> {
        let shown = self.file.display();
        let text = std::fs::read_to_string(&self.file).map_err(Error::io(shown.to_string()))?;
        text.lines().map(parse).collect::<Option<_>>().ok_or_else(|| {
            Error::Unexpected(format!("{shown} has a line that is not process, step, effect"))
        })
    }
}

fn parse(line: &str) -> Option<Effect> {
    let mut parts = line.splitn(3, '\t');
    Some(Effect {
        pid: parts.next()?.parse().ok()?,
        step: parts.next()?.to_owned(),
        what: parts.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_appended_is_read_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::in_directory(directory.path());
        ledger.append("ship", "parcel 1").unwrap();
        ledger.append("mail", "to\tAda").unwrap();
        let read = ledger.read().unwrap();
        assert_eq!(read[0].step, "ship");
        assert_eq!(read[1].what, "to\tAda");
        assert_eq!(read[1].pid, std::process::id());
    }
}
