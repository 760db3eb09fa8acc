//! Counting what is stored.

use abide::{Engine, Filter, Page, Status};

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

/// Refuses unless so many have completed.
pub(crate) async fn check_completed(engine: &Engine, expected: usize) -> Result<(), Error> {
    let completed = Filter { status: vec![Status::Completed], ..Filter::default() };
    let found = count(engine, completed).await?;
    if found != expected {
        return Err(Error::Unexpected(format!("{found} instances completed, not {expected}")));
    }
    Ok(())
}
