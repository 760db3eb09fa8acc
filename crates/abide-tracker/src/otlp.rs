//! The sink that tells spans to a collector: OTLP over HTTP, in Protocol Buffers.

mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide::history::StepKind;
use abide::trace::Trace;
use abide::{Error, Result, Timestamp};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::config::{TrackerConfig, Types};
use crate::event::{TrackedEvent, What};
use crate::poster::Poster;
use crate::sink::{Batch, Sink, SinkError};
use crate::span::Span;
use wire::Message;

/// Spans of one request.
const MAX_SPANS: usize = 512;

/// Where traces go.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpConfig {
    /// Where spans are posted, such as `http://localhost:4318/v1/traces`.
    pub url: String,
    /// What the program is called there (`service.name`).
    pub service: String,
    /// Sent with every request: what the collector wants to know who asks.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Duration,
}

impl OtlpConfig {
    /// A collector, with defaults for everything else.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            service: "abide".to_owned(),
            headers: Vec::new(),
            timeout: Duration::from_secs(10),
        }
    }

    /// How spans are gathered: as events of a tracker are, but more at once.
    pub(crate) fn tracker(&self) -> TrackerConfig {
        TrackerConfig {
            name: "otlp".to_owned(),
            types: Types::Spans,
            max_size: MAX_SPANS,
            timeout: self.timeout,
            ..TrackerConfig::new(&self.url, "none")
        }
    }
}

/// Headers are not shown, they may be secret.
impl fmt::Debug for OtlpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpConfig").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Posts batches of spans. Every answer but a 2xx is an error.
pub struct OtlpSink {
    poster: Poster,
    resource: Message,
}

impl OtlpSink {
    /// The sink of a configuration. It connects when it has something to send.
    ///
    /// # Errors
    /// When the configuration can't work.
    pub fn new(config: &OtlpConfig) -> Result<Self> {
        let url = config.tracker().check()?;
        let poster = Poster::new(url, headers(config)?)?;
        let version = env!("CARGO_PKG_VERSION");
        let resource = Message::default().messages(
            1,
            [("service.name", &*config.service), ("service.version", version)].map(attribute),
        );
        Ok(Self { poster, resource })
    }

    /// An `ExportTraceServiceRequest`.
    fn request(&self, events: &[TrackedEvent]) -> Vec<u8> {
        let spans = events.iter().filter_map(|event| match &event.what {
            What::Span(span) => Some(written(event, span)),
            _ => None,
        });
        let scope = Message::default().text(1, "abide").text(2, env!("CARGO_PKG_VERSION"));
        let scoped = Message::default().message(1, &scope).messages(2, spans);
        let told = Message::default().message(1, &self.resource).message(2, &scoped);
        Message::default().message(1, &told).into_bytes()
    }
}

fn headers(config: &OtlpConfig) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in &config.headers {
        // What it is set to may be secret.
        let wrong = || Error::Invalid {
            what: "headers of the collector".into(),
            message: format!("{name:?} is no name of a header, or has no value of one"),
        };
        let name = HeaderName::try_from(name).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

impl Sink for OtlpSink {
    fn send(&self, batch: Arc<Batch>) -> BoxFuture<'_, Result<(), SinkError>> {
        let request = self.request(&batch.events);
        self.poster.post("application/x-protobuf", [], request).boxed()
    }

    fn address(&self) -> String {
        self.poster.address()
    }
}

/// A `Span`.
fn written(event: &TrackedEvent, span: &Span) -> Message {
    let Span { trace, parent, name, run, attempt, outcome, .. } = span;
    let mut message = place(Message::default(), *trace);
    if let Some(parent) = parent {
        message = message.bytes(4, &parent.bytes());
    }
    let failed = (*outcome == "failed").then_some(span.failure.as_ref()).flatten();
    let words = [
        Some(("abide.workflow.name", &*event.workflow_name)),
        Some(("abide.instance.id", event.workflow_id.as_str())),
        span.kind.map(|kind| ("abide.step.kind", kind.as_str())),
        Some(("abide.outcome", *outcome)),
        failed.map(|failure| ("error.type", &*failure.code)),
    ];
    let numbers = [Some(("abide.run", *run)), span.kind.map(|_| ("abide.step.attempt", *attempt))];
    message = message
        .text(5, name)
        .number(6, role(span.kind))
        .fixed64(7, nanoseconds(span.began_at))
        .fixed64(8, nanoseconds(span.ended_at))
        .messages(9, words.into_iter().flatten().map(attribute))
        .messages(9, numbers.into_iter().flatten().map(count))
        .messages(13, span.of_run.map(|run| place(Message::default(), run)));
    if *outcome == "failed" {
        let why = failed.map(|failure| format!("{}: {}", failure.code, failure.message));
        let status = Message::default().text(2, &why.unwrap_or_default()).number(3, ERROR);
        message = message.message(15, &status);
    }
    message.fixed32(16, u32::from(trace.is_sampled()))
}

/// `STATUS_CODE_ERROR`.
const ERROR: u64 = 2;

/// The `SpanKind`.
fn role(kind: Option<StepKind>) -> u64 {
    const INTERNAL: u64 = 1;
    const PRODUCER: u64 = 4;
    const CONSUMER: u64 = 5;
    match kind {
        Some(StepKind::Send | StepKind::Publish) => PRODUCER,
        Some(kind) if kind.is_wait() => CONSUMER,
        _ => INTERNAL,
    }
}

/// The ids with which a span, or a link to one, begins.
fn place(message: Message, trace: Trace) -> Message {
    message.bytes(1, &trace.id()).bytes(2, &trace.span().bytes())
}

fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.0).unwrap_or(0).saturating_mul(1_000_000)
}

fn attribute((key, value): (&str, &str)) -> Message {
    Message::default().text(1, key).message(2, &Message::default().text(1, value))
}

fn count((key, value): (&str, u32)) -> Message {
    Message::default().text(1, key).message(2, &Message::default().number(3, value.into()))
}
