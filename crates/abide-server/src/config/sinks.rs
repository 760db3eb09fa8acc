//! `[tracker]` and `[[tracker]]`: sinks that are told what happens.
//!
//! One table ([`KEYS`]) drives reading and showing, as `table.rs` does for everything else. Secrets are
//! known by where they came from, so that showing a sink can't show them.

use std::collections::BTreeSet;
use std::time::Duration;

use abide::expr::nearest;
use abide_tracker::{OtlpConfig, Tracker, TrackerConfig, Types};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::written;
use super::secret::{Environment, Secret, without_secrets};
use super::written::Written;
use crate::error::Error;

/// A sink as it was set. What was left out is as shipped.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    config: TrackerConfig,
    access_token: Secret,
    signing_secret: Secret,
}

/// Something that is wrong with a sink, and where.
pub(super) struct Wrong {
    pub(super) at: usize,
    /// `tracker.batch.maxSize`.
    pub(super) path: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// Where a value lives.
type At<T> = fn(&mut Sink) -> &mut T;

enum Takes {
    Text(At<String>),
    Secret(At<Secret>),
    Types(At<Types>),
    Ms(At<Duration>),
    Count(At<usize>),
    Small(At<u32>),
    Flag(At<bool>),
}

/// Everything that can be set, in the order of the docs.
const KEYS: &[(&str, Takes)] = &[
    ("name", Takes::Text(|sink| &mut sink.config.name)),
    ("url", Takes::Text(|sink| &mut sink.config.url)),
    ("accessToken", Takes::Secret(|sink| &mut sink.access_token)),
    ("types", Takes::Types(|sink| &mut sink.config.types)),
    ("batch.maxSize", Takes::Count(|sink| &mut sink.config.max_size)),
    ("batch.maxWaitMs", Takes::Ms(|sink| &mut sink.config.max_wait)),
    ("retry.maxAttempts", Takes::Small(|sink| &mut sink.config.retry_max_attempts)),
    ("retry.initialDelayMs", Takes::Ms(|sink| &mut sink.config.retry_initial_delay)),
    ("retry.maxDelayMs", Takes::Ms(|sink| &mut sink.config.retry_max_delay)),
    ("timeoutMs", Takes::Ms(|sink| &mut sink.config.timeout)),
    ("shutdownTimeoutMs", Takes::Ms(|sink| &mut sink.config.shutdown_timeout)),
    ("durable", Takes::Flag(|sink| &mut sink.config.durable)),
    ("signingSecret", Takes::Secret(|sink| &mut sink.signing_secret)),
];

/// Those that have no default.
const NEEDED: &[&str] = &["url", "accessToken"];

impl Takes {
    fn set(
        &self,
        to: &mut Sink,
        written: &Written,
        environment: Environment<'_>,
    ) -> Result<(), String> {
        let too_large = |_| "it is too large".to_owned();
        match self {
            Self::Text(at) => *at(to) = written.text()?,
            Self::Secret(at) => *at(to) = Secret::read(written.text()?, environment)?,
            Self::Types(at) => *at(to) = types(&written.text()?)?,
            Self::Ms(at) => *at(to) = Duration::from_millis(written.count()?),
            Self::Count(at) => *at(to) = written.count()?.try_into().map_err(too_large)?,
            Self::Small(at) => *at(to) = written.count()?.try_into().map_err(too_large)?,
            Self::Flag(at) => *at(to) = written.flag()?,
        }
        Ok(())
    }

    /// What it is set to, as TOML that is JSON as well. None when there is nothing.
    fn show(&self, of: &mut Sink) -> Option<String> {
        let quoted = |text: &str| format!("{text:?}");
        Some(match self {
            Self::Text(at) => quoted(&without_secrets(at(of))),
            Self::Secret(at) => quoted(at(of).shown()?),
            Self::Types(at) => quoted(word(*at(of))),
            Self::Ms(at) => at(of).as_millis().to_string(),
            Self::Count(at) => at(of).to_string(),
            Self::Small(at) => at(of).to_string(),
            Self::Flag(at) => at(of).to_string(),
        })
    }
}

fn types(text: &str) -> Result<Types, String> {
    let known = [Types::Default, Types::All];
    let found = known.into_iter().find(|types| word(*types) == text);
    found.ok_or_else(|| "it must be \"default\" or \"all\"".to_owned())
}

fn word(types: Types) -> &'static str {
    match types {
        Types::Default => "default",
        Types::All => "all",
        Types::Spans => "spans",
    }
}

impl Sink {
    fn nth(index: usize) -> Self {
        let mut config = TrackerConfig::new("", "");
        if index > 0 {
            config.name = format!("{}-{}", config.name, index + 1);
        }
        Self { config, access_token: Secret::default(), signing_secret: Secret::default() }
    }

    /// As the tracker takes it.
    fn config(&self) -> TrackerConfig {
        TrackerConfig {
            access_token: self.access_token.value().unwrap_or_default().to_owned(),
            signing_secret: self.signing_secret.value().map(str::to_owned),
            ..self.config.clone()
        }
    }

