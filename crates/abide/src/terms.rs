//! What a wait wants, before it is reached.

use std::sync::Arc;
use std::time::Duration;

use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::event::Kind;
use crate::expr::{Expr, Roots, Shape};
use crate::id::InstanceId;
use crate::log::Since;
use crate::pattern;
use crate::time::Timestamp;
use crate::wait::Hears;

/// The most that a wait may count to.
const MOST_COUNTED: u32 = 1000;

/// What a wait wants.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) hears: Hears,
    pub(crate) filter: Option<Expr>,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) since: Since,
    pub(crate) race: Option<Arc<str>>,
    pub(crate) count: Option<u32>,
    pub(crate) distinct_by: Option<Expr>,
}

/// When a wait gives up.
#[derive(Clone, Copy)]
pub(crate) enum Timeout {
    After(Duration),
    At(Timestamp),
}

impl Timeout {
    /// The moment, when the wait is reached now.
    pub(crate) fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::After(duration) => now.after(duration),
            Self::At(at) => at,
        }
    }
}

impl Terms {
    /// Something sent to the instance.
    pub(crate) fn sent(kind: Kind, pattern: &str) -> Result<Self> {
        pattern::check(pattern)?;
        Ok(Self::of(Hears::Sent { kind, pattern: pattern.into() }))
    }

    /// An output of another instance.
    pub(crate) fn output(of: &InstanceId, key: &str) -> Self {
        Self::of(Hears::Output { of: of.clone(), key: key.into() })
    }

    fn of(hears: Hears) -> Self {
        Self {
            hears,
            filter: None,
            timeout: None,
            since: Since::Start,
            race: None,
            count: None,
            distinct_by: None,
        }
    }

    pub(crate) fn hears(self, kind: Kind, pattern: &str) -> Result<Self> {
        let Self { hears, .. } = Self::sent(kind, pattern)?;
        Ok(Self { hears, ..self })
    }

    pub(crate) fn filter(self, filter: &str) -> Result<Self> {
        Ok(Self { filter: Some(expression("filter", filter)?), ..self })
    }

    pub(crate) fn distinct_by(self, key: &str) -> Result<Self> {
        Ok(Self { distinct_by: Some(expression("distinct key", key)?), ..self })
    }

    pub(crate) fn timeout(self, timeout: impl IntoDuration) -> Result<Self> {
        let timeout = timeout.into_duration().map_err(|refused| Error::Invalid {
            what: "wait timeout".into(),
            message: refused.to_string(),
        })?;
        Ok(Self { timeout: Some(Timeout::After(timeout)), ..self })
    }

    pub(crate) fn count(self, needed: u32) -> Result<Self> {
        if needed == 0 || needed > MOST_COUNTED {
            let message = format!("{needed} must be 1 to {MOST_COUNTED}");
            return Err(Error::Invalid { what: "count".into(), message });
        }
        Ok(Self { count: Some(needed), ..self })
    }
}

/// Reads an expression about an event and the instance that waits for it.
pub(crate) fn expression(what: &'static str, text: &str) -> Result<Expr> {
    let event = ["id", "type", "payload", "source", "time", "subject", "correlationId", "seq"];
    let roots = Roots::new()
        .with("event", Shape::fields(event))
        .with("workflow", Shape::fields(["id", "context"]))
        .with("input", Shape::Any);
    let invalid = |refused: crate::expr::SyntaxError| Error::Invalid {
        what: what.into(),
        message: refused.to_string(),
    };
    let expr = Expr::parse(text).map_err(invalid)?;
    expr.check(&roots).map_err(invalid)?;
    Ok(expr)
}
