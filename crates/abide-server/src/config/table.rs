//! Everything that can be set, in the order of the docs.

use super::setting::{Setting, Takes};

const fn setting(name: &'static str, takes: Takes, about: &'static str) -> Setting {
    Setting { name, about, takes }
}

/// What the tables are about. A table that is not here has no settings.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("server", "The HTTP server."),
    ("store", "Where everything is kept."),
    ("wait", "Waits for events."),
    ("residency", "Parked instances in memory. Dropping one costs a replay, never anything else."),
    ("http", "What `http` and `tool` steps of documents may reach."),
    ("events", "The log of published events."),
    (
        "telemetry",
        "Where traces go, by OTLP over HTTP ([traces.md](traces.md)). What is not set is taken from `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_SERVICE_NAME`.",
    ),
    ("instances", "Instances that have ended."),
    ("payload", "Values that are stored."),
    ("instance", "One instance."),
    ("run", "One run of an instance."),
    ("step", "One step."),
    ("buffer", "What was sent to an instance before it waited for it."),
    ("event", "Events sent to an instance."),
    ("lookback", "Waits that look back into the log."),
    ("fanout", "Events that many wait for."),
    ("index", "What open waits want, in memory."),
    ("feed", "Those who watch all instances."),
    ("stream", "Streaming steps."),
    ("timers", "Sleeps and deadlines."),
    ("sweep", "The net below lost hints."),
    ("stuck", "Instances that wait for something outside Abide."),
    ("prune", "Deleting what is past its retention."),
    ("shutdown", "Stopping."),
];