    /// Every key with its value and what it is as shipped; secrets only by where they come from.
    pub(super) fn shown(&self) -> Vec<(&'static str, String, Option<String>)> {
        let (mut sink, mut shipped) = (self.clone(), Self::nth(0));
        let keys = KEYS.iter().filter_map(|(key, takes)| {
            let default = takes.show(&mut shipped).filter(|_| !NEEDED.contains(key));
            Some((*key, takes.show(&mut sink)?, default))
        });
        keys.collect()
    }
}

/// Reads one table, or several. `at` is where they are named.
pub(super) fn read(
    at: usize,
    value: &DeValue<'_>,
    environment: Environment<'_>,
) -> Result<Vec<Sink>, Vec<Wrong>> {
    let tables: Vec<(usize, &DeValue<'_>)> = match value {
        DeValue::Array(tables) => {
            tables.iter().map(|table| (table.span().start, table.get_ref())).collect()
        }
        table => vec![(at, table)],
    };
    let (mut sinks, mut wrong): (Vec<Sink>, Vec<Wrong>) = (Vec::new(), Vec::new());
    for (index, (at, table)) in tables.into_iter().enumerate() {
        let mut reading =
            Reading { sink: Sink::nth(index), places: Vec::new(), wrong: Vec::new(), environment };
        match table {
            DeValue::Table(table) => reading.table("", table),
            other => {
                let message = format!("tracker: it must be a table, not a {}", other.type_str());
                reading.wrong(at, "", message, None);
            }
        }
        reading.finish(at, &sinks);
        wrong.append(&mut reading.wrong);
        sinks.push(reading.sink);
    }
    if wrong.is_empty() { Ok(sinks) } else { Err(wrong) }
}

struct Reading<'r> {
    sink: Sink,
    /// Where each key was set.
    places: Vec<(&'static str, usize)>,
    wrong: Vec<Wrong>,
    environment: Environment<'r>,
}

impl Reading<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            let inside = format!("{name}.");
            if let Some((known, takes)) = KEYS.iter().find(|(known, _)| *known == name) {
                self.places.push((known, value.span().start));
                self.set(known, takes, value);
            } else if let DeValue::Table(inner) = value.get_ref()
                && KEYS.iter().any(|(known, _)| known.starts_with(&inside))
            {
                self.table(&inside, inner);
            } else {
                self.unknown(key.span().start, &name);
            }
        }
    }

    fn set(&mut self, key: &'static str, takes: &Takes, value: &Spanned<DeValue<'_>>) {
        let set = written(value)
            .and_then(|written| takes.set(&mut self.sink, &written, self.environment));
        if let Err(why) = set {
            self.wrong(value.span().start, key, format!("tracker.{key}: {why}"), None);
        }
    }

    fn unknown(&mut self, at: usize, name: &str) {
        let known: Vec<&str> = KEYS.iter().map(|(known, _)| *known).collect();
        // Whoever forgets the table that a key is in still means it.
        let last = known.iter().copied().find(|known| known.rsplit('.').next() == Some(name));
        let hint = match last.or_else(|| nearest(name, known.iter().copied())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        self.wrong(at, name, format!("there is no setting `tracker.{name}`"), Some(hint));
    }

    /// What only shows when everything is read.
    fn finish(&mut self, at: usize, before: &[Sink]) {
        if !self.wrong.is_empty() {
            return;
        }
        let is_set = |key: &str| self.places.iter().any(|(set, _)| *set == key);
        let missing: Vec<_> = NEEDED.iter().filter(|key| !is_set(key)).collect();
        for key in missing {
            self.wrong(at, key, format!("tracker.{key}: it must be there"), None);
        }
        if !self.wrong.is_empty() {
            return;
        }
        let name = &self.sink.config.name;
        if before.iter().any(|sink| sink.config.name == *name) {
            let message = format!("tracker.name: there is another sink {name:?}");
            return self.wrong(self.place_of("name").unwrap_or(at), "name", message, None);
        }
        if let Err(abide::Error::Invalid { what, message }) = Tracker::new(self.sink.config()) {
            let key = what.split(' ').next().unwrap_or_default().to_owned();
            let at = self.place_of(&key).unwrap_or(at);
            self.wrong(at, &key, format!("tracker.{key}: {message}"), None);
        }
    }

    fn place_of(&self, key: &str) -> Option<usize> {
        self.places.iter().find(|(set, _)| *set == key).map(|(_, at)| *at)
    }

    fn wrong(&mut self, at: usize, key: &str, message: String, hint: Option<String>) {
        self.wrong.push(Wrong { at, path: format!("tracker.{key}"), message, hint });
    }
}

/// The trackers of a configuration.
pub(super) fn trackers(
    sinks: &[Sink],
    collector: Option<&OtlpConfig>,
) -> Result<Vec<Tracker>, Error> {
    let made = sinks.iter().map(|sink| Tracker::new(sink.config()));
    let made: Vec<_> = made.chain(collector.map(Tracker::otlp)).collect::<abide::Result<_>>()?;
    let names: BTreeSet<&str> = made.iter().map(Tracker::name).collect();
    if names.len() < made.len() {
        let message = "the sink of [telemetry] is called otlp, and a [tracker] is too";
        return Err(Error::Configuration(message.to_owned()));
    }
    Ok(made)
}

#[cfg(test)]
mod tests;
