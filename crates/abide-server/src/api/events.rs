//! Publishing, and the log of what was published.

use abide::publication::{Malformed, Publication};
use abide::{InstanceId, LogFilter, cloud_event};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Raw, Reply, is_json, media_type, unsupported};
use super::error::ApiError;
use super::params::{self, At, Params};
use super::sound::unsound;
use super::view::{EventView, ExplanationView, Moment, TakerView, VerdictView};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(publish))
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(explain))
}

/// An event to be published, in Abide's own JSON. `null` is the same as absent, except for the
/// payload, where it is a value.
#[derive(ToSchema)]
#[schema(as = PublishBody)]
#[allow(dead_code, reason = "describes what `Publication::from_json` reads")]
struct PublishBody {
    /// Segments split at `.`.
    #[schema(example = "payment.received")]
    r#type: String,
    #[schema(value_type = Option<Value>)]
    payload: Option<serde_json::Value>,
    /// Unique within its source, so that a retry is harmless; generated when absent.
    id: Option<String>,
    source: Option<String>,
    /// When it happened; now when absent.
    time: Option<Moment>,
    subject: Option<String>,
    /// What ties it to instances: cancelling triggers go by it.
    #[schema(rename = "correlationId")]
    correlation_id: Option<String>,
}

/// Whether to do it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
struct Publishing {
    /// Only tell what would come of it.
    #[serde(default)]
    dry_run: bool,
}

/// Several verdicts, in the order of the events.
#[derive(Debug, Serialize, ToSchema)]
struct VerdictList {
    verdicts: Vec<VerdictView>,
}

/// What came of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum PublishedView {
    One(Box<VerdictView>),
    /// Of a batch.
    Several(VerdictList),
}

/// Publish an event to whoever wants it
///
/// Takes Abide's own JSON, or CloudEvents 1.0: structured (`application/cloudevents+json`), binary
/// (`ce-…` headers) or a batch (`application/cloudevents-batch+json`, answered with `verdicts`). The
/// same source and id again is answered as the first time and changes nothing.
#[utoipa::path(post, path = "/events", tag = "events", params(Publishing),
    request_body(content((PublishBody = "application/json"),
        (serde_json::Value = "application/cloudevents+json"),
        (Vec<serde_json::Value> = "application/cloudevents-batch+json"))),
    responses((status = 202, description = "what came of it", body = PublishedView)))]
async fn publish(
    State(app): State<App>,
    Params(Publishing { dry_run }): Params<Publishing>,
    raw: Raw,
) -> Result<(StatusCode, Reply<PublishedView>), ApiError> {
    let is_batch = media_type(&raw.headers) == cloud_event::BATCH;
    let events = read(&raw)?;
    let mut verdicts = Vec::with_capacity(events.len());
    for (place, event) in events.into_iter().enumerate() {
        let answered = if dry_run {
            app.engine().publish_dry(event).await
        } else {
            app.engine().publish(event).await
        };
        let verdict = answered.map_err(|error| {
            let refused = ApiError::from(error);
            if is_batch { refused.in_batch(place) } else { refused }
        })?;
        verdicts.push(VerdictView::from(verdict));
    }
    let answer = match (is_batch, verdicts.pop()) {
        (false, Some(verdict)) => PublishedView::One(Box::new(verdict)),
        (_, last) => {
            verdicts.extend(last);
            PublishedView::Several(VerdictList { verdicts })
        }
    };
    Ok((StatusCode::ACCEPTED, Reply(answer)))
}

/// The events of a request.
fn read(raw: &Raw) -> Result<Vec<Publication>, ApiError> {
    const WANTED: &str =
        "application/json, application/cloudevents+json or application/cloudevents-batch+json";
    let Raw { headers, bytes } = raw;
    let is_binary = headers.contains_key("ce-specversion");
    let media = media_type(headers);
    let is_foreign = media.starts_with("application/cloudevents")
        && media != cloud_event::STRUCTURED
        && media != cloud_event::BATCH;
    if is_foreign || (!is_binary && !bytes.is_empty() && !is_json(headers)) {
        return Err(unsupported(WANTED));
    }
    if is_json(headers)
        && let Some(why) = unsound(bytes)
    {
        return Err(not_an_event(&format!("the body is not acceptable JSON: {why}"), None));
    }
    cloud_event::read(texts(headers)?, bytes).map_err(|refused| malformed(&refused))
}

