//! The configuration file: TOML, every problem told at once with its place.

use std::path::Path;

use abide::expr::nearest;
use abide_flow::{Position, Problem, report};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::setting::Setting;
use super::sinks::{self, Wrong};
use super::table::{SETTINGS, TABLES, find};
use super::written::Written;
use super::{Configuration, environment};
use crate::error::Error;

/// Reads a file into a configuration.
pub(super) fn read(file: &Path, into: &mut Configuration) -> Result<(), Error> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(Error::io(shown.as_str()))?;
    let problems = apply(&shown, &text, into);
    if problems.is_empty() {
        return Ok(());
    }
    let text = without_secrets(&text, &problems);
    Err(Error::Configuration(report(&shown, &text, &problems).trim_end().to_owned()))
}

/// The text with what may be told of it: a line is shown as it is when it sets something that is no
/// secret. A misspelt key or a missing quote may be one's.
fn without_secrets(text: &str, problems: &[Problem]) -> String {
    let is_open = |line: usize| {
        let at_line = problems.iter().filter(|problem| problem.position.line == line);
        let is_no_secret = |p: &Problem| find(&p.path).is_some_and(|it| !it.takes.is_secret());
        at_line.clone().count() > 0 && at_line.into_iter().all(is_no_secret)
    };
    let lines = text.lines().enumerate().map(|(index, line)| {
        let (key, value) = line.split_once('=').map_or((line, ""), |(key, _)| (key, "= …"));
        match line.trim_start().starts_with('[') || is_open(index + 1) {
            true => format!("{line}\n"),
            false if value.is_empty() => "…\n".to_owned(),
            false => format!("{key}{value}\n"),
        }
    });
    lines.collect()
}

/// Sets what a text sets; answers everything that is wrong with it.
fn apply(file: &str, text: &str, into: &mut Configuration) -> Vec<Problem> {
    match DeTable::parse(text) {
        Ok(table) => {
            let mut reading = Reading { file, text, into, problems: Vec::new() };
            reading.table("", table.get_ref());
            reading.problems
        }
        Err(wrong) => {
            let at = wrong.span().map_or(0, |span| span.start);
            vec![problem(text, at, String::new(), wrong.message().to_owned(), None)]
        }
    }
}

struct Reading<'r> {
    file: &'r str,
    text: &'r str,
    into: &'r mut Configuration,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let at = key.span().start;
            let name = format!("{prefix}{}", key.get_ref());
            let inside = format!("{name}.");
            if name == "tracker" {
                self.trackers(at, value.get_ref());
            } else if let Some(setting) = find(&name) {
                self.set(setting, value);
            } else if let DeValue::Table(inner) = value.get_ref()
                && SETTINGS.iter().any(|setting| setting.name.starts_with(&inside))
            {
                self.table(&inside, inner);
            } else {
                self.unknown(at, name, prefix);
            }
        }
    }

    fn trackers(&mut self, at: usize, value: &DeValue<'_>) {
        match sinks::read(at, value, &environment) {
            Ok(sinks) => self.into.sinks = sinks,
            Err(wrong) => wrong.into_iter().for_each(|Wrong { at, path, message, hint }| {
                self.problem(at, path, message, hint);
            }),
        }
    }

    fn set(&mut self, setting: &'static Setting, value: &Spanned<DeValue<'_>>) {
        let (name, at) = (setting.name, value.span().start);
        let set = written(value).and_then(|written| setting.takes.set(self.into, &written));
        match set {
            Ok(()) => {
                let Position { line, column } = position(self.text, at);
                let place = format!("{}:{line}:{column}", self.file);
                self.into.places.insert(name, place);
            }
            Err(wrong) => self.problem(at, name.to_owned(), format!("{name}: {wrong}"), None),
        }
    }

    fn unknown(&mut self, at: usize, name: String, prefix: &str) {
        let message = format!("there is no setting `{name}`");
        let near = if prefix.is_empty() {
            nearest(&name, TABLES.iter().map(|(table, _)| *table))
                .map(|near| format!("did you mean `[{near}]`?"))
        } else {
            nearest(&name, SETTINGS.iter().map(|setting| setting.name))
                .map(|near| format!("did you mean `{near}`?"))
        };
        let hint = near.unwrap_or_else(|| {
            let known: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
            let beside: Vec<_> =
                known.into_iter().filter(|name| name.starts_with(prefix)).collect();
            if prefix.is_empty() {
                let tables: Vec<_> = TABLES.iter().map(|(table, _)| *table).collect();
                format!("there are {}", tables.join(", "))
            } else {
                format!("there are {}", beside.join(", "))
            }
        });
        self.problem(at, name, message, Some(hint));
    }

    fn problem(&mut self, at: usize, path: String, message: String, hint: Option<String>) {
        self.problems.push(problem(self.text, at, path, message, hint));
    }
}

fn problem(text: &str, at: usize, path: String, message: String, hint: Option<String>) -> Problem {
    Problem { position: position(text, at), path, message, hint }
}

fn position(text: &str, at: usize) -> Position {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    let column = before[line_start..].chars().count() + 1;
    Position { line, column }
}

