//! Where the databases of a benchmark live, and that none of them stays.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::Error;
use crate::store_at::StoreAt;

/// See the module.
#[derive(Debug)]
pub(crate) struct Place {
    file: PathBuf,
    /// Removed with everything in it.
    _directory: Option<TempDir>,
}

impl Place {
    /// A file that was asked for, or one in a temporary directory under `within`.
    pub(crate) fn new(asked: Option<StoreAt>, within: &Path) -> Result<Self, Error> {
        if let Some(StoreAt { file }) = asked {
            if file.exists() {
                let message = "exists already; a benchmark needs a database of its own";
                return Err(Error::Refused(format!("{} {message}", file.display())));
            }
            return Ok(Self { file, _directory: None });
        }
        let directory = tempfile::Builder::new()
            .prefix(".abide-bench-")
            .tempdir_in(within)
            .map_err(Error::io(format!("a temporary directory in {}", within.display())))?;
        Ok(Self { file: directory.path().join("bench.db"), _directory: Some(directory) })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Removes the database and what SQLite and its owner keep beside it.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            let mut name = OsString::from(&self.file);
            name.push(suffix);
            match std::fs::remove_file(&name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(name.to_string_lossy())(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_exists_is_refused_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("precious.db");
        std::fs::write(&file, "data").unwrap();
        let refused = Place::new(Some(StoreAt { file: file.clone() }), Path::new("."));
        assert!(refused.unwrap_err().to_string().contains("exists already"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "data");
    }

    #[test]
    fn nothing_stays_behind() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::new(None, directory.path()).unwrap();
        std::fs::write(place.file(), "data").unwrap();
        drop(place);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
