//! Why an event did or did not reach a wait.

use abide::{Explanation, Why};
use serde::Serialize;
use utoipa::ToSchema;

use super::WaitView;
use super::wait::ClauseView;

/// What a published event was to one wait.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExplanationView {
    subscription: WaitView,
    /// `fulfilled`, `held`, `otherType`, `tooEarly`, `filterFalse`, `filterFailed`,
    /// `takenByAnother`, `waitWasOver` or `notReached`.
    #[schema(example = "filterFalse")]
    why: &'static str,
    /// The same in a sentence.
    message: &'static str,
    /// Every clause of the filter, with the values it saw.
    clauses: Vec<ClauseView>,
    /// Whether the wait looks back to events that the log no longer has, or did not read all that it
    /// looks back to.
    lookback_cut_short: bool,
}

impl From<Explanation> for ExplanationView {
    fn from(explanation: Explanation) -> Self {
        let Explanation { wait, why, clauses, lookback_cut_short } = explanation;
        let (why, message) = in_words(why);
        let clauses = clauses.iter().map(ClauseView::new).collect();
        Self { subscription: WaitView::new(&wait), why, message, clauses, lookback_cut_short }
    }
}

fn in_words(why: Why) -> (&'static str, &'static str) {
    match why {
        Why::Fulfilled => ("fulfilled", "the event fulfilled the wait"),
        Why::Held => ("held", "the wait holds the event until there are enough"),
        Why::OtherType => ("otherType", "the pattern does not cover the type of the event"),
        Why::TooEarly => {
            ("tooEarly", "the event was accepted before what the wait looks back to (`since`)")
        }
        Why::FilterFalse => ("filterFalse", "the filter is false; the clauses say which part"),
        Why::FilterFailed => {
            ("filterFailed", "the filter has no value on this event, which is no match")
        }
        Why::TakenByAnother => ("takenByAnother", "another wait of the instance took the event"),
        Why::WaitWasOver => (
            "waitWasOver",
            "the wait was over before the event came, or met by something else first",
        ),
        Why::NotReached => ("notReached", "the wait would take the event, but did not get to it"),
    }
}
