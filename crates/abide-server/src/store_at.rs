//! Where a store is, as people write it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// `sqlite:FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreAt {
    pub(crate) file: PathBuf,
}

impl FromStr for StoreAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("sqlite:") {
            Some(file) if !file.is_empty() => Ok(Self { file: file.into() }),
            None if text.starts_with("postgres://") || text.starts_with("postgresql://") => {
                Err("Postgres is not there yet in this version; write sqlite:FILE".to_owned())
            }
            _ => Err(format!("{text:?} is no store; write sqlite:FILE")),
        }
    }
}

impl fmt::Display for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sqlite:{}", self.file.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sqlite_files_are_stores() {
        assert_eq!("sqlite:a.db".parse(), Ok(StoreAt { file: "a.db".into() }));
        for wrong in ["a.db", "sqlite:", "postgres://localhost"] {
            assert!(wrong.parse::<StoreAt>().unwrap_err().contains("sqlite:FILE"), "{wrong}");
        }
        let postgres = "postgres://localhost".parse::<StoreAt>().unwrap_err();
        assert!(postgres.contains("not there yet"), "{postgres}");
    }
}
