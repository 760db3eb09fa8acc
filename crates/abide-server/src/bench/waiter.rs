//! A workflow that waits for one event and completes, and how it gets that event.

use abide::{Config, Cx, Handle, InstanceId, Start};

use crate::error::Error;

/// Its name.
pub(crate) const WAITER: &str = "waiter";

/// What it waits for.
const EVENT: &str = "go";

pub(crate) async fn waiter(cx: Cx, (): ()) -> abide::Result<u32> {
    Ok(cx.wait_for_event::<u32>(EVENT).await?.payload)
}

/// One of many, to be found by its number.
pub(crate) fn start(number: usize) -> Start {
    Start::new(&()).id(id(number))
}

/// The one of that number.
pub(crate) fn named(number: usize) -> Result<InstanceId, Error> {
    Ok(InstanceId::new(id(number))?)
}

fn id(number: usize) -> String {
    format!("waiter-{number}")
}

/// Sends the event, to an instance that has reached its wait: an event that is kept for later
/// would be another measurement.
pub(crate) async fn send(to: &Handle) -> Result<(), Error> {
    let answer = to.send_event(EVENT, &1).await?;
    if answer.delivered != 1 {
        return Err(Error::Unexpected(format!("nobody waited for the event: {answer:?}")));
    }
    Ok(())
}

/// Instances leave memory as soon as they park.
pub(crate) fn leaving_at_once(config: &mut Config) {
    config.residency_budget = 0;
}
