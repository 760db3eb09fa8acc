//! Counting what is stored.

use abide::{Engine, Filter, Page};

use crate::error::Error;

/// How many instances a filter finds.
pub(crate) async fn count(engine: &Engine, filter: Filter) -> Result<usize, Error> {
    let mut page = Page { limit: 1000, before: None };
    let mut found = 0;
    loop {
        let listed = engine.list(filter.clone(), page).await?;
        found += listed.instances.len();
        page.before = match listed.next {
            None => return Ok(found),
            next => next,
        };
    }
}
