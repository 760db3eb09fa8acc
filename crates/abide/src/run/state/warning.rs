//! What a wait may do that its author would not expect.

use std::time::Duration;

use crate::declaration::Declarations;
use crate::event::{Buffer, Kind};
use crate::log::Since;
use crate::terms::Terms;
use crate::wait::{Folding, Hears};

/// Looking back so long without a filter is looking back far.
const FAR: Duration = Duration::from_secs(60 * 60);

/// Everything that is worth a warning when a wait is reached. `again` says that its step is used in a
/// loop.
pub(super) fn warnings(
    terms: &Terms,
    filter: Option<&Folding>,
    declared: &Declarations,
    again: bool,
) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(filter) = filter {
        all.extend(filter.folded.warnings().iter().map(ToString::to_string));
    }
    let Hears::Sent { kind: Kind::Event, pattern } = &terms.hears else { return all };
    let is_far = match terms.since {
        Since::Start | Since::Now => false,
        Since::At(_) => true,
        Since::Before(duration) => duration > FAR,
    };
    if filter.is_none() && is_far {
        all.push(format!(
            "it takes the oldest {pattern:?} that it looks back to: it has no filter"
        ));
    }
    let wants_several = terms.count.is_some_and(|needed| needed > 1) || again;
    if wants_several && declared.buffer_of(pattern) == Some(Buffer::Latest) {
        all.push(format!(
            "of several {pattern:?} sent early only the last is kept: declare it as a queue"
        ));
    }
    all
}
