//! What is sent to one instance: events, signals, messages.

use abide::{InstanceId, Json, Outgoing};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::body::{Asked, Reply, present};
use super::error::ApiError;
use super::instances::Settle;
use super::params::{At, Params, Span};
use super::view::{DeliveredView, Moment};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(send_event))
        .routes(routes!(send_signal))
        .routes(routes!(send_message))
}

/// What is sent: its own fields, and those that every send has. A macro, because serde can't flatten
/// and refuse unknown fields at once.
macro_rules! sent {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct $name {
            $($(#[$about])* $field: $type,)*
            /// None at all is not the same as `null`.
            #[serde(default, deserialize_with = "present")]
            #[schema(value_type = Option<Value>)]
            payload: Option<Json>,
            /// Sent again with the same id, it is answered as the first time. Generated when absent.
            id: Option<String>,
            /// What to answer for an instance that has ended: `error` (default) or `ignore`.
            on_terminal: Option<OnTerminal>,
            /// Not to be seen before.
            visible_at: Option<Moment>,
            /// Not to be seen for so long, e.g. `10 minutes`.
            #[schema(value_type = Option<String>)]
            delay: Option<Span>,
        }

        impl $name {
            fn common(self) -> Common {
                let Self { payload, id, on_terminal, visible_at, delay, .. } = self;
                Common { payload, id, on_terminal, visible_at, delay }
            }
        }
    };
}

sent! {
    /// An event.
    EventBody {
        #[serde(rename = "type")]
        event_type: String,
    }
}

sent! {
    /// A signal.
    SignalBody {
        /// `false` stores it without resuming a wait that is open.
        wake: Option<bool>,
    }
}

sent! {
    /// A message.
    MessageBody {
        topic: String,
        /// The instance it is sent on behalf of.
        source_instance_id: Option<String>,
    }
}

/// What every send has.
struct Common {
    payload: Option<Json>,
    id: Option<String>,
    on_terminal: Option<OnTerminal>,
    visible_at: Option<Moment>,
    delay: Option<Span>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OnTerminal {
    Error,
    Ignore,
}

impl Common {
    fn put(self, mut outgoing: Outgoing) -> Result<Outgoing, ApiError> {
        if let Some(payload) = &self.payload {
            outgoing = outgoing.payload(payload);
        }
        if let Some(id) = &self.id {
            outgoing = outgoing.id(id);
        }
        if let Some(OnTerminal::Ignore) = self.on_terminal {
            outgoing = outgoing.ignore_terminal();
        }
        match (self.visible_at, self.delay) {
            (Some(_), Some(_)) => Err(ApiError::invalid("give `visibleAt` or `delay`, not both")),
            (Some(Moment(at)), None) => Ok(outgoing.visible_at(at)),
            (None, Some(Span(delay))) => Ok(outgoing.delay(delay)),
            (None, None) => Ok(outgoing),
        }
    }
}

type Answer = Result<(StatusCode, Reply<DeliveredView>), ApiError>;

async fn send(app: &App, id: &str, settle: &Settle, outgoing: Outgoing) -> Answer {
    let handle = app.handle(id)?;
    let delivered = handle.send(outgoing).await?;
    let status = settle.of(app, &handle).await?;
    Ok((StatusCode::ACCEPTED, Reply(DeliveredView::new(delivered, status))))
}

/// Send an event to an instance
///
/// Every open wait that hears it is fulfilled at once; otherwise it is kept for a later one, as the
/// workflow declared.
#[utoipa::path(post, path = "/instances/{id}/events", tag = "sends",
    params(("id" = String, Path, description = "the instance"), Settle),
    request_body = EventBody,
    responses((status = 202, description = "accepted", body = DeliveredView)))]
async fn send_event(
    State(app): State<App>,
    At(id): At<String>,
    Params(settle): Params<Settle>,
    Asked(body): Asked<EventBody>,
) -> Answer {
    let event = Outgoing::event(&body.event_type);
    send(&app, &id, &settle, body.common().put(event)?).await
}

/// Send a signal to an instance
///
/// Queued, and met by exactly one wait.
#[utoipa::path(post, path = "/instances/{id}/signals/{name}", tag = "sends",
    params(
        ("id" = String, Path, description = "the instance"),
        ("name" = String, Path, description = "the signal"),
        Settle),
    request_body = SignalBody,
    responses((status = 202, description = "accepted", body = DeliveredView)))]
async fn send_signal(
    State(app): State<App>,
    At((id, name)): At<(String, String)>,
    Params(settle): Params<Settle>,
    Asked(body): Asked<SignalBody>,
) -> Answer {
    let signal = Outgoing::signal(&name);
    let signal = if body.wake == Some(false) { signal.without_waking() } else { signal };
    send(&app, &id, &settle, body.common().put(signal)?).await
}

/// Send a message to an instance
///
/// Queued, and met by exactly one wait on its topic.
#[utoipa::path(post, path = "/instances/{id}/messages", tag = "sends",
    params(("id" = String, Path, description = "the instance"), Settle),
    request_body = MessageBody,
    responses((status = 202, description = "accepted", body = DeliveredView)))]
async fn send_message(
    State(app): State<App>,
    At(id): At<String>,
    Params(settle): Params<Settle>,
    Asked(body): Asked<MessageBody>,
) -> Answer {
    let mut message = Outgoing::message(&body.topic);
    if let Some(source) = &body.source_instance_id {
        message = message.from_instance(InstanceId::new(source)?);
    }
    send(&app, &id, &settle, body.common().put(message)?).await
}
