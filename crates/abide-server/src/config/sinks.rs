//! `[tracker]` and `[[tracker]]`: sinks that are told what happens.

use std::collections::BTreeSet;
use std::time::Duration;

use abide_tracker::{OtlpConfig, Tracker, TrackerConfig, Types};
use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;

/// What stands before the name of a variable of the environment.
const FROM_ENVIRONMENT: &str = "env:";

/// A table as it is written. What is left out is as shipped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Table {
    url: String,
    access_token: String,
    name: Option<String>,
    types: Option<Types>,
    #[serde(default)]
    batch: Batch,
    #[serde(default)]
    retry: Retry,
    timeout_ms: Option<u64>,
    shutdown_timeout_ms: Option<u64>,
    #[serde(default)]
    durable: bool,
    signing_secret: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Batch {
    max_size: Option<usize>,
    max_wait_ms: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Retry {
    max_attempts: Option<u32>,
    initial_delay_ms: Option<u64>,
    max_delay_ms: Option<u64>,
}

/// Where variables of the environment come from.
pub(super) type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Reads one table, or several.
pub(super) fn read(
    written: Value,
    environment: Environment<'_>,
) -> Result<Vec<TrackerConfig>, String> {
    let tables = match written {
        Value::Array(tables) => tables,
        table => vec![table],
    };
    let mut sinks = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let table: Table = serde_json::from_value(table).map_err(|wrong| wrong.to_string())?;
        let sink = sink(table, index, environment)?;
        Tracker::new(sink.clone()).map_err(|wrong| wrong.to_string())?;
        sinks.push(sink);
    }
    let names: BTreeSet<_> = sinks.iter().map(|sink| &sink.name).collect();
    if names.len() < sinks.len() {
        return Err("two sinks have the same name".to_owned());
    }
    Ok(sinks)
}

fn sink(table: Table, index: usize, environment: Environment<'_>) -> Result<TrackerConfig, String> {
    let shipped =
        TrackerConfig::new(table.url, secret("accessToken", table.access_token, environment)?);
    let name = match index {
        0 => shipped.name.clone(),
        _ => format!("{}-{}", shipped.name, index + 1),
    };
    let ms = |given: Option<u64>, shipped| given.map_or(shipped, Duration::from_millis);
    let signing_secret =
        table.signing_secret.map(|text| secret("signingSecret", text, environment));
    Ok(TrackerConfig {
        name: table.name.unwrap_or(name),
        types: table.types.unwrap_or_default(),
        max_size: table.batch.max_size.unwrap_or(shipped.max_size),
        max_wait: ms(table.batch.max_wait_ms, shipped.max_wait),
        retry_max_attempts: table.retry.max_attempts.unwrap_or(shipped.retry_max_attempts),
        retry_initial_delay: ms(table.retry.initial_delay_ms, shipped.retry_initial_delay),
        retry_max_delay: ms(table.retry.max_delay_ms, shipped.retry_max_delay),
        timeout: ms(table.timeout_ms, shipped.timeout),
        shutdown_timeout: ms(table.shutdown_timeout_ms, shipped.shutdown_timeout),
        durable: table.durable,
        signing_secret: signing_secret.transpose()?,
        ..shipped
    })
}

/// A secret, or the variable that holds it.
pub(super) fn secret(
    key: &str,
    written: String,
    environment: Environment<'_>,
) -> Result<String, String> {
    let Some(name) = written.strip_prefix(FROM_ENVIRONMENT) else { return Ok(written) };
    environment(name).ok_or_else(|| format!("{key}: there is no {name} in the environment"))
}

/// The trackers of a configuration.
pub(super) fn trackers(
    sinks: &[TrackerConfig],
    collector: Option<&OtlpConfig>,
) -> Result<Vec<Tracker>, Error> {
    let made = sinks.iter().map(|sink| Tracker::new(sink.clone()));
    let made: Vec<Tracker> =
        made.chain(collector.map(Tracker::otlp)).collect::<abide::Result<_>>()?;
    let names: BTreeSet<&str> = made.iter().map(Tracker::name).collect();
    if names.len() < made.len() {
        return Err(Error::Configuration(
            "a tracker is called as the collector is: otlp".to_owned(),
        ));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_with(written: Value) -> Result<Vec<TrackerConfig>, String> {
        read(written, &|name| (name == "TOKEN").then(|| "from outside".to_owned()))
    }

    #[test]
    fn a_table_sets_what_it_names_and_the_rest_is_as_shipped() {
        let least = read_with(json!({"url": "http://a/", "accessToken": "env:TOKEN"})).unwrap();
        assert_eq!(least, [TrackerConfig::new("http://a/", "from outside")]);
        let all = json!({
            "url": "http://b/", "accessToken": "t", "name": "audit", "types": "all",
            "batch": {"maxSize": 1, "maxWaitMs": 2},
            "retry": {"maxAttempts": 3, "initialDelayMs": 4, "maxDelayMs": 5},
            "timeoutMs": 6, "shutdownTimeoutMs": 7, "durable": true, "signingSecret": "whsec_AAAA",
        });
        let expected = TrackerConfig {
            name: "audit".to_owned(),
            types: Types::All,
            max_size: 1,
            max_wait: Duration::from_millis(2),
            retry_max_attempts: 3,
            retry_initial_delay: Duration::from_millis(4),
            retry_max_delay: Duration::from_millis(5),
            timeout: Duration::from_millis(6),
            shutdown_timeout: Duration::from_millis(7),
            durable: true,
            signing_secret: Some("whsec_AAAA".to_owned()),
            ..TrackerConfig::new("http://b/", "t")
        };
        let two = json!([{"url": "http://a/", "accessToken": "t"}, all]);
        assert_eq!(read_with(two).unwrap()[1], expected);
        let unnamed = json!({"url": "http://a/", "accessToken": "t"});
        let two = read_with(json!([unnamed, unnamed])).unwrap();
        assert_eq!((two[0].name.as_str(), two[1].name.as_str()), ("tracker", "tracker-2"));
    }

    #[test]
    fn what_is_missing_wrong_or_unknown_is_refused() {
        let good = json!({"url": "http://a/", "accessToken": "t", "name": "a"});
        for (key, value, why) in [
            ("url", json!("ftp://a/"), "http"),
            ("accessToken", json!("env:NOWHERE"), "NOWHERE"),
            ("batch", json!({"maxsize": 1}), "maxsize"),
            ("types", json!("some"), "some"),
            ("signingSecret", json!("?"), "base64"),
            ("colour", json!("red"), "colour"),
        ] {
            let mut wrong = good.clone();
            wrong[key] = value;
            let refused = read_with(wrong).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(read_with(json!({"url": "http://a/"})).unwrap_err().contains("accessToken"));
        assert!(read_with(json!([good, good])).unwrap_err().contains("same name"));
    }
}