/// Headers as texts; only those of CloudEvents have to be.
fn texts(headers: &HeaderMap) -> Result<Vec<(&str, &str)>, ApiError> {
    let mut texts = Vec::with_capacity(headers.len());
    for (name, value) in headers {
        match std::str::from_utf8(value.as_bytes()) {
            Ok(value) => texts.push((name.as_str(), value)),
            Err(_) if name.as_str().starts_with("ce-") => {
                return Err(not_an_event(&format!("the header {name} is not UTF-8"), None));
            }
            Err(_) => {}
        }
    }
    Ok(texts)
}

fn malformed(refused: &Malformed) -> ApiError {
    not_an_event(&refused.to_string(), refused.attribute())
}

fn not_an_event(message: &str, attribute: Option<&str>) -> ApiError {
    let refused = ApiError::new(StatusCode::BAD_REQUEST, "EVENT_INVALID", message);
    match attribute {
        Some(attribute) => refused.with_details(json!({ "attribute": attribute })),
        None => refused,
    }
}

/// Which events of the log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
struct EventQuery {
    /// A type, or a pattern with `*` (one segment) and `**` (one or more).
    #[serde(rename = "type")]
    #[param(rename = "type")]
    event_type: Option<String>,
    source: Option<String>,
    /// Only those that nobody wanted so far.
    #[serde(default)]
    unmatched: bool,
    /// Accepted at this moment or later.
    from: Option<Moment>,
    /// Accepted before this moment.
    to: Option<Moment>,
    /// Behind this `seq`: the `nextCursor` of an answer.
    after: Option<i64>,
    /// `asc` (default): the oldest first; `desc`: the newest first.
    #[param(inline)]
    order: Option<Order>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    Desc,
}

/// A part of the log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EventList {
    events: Vec<EventView>,
    /// Pass it as `after` to get what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// List what was published
#[utoipa::path(get, path = "/events", tag = "events", params(EventQuery),
    responses((status = 200, description = "a page", body = EventList)))]
async fn list(
    State(app): State<App>,
    Params(query): Params<EventQuery>,
) -> Result<Reply<EventList>, ApiError> {
    let limit = params::limit(query.limit, 100)?;
    let filter = LogFilter {
        event_type: query.event_type,
        source: query.source,
        unwanted: query.unmatched,
        from: query.from.map(|moment| moment.0),
        to: query.to.map(|moment| moment.0),
        after: query.after,
        newest_first: query.order == Some(Order::Desc),
        limit,
        ..LogFilter::default()
    };
    let found = app.engine().events(filter).await?;
    let is_full = found.len() == limit;
    let last = found.last().filter(|_| is_full).map(|logged| logged.published.seq.to_string());
    let events = found.iter().map(EventView::new).collect();
    Ok(Reply(EventList { events, next_cursor: last }))
}

/// One published event, what came of it, and who took it
///
/// Where several sources used the id, the newest.
#[utoipa::path(get, path = "/events/{id}", tag = "events",
    params(("id" = String, Path, description = "the event")),
    responses((status = 200, description = "the event", body = EventView)))]
async fn show(State(app): State<App>, At(id): At<String>) -> Result<Reply<EventView>, ApiError> {
    let (logged, takers) = app.engine().event(&id).await?;
    Ok(Reply(EventView::in_full(&logged, takers)))
}

/// To whom.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Whom {
    /// The instance whose waits are asked.
    instance: Option<String>,
}

/// What an event was to its waits, or, without an instance, what came of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Explained {
    event_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_id: Option<String>,
    /// Whether anybody (or the instance) took it.
    matched: bool,
    verdict: VerdictView,
    /// Instances that took it so far, or were started by it.
    takers: Vec<TakerView>,
    /// One for each wait of the instance for events.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanations: Option<Vec<ExplanationView>>,
}

/// Why an event did or did not reach an instance
#[utoipa::path(get, path = "/events/{id}/explain", tag = "events",
    params(("id" = String, Path, description = "the event"), Whom),
    responses((status = 200, description = "why", body = Explained)))]
async fn explain(
    State(app): State<App>,
    At(id): At<String>,
    Params(Whom { instance }): Params<Whom>,
) -> Result<Reply<Explained>, ApiError> {
    let (logged, takers) = app.engine().event(&id).await?;
    let (mut matched, mut explanations) = (logged.wanted, None);
    if let Some(instance) = &instance {
        let instance = InstanceId::new(instance)?;
        let explained = app.engine().explain(&id, &instance).await?;
        matched = takers.iter().any(|taker| taker.instance_id == instance);
        explanations = Some(explained.into_iter().map(Into::into).collect());
    }
    Ok(Reply(Explained {
        event_id: id,
        instance_id: instance,
        matched,
        verdict: logged.verdict.into(),
        takers: takers.into_iter().map(Into::into).collect(),
        explanations,
    }))
}
