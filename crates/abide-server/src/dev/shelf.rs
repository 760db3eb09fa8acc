//! The documents that were read, and what they became.

use std::path::{Path, PathBuf};

use abide_flow::Registered;

use super::follow::say;
use super::watched::Change;
use crate::error::Error;
use crate::host::Host;
use crate::paint::Paint;

/// A document that was read, and what it became.
pub(super) struct Read {
    pub(super) file: PathBuf,
    pub(super) registered: Registered,
}

/// See the module.
pub(super) struct Shelf<'h> {
    host: &'h Host,
    paint: Paint,
    read: Vec<Read>,
}

impl<'h> Shelf<'h> {
    pub(super) fn new(host: &'h Host, paint: Paint) -> Self {
        Self { host, paint, read: Vec::new() }
    }

    pub(super) fn read(&self) -> &[Read] {
        &self.read
    }

    /// Takes what is there at the start. Only what is wrong is told: the rest is in the banner.
    pub(super) async fn fill(&mut self, changes: &[Change]) -> Result<(), Error> {
        for change in changes {
            if let Change::Written(file) = change {
                self.register(file).await?;
            }
        }
        Ok(())
    }

    /// Registers a document that is new or changed, and tells.
    pub(super) async fn take(&mut self, change: &Change) -> Result<(), Error> {
        match change {
            Change::Written(file) => {
                let again = if self.has(file) { " again" } else { "" };
                let Some(Registered { name, version, changed: true }) = self.register(file).await?
                else {
                    return Ok(());
                };
                let told = format!("{} read{again}: {name} version {version}", file.display());
                say(&self.paint.bold(&told))
            }
            Change::Gone(file) => {
                self.read.retain(|read| read.file != *file);
                let gone = format!("{} is gone; its workflow stays registered", file.display());
                say(&self.paint.yellow(&gone))
            }
        }
    }

    fn has(&self, file: &Path) -> bool {
        self.read.iter().any(|read| read.file == *file)
    }

    /// Tells what is wrong with it, if it is not to be registered.
    async fn register(&mut self, file: &Path) -> Result<Option<Registered>, Error> {
        match self.host.register(file).await {
            Ok(registered) => {
                self.warn_of_another(file, &registered.name)?;
                self.read.retain(|read| read.file != *file);
                let read = Read { file: file.to_owned(), registered: registered.clone() };
                self.read.push(read);
                Ok(Some(registered))
            }
            Err(Error::Document(problems)) => {
                let stays = "the last good version stays";
                let stays = if self.has(file) { stays } else { "not registered" };
                say(&self.paint.red(&problems))?;
                say(&self.paint.yellow(&format!("{}: {stays}", file.display())))?;
                Ok(None)
            }
            // It may be gone again.
            Err(Error::Io { what, source }) => {
                say(&self.paint.red(&format!("{what}: {source}")))?;
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// Two files of one workflow would take turns.
    fn warn_of_another(&self, file: &Path, name: &str) -> Result<(), Error> {
        let is_same = |read: &&Read| read.registered.name == name && read.file != *file;
        let Some(other) = self.read.iter().find(is_same) else { return Ok(()) };
        let (file, other) = (file.display(), other.file.display());
        let both = format!("{file} and {other} are both `{name}`; the one read last counts");
        say(&self.paint.yellow(&both))
    }
}