pub(super) const SETTINGS: &[Setting] = &[
    setting(
        "server.listen",
        Takes::Text(|c| &mut c.listen),
        "Address and port. Anything but loopback needs a token, or `server.insecure`.",
    ),
    setting(
        "server.insecure",
        Takes::Flag(|c| &mut c.server.insecure),
        "Listens on any address without tokens: whoever reaches it may do everything.",
    ),
    setting(
        "server.tokens",
        Takes::Tokens(|c| &mut c.server.tokens),
        "Tokens beside those that the store keeps.",
    ),
    setting(
        "server.workflows",
        Takes::List(|c| &mut c.workflows),
        "Files and directories of workflow documents to register at the start.",
    ),
    setting("server.maxBody", Takes::Bytes(|c| &mut c.server.max_body), "Bytes of one request."),
    setting(
        "server.headerTimeout",
        Takes::Duration(|c| &mut c.server.header_timeout),
        "How long a client may take to say what it wants.",
    ),
    setting(
        "server.bodyTimeout",
        Takes::Duration(|c| &mut c.server.body_timeout),
        "How long a client may take to send a body.",
    ),
    setting(
        "server.maxConnections",
        Takes::Count(|c| &mut c.server.max_connections),
        "More wait to be accepted.",
    ),
    setting(
        "server.maxRequests",
        Takes::Count(|c| &mut c.server.max_requests),
        "Requests served at once, those that only wait not counted; more are answered `RATE_LIMITED`.",
    ),
    setting(
        "server.maxWait",
        Takes::Duration(|c| &mut c.server.max_wait),
        "The longest a request may ask to wait for a result, an output or a rest.",
    ),
    setting(
        "server.drain",
        Takes::Duration(|c| &mut c.server.drain),
        "How long a shutdown waits for requests under way.",
    ),
    setting(
        "server.heartbeat",
        Takes::Duration(|c| &mut c.server.heartbeat),
        "How often a stream says that it is alive.",
    ),
    setting(
        "server.cors",
        Takes::List(|c| &mut c.server.cors),
        "Origins whose pages may call, beside the server's own.",
    ),
    setting(
        "telemetry.url",
        Takes::AddressOrNone(|c| &mut c.telemetry.url),
        "Where spans are posted, such as `http://localhost:4318/v1/traces`.",
    ),
    setting(
        "telemetry.service",
        Takes::Text(|c| &mut c.telemetry.service),
        "What this server is called in traces: their `service.name`.",
    ),
    setting(
        "telemetry.headers",
        Takes::Headers(|c| &mut c.telemetry.headers),
        "`name=value` each, sent with every request; `name=env:NAME` takes the value from the environment.",
    ),
    setting(
        "telemetry.timeout",
        Takes::Duration(|c| &mut c.telemetry.timeout),
        "How long one request may take.",
    ),
    setting(
        "store.url",
        Takes::Text(|c| &mut c.store),
        "`sqlite:FILE`; the file is created when there is none.",
    ),
    setting(
        "store.maxQueued",
        Takes::Count(|c| &mut c.sqlite.max_queued),
        "Writes that may wait; more calls from outside are answered `RATE_LIMITED`.",
    ),
    setting(
        "wait.defaultTimeout",
        Takes::DurationOrNone(|c| &mut c.engine.wait_default_timeout),
        "How long a wait for an event lasts that names no timeout.",
    ),
    setting(
        "residency.idle",
        Takes::Duration(|c| &mut c.engine.residency_idle),
        "How long a parked instance stays in memory for a quick wake-up.",
    ),
    setting(
        "residency.budget",
        Takes::Bytes(|c| &mut c.engine.residency_budget),
        "Bytes that parked instances may take; the longest parked go first.",
    ),
    setting(
        "residency.loading",
        Takes::Count(|c| &mut c.engine.residency_loading),
        "Instances read and replayed at once after a wake-up or a restart.",
    ),
    setting(
        "http.allow",
        Takes::List(|c| &mut c.http_allow),
        "Hosts and networks that may be reached: `10.0.0.0/8`, `api.example.com`, `*.example.com`, `*`. The most specific rule decides.",
    ),
    setting(
        "http.deny",
        Takes::List(|c| &mut c.http_deny),
        "Those that may not. Link-local and metadata addresses never may unless their address is allowed.",
    ),
    setting(
        "http.timeout",
        Takes::Duration(|c| &mut c.http.timeout),
        "How long a call takes that names no timeout.",
    ),
    setting(
        "http.connectTimeout",
        Takes::Duration(|c| &mut c.http.connect_timeout),
        "How long connecting may take.",
    ),
    setting(
        "http.body.max",
        Takes::Bytes(|c| &mut c.http.body_max),
        "Bytes of one answer, which is stored and read again on replay.",
    ),
    setting(
        "http.stream.maxBytes",
        Takes::Bytes(|c| &mut c.http.stream_max),
        "Bytes of one streamed answer.",
    ),
    setting(
        "http.caCertificates",
        Takes::List(|c| &mut c.http_ca_files),
        "PEM files of authorities to trust besides those of the system.",
    ),
    setting(
        "events.retention",
        Takes::DurationOrNone(|c| &mut c.engine.events_retention),
        "How long published events are kept: how far a wait may look back and a repeat is known as one.",
    ),
    setting(
        "events.maxBytes",
        Takes::BytesOrNone(|c| &mut c.engine.events_max_bytes),
        "Bytes of payload that the log may have.",
    ),
    setting(
        "events.maxPerType",
        Takes::CountOrNone(|c| &mut c.engine.events_max_per_type),
        "Events of one type that the log may have.",
    ),
    setting(
        "instances.retention",
        Takes::DurationOrNone(|c| &mut c.engine.instances_retention),
        "How long ended instances are kept; then their ids are free again.",
    ),
    setting(
        "payload.max",
        Takes::Bytes(|c| &mut c.engine.payload_max),
        "Bytes of one input, result or output. Larger things belong in an object store.",
    ),
    setting(
        "instance.maxBytes",
        Takes::Bytes(|c| &mut c.engine.instance_max_bytes),
        "Bytes of all recorded results of one run, because replay reads them.",
    ),
    setting(
        "run.maxSteps",
        Takes::Small(|c| &mut c.engine.run_max_steps),
        "Steps of one run, because replay walks them.",
    ),
    setting(
        "step.maxInterruptions",
        Takes::Small(|c| &mut c.engine.step_max_interruptions),
        "Crashes in a row that one step may be the victim, or cause, of.",
    ),
    setting(
        "buffer.max",
        Takes::Count(|c| &mut c.sqlite.buffer.entries),
        "Entries that an instance keeps; more are answered `BUFFER_FULL`.",
    ),
    setting(
        "buffer.maxBytes",
        Takes::Bytes(|c| &mut c.sqlite.buffer.bytes),
        "Bytes of payload that it keeps.",
    ),
    setting(
        "event.rememberedIds",
        Takes::Count(|c| &mut c.sqlite.remembered_ids),
        "Ids that an instance remembers, to answer the same id again as the first time.",
    ),
    setting(
        "lookback.maxScanned",
        Takes::Count(|c| &mut c.sqlite.lookback_max_scanned),
        "Events that a wait without an equality key looks back to.",
    ),
    setting(
        "fanout.chunk",
        Takes::Count(|c| &mut c.sqlite.fanout_chunk),
        "Instances that an event meets in the transaction that stores it; the rest follow in pieces.",
    ),
    setting(
        "index.maxBytes",
        Takes::Bytes(|c| &mut c.sqlite.index_max_bytes),
        "When it would take more, events are matched with the rows of the file.",
    ),
    setting(
        "feed.keep",
        Takes::Count(|c| &mut c.engine.feed_keep),
        "Rows of history kept in memory for them; who falls further behind gets a gap.",
    ),
    setting(
        "feed.maxBytes",
        Takes::Bytes(|c| &mut c.engine.feed_max_bytes),
        "Bytes of payload that those rows may have.",
    ),
    setting(
        "feed.lookBack",
        Takes::Rows(|c| &mut c.engine.feed_look_back),
        "How many rows behind somebody who comes back may be, and is given them from the store.",
    ),
    setting(
        "stream.groupInterval",
        Takes::Duration(|c| &mut c.engine.stream_group_interval),
        "How long pieces gather before they are stored and shown, because each time costs a commit.",
    ),
    setting(
        "stream.groupBytes",
        Takes::Bytes(|c| &mut c.engine.stream_group_bytes),
        "Bytes of one chunk.",
    ),
    setting(
        "stream.maxBytes",
        Takes::Bytes(|c| &mut c.engine.stream_max_bytes),
        "Bytes of what one step streams, because its result is stored as a whole.",
    ),
    setting(
        "timers.horizon",
        Takes::Duration(|c| &mut c.engine.timers_horizon),
        "Timers due sooner are held in memory, the rest only in the store.",
    ),
    setting(
        "sweep.interval",
        Takes::Duration(|c| &mut c.engine.sweep_interval),
        "How often to look for instances that a lost hint left out.",
    ),
    setting(
        "stuck.after",
        Takes::Duration(|c| &mut c.engine.stuck_after),
        "When such an instance is reported.",
    ),
    setting(
        "prune.batch",
        Takes::Count(|c| &mut c.engine.prune_batch),
        "Instances or events deleted in one transaction.",
    ),
    setting(
        "prune.interval",
        Takes::Duration(|c| &mut c.engine.prune_interval),
        "How often to look for what can go.",
    ),
    setting(
        "shutdown.grace",
        Takes::Duration(|c| &mut c.engine.shutdown_grace),
        "How long a shutdown waits for running steps.",
    ),
];

