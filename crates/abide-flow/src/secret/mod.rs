//! Secrets: where `${secret.NAME}` comes from, and how its value stays out of everything that is kept.
//!
//! ```text
//!   Field ──names──▶ Vault ──values──▶ Revealed ──over a scope──▶ rendered, sent, forgotten
//!                      └──values──▶ Redactor ──▶ errors, answers, streams: ***
//! ```
//!
//! A secret is read when a step runs, inside the step, so that it is never part of what is recorded.

mod redactor;
mod source;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use abide::expr::{Scope, Value as ExprValue};
use abide::{BoxError, Failure};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::field::Field;

pub use redactor::{RedactedText, Redactor};
pub use source::EnvironmentSecrets;

/// The root under which expressions see secrets.
const ROOT: &str = "secret";

/// A place that keeps secrets.
pub trait Secrets: Send + Sync {
    /// The value of a secret, or none if there is no such secret. Names consist of letters, digits,
    /// `_` and `-`.
    ///
    /// # Errors
    /// When nobody can say. The error must not tell the value.
    fn get<'s>(&'s self, name: &'s str) -> BoxFuture<'s, Result<Option<String>, BoxError>>;
}

/// Why a secret has no value. Tells names, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// There is no such secret.
    #[error("there is no secret {name:?}")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// The name can't be one.
    #[error("{name:?} is no name of a secret: use letters, digits, `_` and `-`")]
    InvalidName {
        /// What was asked for.
        name: String,
    },
    /// Which secret is meant is known only when the step runs.
    #[error("`{expression}` does not say which secret it reads; write `secret.NAME`")]
    NotNamed {
        /// The expression.
        expression: String,
    },
    /// The place that keeps it did not answer.
    #[error("the secret {name:?} can't be read: {message}")]
    Unreadable {
        /// Its name.
        name: String,
        /// Why.
        message: String,
    },
}

impl SecretError {
    /// Whether it may be there later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreadable { .. } => true,
            Self::Unknown { .. } | Self::InvalidName { .. } | Self::NotNamed { .. } => false,
        }
    }

    /// What is recorded.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Unreadable { .. } => "STEP_FAILED",
            Self::Unknown { .. } | Self::InvalidName { .. } | Self::NotNamed { .. } => {
                "VALIDATION_ERROR"
            }
        };
        Failure::new(code, self.to_string())
    }
}

/// Reads secrets for steps and remembers what must not be shown. One per engine.
#[derive(Clone)]
pub struct Vault {
    source: Arc<dyn Secrets>,
    redactor: Redactor,
}

impl Vault {
    /// Reads from this place.
    pub fn new(source: impl Secrets + 'static) -> Self {
        Self { source: Arc::new(source), redactor: Redactor::default() }
    }

    /// What keeps everything that was read out of texts.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Reads every secret that these fields name.
    ///
    /// # Errors
    /// The first that can't be read, or an expression that names none (`secret[input.x]`).
    pub async fn reveal(&self, fields: &[&Field]) -> Result<Revealed, SecretError> {
        let mut values = Map::new();
        for name in names_in(fields)? {
            let value = self.read(&name).await?;
            self.redactor.learn(&value);
            values.insert(name, Value::String(value));
        }
        Ok(Revealed(Value::Object(values)))
    }

    async fn read(&self, name: &str) -> Result<String, SecretError> {
        if !is_name(name) {
            return Err(SecretError::InvalidName { name: name.to_owned() });
        }
        match self.source.get(name).await {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(SecretError::Unknown { name: name.to_owned() }),
            Err(error) => {
                let message = self.redactor.redact(&error.to_string());
                Err(SecretError::Unreadable { name: name.to_owned(), message })
            }
        }
    }
}

/// The secrets of one step.
pub struct Revealed(Value);

impl Revealed {
    /// What is known, and `secret` besides.
    pub fn over<'s, S: Scope>(&'s self, known: &'s S) -> WithSecrets<'s, S> {
        WithSecrets { known, secrets: &self.0 }
    }
}

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Revealed(***)")
    }
}

