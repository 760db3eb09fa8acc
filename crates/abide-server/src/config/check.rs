//! `abide config check`: whether a file and the environment are fine, and what they come to.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::Configuration;
use super::table::{SETTINGS, TABLES};
use crate::error::Error;

/// Arguments of `abide config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check a configuration file and the environment, and show what is set to what
    Check(CheckArgs),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The TOML file; without one, only the environment is checked
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// JSON instead of TOML
    #[arg(long)]
    json: bool,
}

/// Shows every setting with its value; those that are not as shipped are marked.
pub(crate) fn run(args: &ConfigArgs) -> Result<(), Error> {
    let ConfigCommand::Check(CheckArgs { file, json }) = &args.command;
    let mut set = Configuration::load(file.as_deref())?;
    // What is only looked at when it is used must be fine as well.
    let unfit = set.unfit();
    if !unfit.is_empty() {
        return Err(Error::Configuration(unfit.join("\n")));
    }
    set.equipment()?;
    set.trackers()?;
    let shown = if *json { as_json(&mut set) } else { as_toml(&mut set) };
    let mut out = std::io::stdout().lock();
    out.write_all(shown.as_bytes()).map_err(Error::io("standard output"))
}

fn as_toml(set: &mut Configuration) -> String {
    let (mut text, mut shipped) = (String::new(), Configuration::default());
    for (table, _) in TABLES {
        text += &format!("{}[{table}]\n", if text.is_empty() { "" } else { "\n" });
        for setting in SETTINGS.iter().filter(|setting| setting.parts().0 == *table) {
            let (value, default) = (setting.takes.show(set), setting.takes.show(&mut shipped));
            let mark = if value == default { String::new() } else { format!("  # not {default}") };
            text += &format!("{} = {value}{mark}\n", setting.parts().1);
        }
    }
    for sink in &set.sinks {
        text += "\n[[tracker]]\n";
        for (key, value, default) in sink.shown() {
            let mark = default.filter(|default| *default != value);
            let mark = mark.map_or_else(String::new, |default| format!("  # not {default}"));
            text += &format!("{key} = {value}{mark}\n");
        }
    }
    text
}

/// What is shown as TOML is JSON as well, but for lists of tables.
fn json_of(shown: &str) -> Value {
    serde_json::from_str(shown).unwrap_or_else(|_| Value::String(shown.to_owned()))
}

fn as_json(set: &mut Configuration) -> String {
    let mut shipped = Configuration::default();
    let settings: Map<String, Value> = SETTINGS
        .iter()
        .map(|setting| {
            let (value, default) = (setting.takes.show(set), setting.takes.show(&mut shipped));
            let (takes, about) = (setting.takes.wanted(), setting.about);
            let (value, default) = (json_of(&value), json_of(&default));
            let one = json!({ "value": value, "default": default, "takes": takes, "about": about });
            (setting.name.to_owned(), one)
        })
        .collect();
    let trackers = set.sinks.iter().map(|sink| {
        let keys = sink.shown().into_iter();
        keys.map(|(key, value, _)| (key.to_owned(), json_of(&value))).collect::<Map<_, _>>()
    });
    let trackers: Vec<_> = trackers.collect();
    format!("{}\n", json!({ "settings": settings, "trackers": trackers }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_a_configuration_of_its_own() {
        let mut set = Configuration { listen: "[::1]:99".to_owned(), ..Configuration::default() };
        let shown = as_toml(&mut set);
        assert!(shown.contains("listen = \"[::1]:99\"  # not \"127.0.0.1:7878\""), "{shown}");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("abide.toml");
        std::fs::write(&file, &shown).unwrap();
        let mut again = Configuration::default();
        super::super::file::read(&file, &mut again).unwrap();
        assert_eq!(as_toml(&mut again), shown);
    }
}
