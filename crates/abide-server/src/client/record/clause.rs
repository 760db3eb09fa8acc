//! Parts of filters, and what they came to.

use serde::Deserialize;

use crate::client::screen::Screen;
use crate::tell::{Iso, clean};

/// A part of a filter.
#[derive(Debug, Deserialize)]
pub(in crate::client) struct Clause {
    text: String,
    values: String,
    holds: Option<bool>,
    message: String,
}

impl Clause {
    /// `✗ event.payload.amount >= 100: 90 >= 100`.
    pub(in crate::client) fn line(&self, screen: &Screen) -> String {
        let Self { text, values, holds, message } = self;
        let (text, values) = (clean(text), clean(values));
        let shown = if values == text { text } else { format!("{text}: {values}") };
        match holds {
            Some(true) => screen.paint.green(&format!("✓ {shown}")),
            Some(false) => screen.paint.red(&format!("✗ {shown}")),
            None => screen.paint.red(&format!("! {}", clean(message))),
        }
    }
}

/// An event that a wait nearly took.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct NearMiss {
    event_id: String,
    accepted_at: Iso,
    clauses: Vec<Clause>,
}

impl NearMiss {
    /// The event, then clause by clause.
    pub(in crate::client) fn lines(&self, screen: &Screen) -> Vec<String> {
        let (event, when) = (clean(&self.event_id), screen.when(self.accepted_at));
        let mut lines = vec![format!("nearly took {event} {}", screen.paint.dim(&when))];
        lines.extend(self.clauses.iter().map(|clause| format!("  {}", clause.line(screen))));
        lines
    }
}