/// A scope that also knows secrets; see [`Revealed::over`].
pub struct WithSecrets<'s, S> {
    known: &'s S,
    secrets: &'s Value,
}

impl<S: Scope> Scope for WithSecrets<'_, S> {
    fn root(&self, name: &str) -> Option<ExprValue<'_>> {
        if name == ROOT { Some(self.secrets.into()) } else { self.known.root(name) }
    }
}

fn names_in(fields: &[&Field]) -> Result<BTreeSet<String>, SecretError> {
    let mut names = BTreeSet::new();
    let mut unnamed = None;
    for field in fields {
        field.templates("", &mut |_, template| {
            for expr in template.expressions() {
                for path in expr.paths().iter().filter(|path| path.root() == ROOT) {
                    match path.segments().first() {
                        Some(segment) => {
                            names.insert(segment.name().to_owned());
                        }
                        None => unnamed = Some(expr.written()),
                    }
                }
            }
        });
    }
    match unnamed {
        Some(expression) => Err(SecretError::NotNamed { expression }),
        None => Ok(names),
    }
}

/// Whether a text can name a secret: also a name of a file that stays in its directory.
fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=128).contains(&name.len()) && name.chars().all(letters)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use abide::expr::Env;
    use serde_json::json;

    use super::*;

    struct Fixed(BTreeMap<&'static str, Result<&'static str, &'static str>>);

    impl Secrets for Fixed {
        fn get<'s>(&'s self, name: &'s str) -> BoxFuture<'s, Result<Option<String>, BoxError>> {
            let found = self.0.get(name).map(|found| found.map(str::to_owned)).transpose();
            Box::pin(async move { Ok(found?) })
        }
    }

    fn vault() -> Vault {
        Vault::new(Fixed(BTreeMap::from([("TOKEN", Ok("t0ps3cret")), ("BROKEN", Err("no disk"))])))
    }

    async fn reveal(text: &str) -> Result<Value, SecretError> {
        let field = Field::parse(&json!({"x": text, "y": "plain"})).unwrap();
        let revealed = vault().reveal(&[&field]).await?;
        let input = json!({"user": "ann"});
        let env = Env::new().with("input", &input);
        Ok(field.render("headers", &revealed.over(&env)).unwrap()["x"].clone())
    }

    #[tokio::test]
    async fn a_secret_is_a_root_beside_what_is_known() {
        assert_eq!(reveal("${secret.TOKEN}").await, Ok(json!("t0ps3cret")));
        assert_eq!(reveal("${input.user}:${secret['TOKEN']}").await, Ok(json!("ann:t0ps3cret")));
        assert_eq!(reveal("${input.user}").await, Ok(json!("ann")));
    }

    #[tokio::test]
    async fn a_secret_that_has_no_value_is_named() {
        let unknown = reveal("${secret.NOPE}").await.unwrap_err();
        assert_eq!(unknown.to_string(), "there is no secret \"NOPE\"");
        assert!(!unknown.is_retryable());
        let broken = reveal("${secret.BROKEN}").await.unwrap_err();
        assert_eq!(broken.to_string(), "the secret \"BROKEN\" can't be read: no disk");
        assert!(broken.is_retryable());
        let outside = reveal("${secret['../TOKEN']}").await.unwrap_err();
        assert!(matches!(outside, SecretError::InvalidName { .. }), "{outside}");
    }

    #[tokio::test]
    async fn which_secret_is_read_can_not_depend_on_data() {
        for text in ["${secret[input.user]}", "${secret}", "${'TOKEN' in secret}"] {
            let refused = reveal(text).await.unwrap_err();
            assert!(matches!(refused, SecretError::NotNamed { .. }), "{text}: {refused}");
        }
    }

    #[tokio::test]
    async fn what_was_read_is_known_to_the_redactor_and_not_shown() {
        let vault = vault();
        let field = Field::parse(&json!("${secret.TOKEN}")).unwrap();
        let revealed = vault.reveal(&[&field]).await.unwrap();
        assert_eq!(vault.redactor().redact("got t0ps3cret!"), "got ***!");
        assert_eq!(format!("{revealed:?}"), "Revealed(***)");
    }
}