/// A value of TOML as any setting could take it.
pub(super) fn written(value: &Spanned<DeValue<'_>>) -> Result<Written, String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(Written::Text(text.clone().into_owned())),
        DeValue::Boolean(flag) => Ok(Written::Flag(*flag)),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
            .map(Written::Number)
            .map_err(|_| format!("{} is not a number from zero on", number.as_str())),
        DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
            json(value.get_ref()).map(Written::Records)
        }
        DeValue::Array(items) => {
            let text = |item: &Spanned<DeValue<'_>>| {
                let text = item.get_ref().as_str().map(str::to_owned);
                text.ok_or_else(|| "it must be a list of texts".to_owned())
            };
            items.iter().map(text).collect::<Result<_, _>>().map(Written::List)
        }
        other => Err(format!("a {} is not something a setting takes", other.type_str())),
    }
}

/// Maps, lists, texts, numbers and flags as JSON.
fn json(value: &DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::String(text) => Ok(Value::String(text.clone().into_owned())),
        DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
            .map(Value::from)
            .map_err(|_| format!("{} is not a number from zero on", number.as_str())),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let members = table.iter().map(|(key, value)| {
                Ok((key.get_ref().clone().into_owned(), json(value.get_ref())?))
            });
            members.collect::<Result<_, String>>().map(Value::Object)
        }
        other => Err(format!("a {} is not something it takes", other.type_str())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Result<Configuration, String> {
        let mut configuration = Configuration::default();
        let problems = apply("abide.toml", text, &mut configuration);
        if problems.is_empty() {
            Ok(configuration)
        } else {
            Err(problems.iter().map(|problem| format!("{problem}\n")).collect())
        }
    }

    #[test]
    fn settings_are_read_by_table() {
        let read = read(
            "[server]\nlisten = \"0.0.0.0:80\"\nmaxBody = \"1 MiB\"\n[residency]\nidle = \"9s\"\n\
             [http]\ndeny = [\"*\"]\nbody.max = 77\n[events]\nretention = \"none\"\n",
        );
        let read = read.unwrap();
        assert_eq!((read.listen.as_str(), read.server.max_body), ("0.0.0.0:80", 1 << 20));
        assert_eq!(read.engine.residency_idle, Duration::from_secs(9));
        assert_eq!((read.http_deny, read.http.body_max), (vec!["*".to_owned()], 77));
        assert_eq!(read.engine.events_retention, None);
    }

    #[test]
    fn tokens_are_read_as_tables() {
        let read = read("[[server.tokens]]\nname = \"ci\"\nhash = \"00\"\nscopes = [\"write\"]\n");
        let tokens = read.unwrap().server.tokens;
        assert_eq!((tokens.len(), tokens[0].name.as_str()), (1, "ci"));
        let wrong =
            apply("f", "[server]\ntokens = [{ nam = \"x\" }]\n", &mut Configuration::default());
        assert!(wrong[0].message.contains("unknown field `nam`"), "{wrong:?}");
    }

    #[test]
    fn trackers_are_read_as_one_table_or_as_several() {
        let one = "[tracker]\nurl = \"http://a/\"\naccessToken = \"t\"\nbatch.maxSize = 7\ndurable = true\n";
        let sinks = read(one).unwrap().sinks;
        let shown = sinks[0].shown();
        assert_eq!((sinks.len(), shown[4].0, shown[4].1.as_str()), (1, "batch.maxSize", "7"));
        let table = "[[tracker]]\nurl = \"http://a/\"\naccessToken = \"t\"\n";
        assert_eq!(read(&table.repeat(2)).unwrap().trackers().unwrap().len(), 2);
        let wrong = read("[server]\ndrain = \"1s\"\n[tracker]\nurl = \"x\"\n").unwrap_err();
        assert!(wrong.starts_with("3:2: tracker.accessToken: it must be there"), "{wrong}");
    }

    #[test]
    fn every_problem_is_told_with_its_place_and_what_was_meant() {
        let wrong = read("[server]\nlistne = \"x\"\ndrain = \"soon\"\n\n[residnecy]\nidle = 1\n");
        let wrong = wrong.unwrap_err();
        for part in [
            "2:1: there is no setting `server.listne`; did you mean `server.listen`?",
            "3:9: server.drain: ",
            "5:2: there is no setting `residnecy`; did you mean `[residency]`?",
        ] {
            assert!(wrong.contains(part), "{part} is not in\n{wrong}");
        }
    }

    #[test]
    fn lines_that_may_hold_a_secret_are_not_repeated() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("abide.toml");
        for (text, place, shown) in [
            ("[tracker]\naccesToken = \"hush\"\n", ":2:1: there is", "2 | accesToken = …"),
            (
                "[tracker]\nsigningSecret = \"hush!\"\nurl = 'http://a/'\naccessToken = 'x'",
                ":2:17: ",
                "",
            ),
            ("[tracker]\naccessToken = \"hush\n", ":2:", "2 | accessToken = …"),
            ("[tracker]\naccessToken = \"\"\"\nhush\n", ":", ""),
            (
                "[telemetry]\nheaders = {a = \"hush\"}\n",
                ":2:11: telemetry.headers",
                "2 | headers = …",
            ),
            ("accessToken = \"hush\"\n", ":1:1: there is no setting", "1 | accessToken = …"),
            ("[server]\ndrain = \"soon\"\n", ":2:9: server.drain", "2 | drain = \"soon\""),
        ] {
            std::fs::write(&file, text).unwrap();
            let said = super::read(&file, &mut Configuration::default()).unwrap_err().to_string();
            assert!(said.contains(place) && said.contains(shown), "{said}");
            assert!(!said.contains("hush"), "{said}");
        }
    }

    #[test]
    fn what_is_no_toml_has_its_place() {
        assert!(read("[server\n").unwrap_err().starts_with("1:"));
    }
}
