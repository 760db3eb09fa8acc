//! The environment: `ABIDE_SERVER_LISTEN` is `server.listen`.

use std::ffi::OsString;

use abide::expr::nearest;

use super::Configuration;
use super::setting::Setting;
use super::table::{SETTINGS, TABLES};
use super::written::Written;
use crate::error::Error;

/// Takes what the environment sets.
pub(super) fn read(
    variables: impl Iterator<Item = (OsString, OsString)>,
    into: &mut Configuration,
) -> Result<(), Error> {
    let known: Vec<(String, &Setting)> =
        SETTINGS.iter().map(|setting| (setting.variable(), setting)).collect();
    let mut wrong = Vec::new();
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| is_ours(name)) else { continue };
        let Some((_, setting)) = known.iter().find(|(variable, _)| variable == name) else {
            let near = nearest(name, known.iter().map(|(variable, _)| variable.as_str()));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            wrong.push(format!("{name} in the environment is no setting{hint}"));
            continue;
        };
        let value = Written::Text(value.to_string_lossy().into_owned());
        match setting.takes.set(into, &value) {
            Ok(()) => drop(into.places.insert(setting.name, name.to_owned())),
            Err(why) => wrong.push(format!("{name} in the environment ({}): {why}", setting.name)),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Error::Configuration(wrong.join("\n"))) }
}

/// Whether a variable can only be meant for a setting: it begins with the name of a table.
fn is_ours(name: &str) -> bool {
    name.strip_prefix("ABIDE_").is_some_and(|rest| {
        TABLES.iter().any(|(table, _)| {
            rest.strip_prefix(&table.to_ascii_uppercase()).is_some_and(|key| key.starts_with('_'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(variables: &[(&str, &str)]) -> Result<Configuration, String> {
        let mut configuration = Configuration::default();
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        read(variables, &mut configuration).map_err(|wrong| wrong.to_string())?;
        Ok(configuration)
    }

    #[test]
    fn variables_set_what_they_are_named_after() {
        let set = set(&[
            ("ABIDE_SERVER_LISTEN", "127.0.0.1:1"),
            ("ABIDE_HTTP_ALLOW", "10.0.0.0/8, *.example.com"),
            ("ABIDE_EVENTS_MAX_BYTES", "none"),
            ("ABIDE_URL", "http://elsewhere"),
            ("ABIDE_SECRET_X", "hidden"),
        ]);
        let set = set.unwrap();
        assert_eq!(set.listen, "127.0.0.1:1");
        assert_eq!(set.http_allow, ["10.0.0.0/8", "*.example.com"]);
        assert_eq!(set.engine.events_max_bytes, None);
    }

    #[test]
    fn a_variable_that_sets_nothing_or_is_wrong_is_refused() {
        let wrong = set(&[("ABIDE_SERVER_LISTN", "x"), ("ABIDE_SERVER_DRAIN", "10")]).unwrap_err();
        assert!(wrong.contains("did you mean ABIDE_SERVER_LISTEN?"), "{wrong}");
        assert!(wrong.contains("server.drain"), "{wrong}");
    }
}
