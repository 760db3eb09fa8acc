//! Secrets from the environment of the process, or from files.

use std::io;
use std::path::PathBuf;

use abide::BoxError;
use futures_util::future::BoxFuture;

use super::Secrets;

/// Secrets as containers get them: `NAME` is the variable `ABIDE_SECRET_NAME`; without one, the file
/// that the variable `ABIDE_SECRET_NAME_FILE` names; without that, the file `NAME` in the secrets
/// directory, if there is a directory. One line break at the end of a file does not count.
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
            if let Some(path) = std::env::var_os(format!("{}{name}_FILE", self.prefix)) {
                return read(path.into()).await.map(Some);
            }
            let Some(path) = self.directory.as_ref().map(|directory| directory.join(name)) else {
                return Ok(None);
            };
            match read(path).await {
                Err(error) if is_missing(&error) => Ok(None),
                read => read.map(Some),
            }
        })
    }
}

async fn read(path: PathBuf) -> Result<String, BoxError> {
    let bytes = tokio::task::spawn_blocking(move || std::fs::read(path)).await??;
    let mut text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8")?;
    let end = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
    if let Some(end) = end.map(str::len) {
        text.truncate(end);
    }
    Ok(text)
}

fn is_missing(error: &BoxError) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
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

    /// Runs itself again, because the environment of a process that has begun is not to be changed.
    #[tokio::test]
    async fn a_variable_may_name_a_file() {
        const ITSELF: &str = "secret::source::tests::a_variable_may_name_a_file";
        if std::env::var_os("ABIDE_SECRET_KEPT_FILE").is_some() {
            let secrets = EnvironmentSecrets::default();
            assert_eq!(secrets.get("KEPT").await.unwrap().as_deref(), Some("from the file"));
            assert!(secrets.get("LOST").await.is_err());
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "from the file\n").unwrap();
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", ITSELF]).env("ABIDE_SECRET_KEPT_FILE", file.path());
        let again = again.env("ABIDE_SECRET_LOST_FILE", "/no/such/file").output().unwrap();
        let told = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && told.contains("1 passed"), "{told}");
    }
}
