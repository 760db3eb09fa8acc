//! What an operator sets: in a file, then by the environment, then by flags; the last one wins.
//!
//! One table (`table.rs`) drives reading, `abide config check` and `docs/configuration.md`.

mod check;
mod file;
mod fitness;
#[cfg(test)]
mod reference;
mod secret;
mod setting;
mod sinks;
mod table;
mod telemetry;
mod variables;
mod written;

use std::collections::BTreeMap;
use std::path::Path;

use abide::Config;
use abide::meeting::BufferLimit;
use abide_flow::{AddressRules, EnvironmentSecrets, Equipment, HttpSettings};
use abide_server::Settings;
use abide_sqlite::{Options, SqliteStore};
use abide_tracker::Tracker;

use crate::error::Error;
use sinks::Sink;
use telemetry::Telemetry;

pub(crate) use check::{ConfigArgs, run};

/// Everything that can be set.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) listen: String,
    pub(crate) workflows: Vec<String>,
    pub(crate) store: String,
    pub(crate) server: Settings,
    pub(crate) engine: Config,
    sqlite: SqliteSettings,
    http: HttpSettings,
    http_allow: Vec<String>,
    http_deny: Vec<String>,
    http_ca_files: Vec<String>,
    sinks: Vec<Sink>,
    telemetry: Telemetry,
    /// Where settings were set: `abide.toml:4:9`, `ABIDE_SERVER_LISTEN`.
    places: BTreeMap<&'static str, String>,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7878".to_owned(),
            workflows: Vec::new(),
            store: "sqlite:abide.db".to_owned(),
            server: Settings::default(),
            engine: Config::default(),
            sqlite: SqliteSettings::default(),
            http: HttpSettings::default(),
            http_allow: Vec::new(),
            http_deny: Vec::new(),
            http_ca_files: Vec::new(),
            sinks: Vec::new(),
            telemetry: Telemetry::default(),
            places: BTreeMap::new(),
        }
    }
}

/// The options of the SQLite store, which can't be read back. A test keeps the defaults the same.
#[derive(Clone, Debug)]
struct SqliteSettings {
    max_queued: usize,
    buffer: BufferLimit,
    remembered_ids: usize,
    lookback_max_scanned: usize,
    fanout_chunk: usize,
    index_max_bytes: usize,
}

impl Default for SqliteSettings {
    fn default() -> Self {
        Self {
            max_queued: 10_000,
            buffer: BufferLimit::default(),
            remembered_ids: 10_000,
            lookback_max_scanned: 10_000,
            fanout_chunk: 128,
            index_max_bytes: 512 << 20,
        }
    }
}

impl Configuration {
    /// As a file and the environment say.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, Error> {
        let mut configuration = Self::default();
        if let Some(file) = file {
            file::read(file, &mut configuration)?;
        }
        variables::read(std::env::vars_os(), &mut configuration)?;
        configuration.telemetry.complete(&environment);
        configuration.engine.own_spans = configuration.telemetry.url.is_some();
        Ok(configuration)
    }

    /// How the SQLite store is opened.
    pub(crate) fn store_options(&self) -> Options {
        let SqliteSettings {
            max_queued,
            buffer,
            remembered_ids,
            lookback_max_scanned,
            fanout_chunk,
            index_max_bytes,
        } = self.sqlite.clone();
        SqliteStore::options()
            .max_queued(max_queued)
            .buffer_limit(buffer)
            .remembered_ids(remembered_ids)
            .lookback_max_scanned(lookback_max_scanned)
            .fanout_chunk(fanout_chunk)
            .index_max_bytes(index_max_bytes)
    }

    /// Who is told what happens.
    pub(crate) fn trackers(&self) -> Result<Vec<Tracker>, Error> {
        let collector = self.telemetry.collector(&environment).map_err(Error::Configuration)?;
        sinks::trackers(&self.sinks, collector.as_ref())
    }

    /// What documents may use.
    pub(crate) fn equipment(&self) -> Result<Equipment, Error> {
        let mut settings = self.http.clone();
        settings.addresses = AddressRules::parse(&self.http_allow, &self.http_deny)
            .map_err(|wrong| Error::Refused(format!("http.allow or http.deny: {wrong}")))?;
        for file in &self.http_ca_files {
            let read = std::fs::read_to_string(file);
            let pem = read.map_err(Error::io(format!("http.caCertificates: {file}")))?;
            settings.ca_certificates.push(pem);
        }
        Equipment::with(settings, EnvironmentSecrets::default())
            .map_err(|wrong| Error::Refused(format!("http: {wrong}")))
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_opened_with_its_own_defaults() {
        let (ours, theirs) = (Configuration::default().store_options(), SqliteStore::options());
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    }
}
