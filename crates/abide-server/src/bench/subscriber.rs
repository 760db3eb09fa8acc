//! A workflow that waits for the event about its own order, and such events.

use abide::expr::{Env, Expr, Folded, Value};
use abide::{Cx, Publication, Start};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Waits for its own order, whose id is its input: it is found by that.
pub(crate) const SUBSCRIBER: &str = "subscriber";

/// Has no equality in its filter: it is asked about every event.
pub(crate) const SCANNER: &str = "scanner";

pub(crate) const PATTERN: &str = "payment.*";

const KEYED: &str = "event.payload.orderId === input && event.payload.amount >= 100";

/// Never true, and no two have the same: equal ones would be evaluated once.
const SCANNED: &str = "event.payload.amount > event.payload.limit + input";

pub(crate) async fn subscriber(cx: Cx, _order: String) -> abide::Result<()> {
    wait(&cx, KEYED).await
}

pub(crate) async fn scanner(cx: Cx, _number: u64) -> abide::Result<()> {
    wait(&cx, SCANNED).await
}

async fn wait(cx: &Cx, filter: &str) -> abide::Result<()> {
    cx.wait_for_event::<IgnoredAny>("payment").on(PATTERN).filter(filter).await.map(drop)
}

/// Starts the subscriber of an order, to be found by its number.
pub(crate) fn start(number: usize) -> Start {
    Start::new(&order(number)).id(id(number))
}

/// The id of the instance that [`start`] starts.
pub(crate) fn id(number: usize) -> String {
    format!("subscriber-{number}")
}

pub(crate) fn order(number: usize) -> String {
    format!("o-{number}")
}

/// The filter of a subscriber, as its instance has it when it waits.
pub(crate) fn keyed(number: usize) -> Result<Folded, Error> {
    folded(KEYED, Value::text(order(number)))
}

/// The filter of a scanner, likewise.
pub(crate) fn scanned(number: usize) -> Result<Folded, Error> {
    folded(SCANNED, Value::from(&serde_json::Value::from(number)))
}

fn folded(filter: &str, input: Value<'_>) -> Result<Folded, Error> {
    let refused = |error: &dyn std::error::Error| Error::Unexpected(format!("{filter}: {error}"));
    let expression = Expr::parse(filter).map_err(|error| refused(&error))?;
    expression.fold(&Env::new().with("input", input)).map_err(|error| refused(&error))
}

/// An event about one order, as somebody sends it.
pub(crate) fn event(order: &str) -> Vec<u8> {
    format!(
        r#"{{"source":"shop","type":"payment.received","time":"2024-02-29T12:30:45.123Z",
            "payload":{{"orderId":"{order}","amount":120,"limit":120,"currency":"EUR",
            "method":{{"type":"card","last4":"4242"}},"customer":"c-{order}"}}}}"#
    )
    .into_bytes()
}

pub(crate) fn read(event: &[u8]) -> Result<Publication, Error> {
    Ok(Publication::from_json(event).map_err(abide::Error::from)?)
}

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mix {
    /// Subscribers only.
    Keyed,
    /// One in a hundred is a scanner.
    Scanned,
}

impl Mix {
    /// How many of them are scanners.
    pub(crate) fn scanners(self, count: usize) -> usize {
        match self {
            Self::Keyed => 0,
            Self::Scanned => count.div_ceil(100),
        }
    }

    /// For people.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Keyed => "",
            Self::Scanned => ", 1 % scanned",
        }
    }
}
