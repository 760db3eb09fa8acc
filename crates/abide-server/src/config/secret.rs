//! A secret of the configuration: itself, or the variable of the environment that holds it.

use std::fmt;

use url::Url;

/// What stands before the name of a variable of the environment.
const FROM_ENVIRONMENT: &str = "env:";

/// What stands in place of a secret.
pub(super) const HIDDEN: &str = "***";

/// Where variables of the environment come from.
pub(super) type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// See the module. Nothing of it is set at first.
#[derive(Clone, Default)]
pub(super) struct Secret {
    value: Option<String>,
    /// `env:NAME`.
    from: Option<String>,
}

impl Secret {
    pub(super) fn read(written: String, environment: Environment<'_>) -> Result<Self, String> {
        let Some(name) = written.strip_prefix(FROM_ENVIRONMENT) else {
            return Ok(Self { value: Some(written), from: None });
        };
        let value = environment(name);
        let value = value.ok_or_else(|| format!("there is no {name} in the environment"))?;
        Ok(Self { value: Some(value), from: Some(written) })
    }

    pub(super) fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// What may be shown of it; none when there is none.
    pub(super) fn shown(&self) -> Option<&str> {
        self.value.as_ref().map(|_| self.from.as_deref().unwrap_or(HIDDEN))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown().unwrap_or("none"))
    }
}

/// An address may hold a password or a key. Anything else is left as it is.
pub(super) fn without_secrets(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    if !url.username().is_empty() || url.password().is_some() {
        // Refused for addresses that can't have them.
        let _ = url.set_username(HIDDEN).and_then(|()| url.set_password(None));
    }
    if url.query().is_some() {
        url.set_query(Some(HIDDEN));
    }
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_by_where_it_comes_from() {
        let environment = |name: &str| (name == "TOKEN").then(|| "hush".to_owned());
        let read = |text: &str| Secret::read(text.to_owned(), &environment);
        let (itself, outside) = (read("quiet").unwrap(), read("env:TOKEN").unwrap());
        assert_eq!((itself.value(), itself.shown()), (Some("quiet"), Some("***")));
        assert_eq!((outside.value(), outside.shown()), (Some("hush"), Some("env:TOKEN")));
        assert_eq!(Secret::default().shown(), None);
        assert_eq!(format!("{itself:?} {outside:?}"), "*** env:TOKEN");
        assert!(read("env:NOWHERE").unwrap_err().contains("NOWHERE"));
    }
}