/// The setting of this name.
pub(super) fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::Configuration;
    use crate::config::written::Written;

    #[test]
    fn every_setting_has_a_table_and_variable_of_its_own() {
        let names: BTreeSet<_> = SETTINGS.iter().map(|setting| setting.name).collect();
        let variables: BTreeSet<_> = SETTINGS.iter().map(Setting::variable).collect();
        assert_eq!((names.len(), variables.len()), (SETTINGS.len(), SETTINGS.len()));
        let tables: BTreeSet<_> = TABLES.iter().map(|(table, _)| *table).collect();
        let used: BTreeSet<_> = SETTINGS.iter().map(|setting| setting.parts().0).collect();
        assert_eq!(tables, used);
    }

    #[test]
    fn setting_one_changes_that_one_only() {
        for setting in SETTINGS {
            let mut changed = Configuration::default();
            let other = match setting.takes {
                Takes::Flag(_) => Written::Flag(true),
                Takes::Text(_) | Takes::AddressOrNone(_) => Written::Text("other".into()),
                Takes::List(_) | Takes::Headers(_) => Written::List(vec!["other".into()]),
                Takes::Tokens(_) => {
                    let token = serde_json::json!({"name": "a", "hash": "b", "scopes": ["read"]});
                    Written::Records(serde_json::json!([token]))
                }
                _ => Written::Number(123_457),
            };
            setting.takes.set(&mut changed, &other).unwrap();
            for one in SETTINGS {
                let (now, before) =
                    (one.takes.show(&mut changed), one.takes.show(&mut Configuration::default()));
                assert_eq!(
                    now != before,
                    one.name == setting.name,
                    "{} by {}",
                    one.name,
                    setting.name
                );
            }
        }
    }
}
