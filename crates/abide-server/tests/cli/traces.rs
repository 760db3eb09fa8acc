//! `[telemetry]`: what `abide serve` tells a collector.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::program::{path, refusal};
use crate::receiver::receiver;
use crate::server::{Place, Server, write};

const CALLS: &str = "
name: calls
steps:
  - {id: before, http: {url: '${input.base}/before'}}
  - {id: ask, waitForEvent: {eventPattern: go}}
  - {id: after, http: {url: '${input.base}/after'}}
";

fn place(trace: &[u8], span: &[u8]) -> String {
    let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("00-{}-{}-01", hex(trace), hex(span))
}

/// A server that tells its spans to a collector, which it finds as other programs find theirs.
fn served(at: &Place, collector: &str) -> Server {
    let (store, flows) = (at.store(), at.at("flows"));
    let arguments = ["--store", &store, "--listen", "127.0.0.1:0", path(&flows)];
    Server::start_with(&arguments, &[("OTEL_EXPORTER_OTLP_ENDPOINT", collector)])
}

#[test]
fn a_trace_goes_from_the_caller_through_the_steps_to_what_they_call_and_is_told() {
    const FIRST: &str = "00-4bf92f3577b34da6a3ce929d0e0e4731-00f067aa0ba902b1-01";
    const SECOND: &str = "00-4bf92f3577b34da6a3ce929d0e0e4732-00f067aa0ba902b2-01";
    let at = Place::with(&[CALLS]);
    let (collector, told) = receiver(|call| vec![call]);
    let (base, calls) = receiver(|call| vec![call]);
    let input = format!("{{\"base\": {base:?}}}");
    let mut passed_on = BTreeMap::new();
    // The first server does not live to see the end.
    for (trace, command) in [
        (FIRST, ["start", "calls", "--id", "c", "--input", &input].as_slice()),
        (SECOND, ["send", "c", "go"].as_slice()),
    ] {
        let server = served(&at, &collector);
        assert!(server.abide_within(trace, command).status.success());
        let call = calls.recv().unwrap();
        passed_on.insert(call.path, call.headers["traceparent"].clone());
        let status = if trace == FIRST { "waiting" } else { "completed" };
        let is_there = || server.json(&["show", "c"])["status"] == status;
        assert!((0..500).any(|_| is_there()), "it is not {status}");
        assert!(server.terminate().success());
    }

    let mut spans: BTreeMap<String, Span> = BTreeMap::new();
    for call in told.try_iter() {
        assert_eq!(call.path, "/v1/traces");
        let request = ExportTraceServiceRequest::decode(&call.body[..]).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            let name = span.name.clone();
            assert!(spans.insert(name.clone(), span).is_none(), "{name} was told twice");
        }
    }
    let is_at = |name: &str| place(&spans[name].trace_id, &spans[name].span_id);
    let is_under = |name: &str| place(&spans[name].trace_id, &spans[name].parent_span_id);
    assert_eq!(spans.keys().collect::<Vec<_>>(), ["after", "ask", "before", "calls"]);
    assert_eq!((is_under("calls"), is_under("before")), (FIRST.to_owned(), is_at("calls")));
    assert_eq!((is_under("ask"), is_under("after")), (SECOND.to_owned(), is_at("ask")));
    assert_eq!(passed_on["/before"], is_at("before"));
    assert_eq!(passed_on["/after"], is_at("after"));
}

#[test]
fn a_collector_is_one_of_the_sinks_and_its_headers_are_secret() {
    let at = Place::with(&[]);
    let config = at.at("abide.toml");
    write(
        &config,
        "[telemetry]\nurl = \"http://127.0.0.1:1/v1/traces\"\nheaders = [\"x-api-key=hush\"]\n",
    );
    let arguments = ["--store", &at.store(), "--listen", "127.0.0.1:0", "--config", path(&config)];
    let server = Server::start(&arguments);
    let sinks = server.told(&["sinks"]);
    assert!(sinks.contains("otlp") && !sinks.contains("hush"), "{sinks}");
    let shown = server.told(&["config", "check", path(&config)]);
    assert!(shown.contains("headers = [\"x-api-key=***\"]") && !shown.contains("hush"), "{shown}");
    write(&config, "[telemetry]\nurl = \"localhost:4318\"\n");
    let said = refusal(&["config", "check", path(&config)]);
    assert!(said.contains("abide.toml:2:7: telemetry.url: "), "{said}");
}
