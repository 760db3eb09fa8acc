//! Secrets from the environment of the process, or from files.

use std::io;
use std::path::PathBuf;

use abide::BoxError;
use futures_util::future::BoxFuture;

use super::Secrets;

/// Secrets as containers get them: `NAME` is the variable `ABIDE_SECRET_NAME`; without one, the file
/// `NAME` in the secrets directory, if there is a directory. One line break at the end of the file
/// does not count.
///
/// Both are read each time, so a changed file is seen by the next step.
#[derive(Clone, Debug)]
pub struct EnvironmentSecrets {
    prefix: String,
    directory: Option<PathBuf>,
}

impl Default for EnvironmentSecrets {
    fn default() -> Self {
        Self { prefix: "ABIDE_SECRET_".to_owned(), directory: None }
    }
}

impl EnvironmentSecrets {
    /// Also looks for files in this directory, such as `/run/secrets`.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// What the names of the variables begin with, in place of `ABIDE_SECRET_`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }
}

impl Secrets for EnvironmentSecrets {
    fn get<'s>(&'s self, name: &'s str) -> BoxFuture<'s, Result<Option<String>, BoxError>> {
        Box::pin(async move {
            if let Some(value) = std::env::var_os(format!("{}{name}", self.prefix)) {
                let text = value.into_string().map_err(|_| "the variable is not UTF-8")?;
                return Ok(Some(text));
            }
            let Some(path) = self.directory.as_ref().map(|directory| directory.join(name)) else {
                return Ok(None);
            };
            let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await?;
            let bytes = match read {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let mut text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8")?;
            let end = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
            if let Some(end) = end.map(str::len) {
                text.truncate(end);
            }
            Ok(Some(text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_variable_comes_before_a_file_and_a_file_loses_its_last_line_break() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("NAME"), "from the file").unwrap();
        std::fs::write(directory.path().join("TOKEN"), "two\nlines\r\n").unwrap();
        std::fs::write(directory.path().join("BYTES"), b"\xff\xfe").unwrap();
        // `CARGO_PKG_NAME` is there in every test.
        let secrets =
            EnvironmentSecrets::default().prefix("CARGO_PKG_").directory(directory.path());
        assert_eq!(secrets.get("NAME").await.unwrap().as_deref(), Some("abide-flow"));
        assert_eq!(secrets.get("TOKEN").await.unwrap().as_deref(), Some("two\nlines"));
        assert_eq!(secrets.get("NOPE").await.unwrap(), None);
        let refused = secrets.get("BYTES").await.unwrap_err();
        assert_eq!(refused.to_string(), "the file is not UTF-8");
        assert_eq!(EnvironmentSecrets::default().get("TOKEN").await.unwrap(), None);
    }
}
