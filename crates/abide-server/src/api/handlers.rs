//! The steps that documents name for when a wait gives up (`timeoutHandlerStepId`).

use std::collections::HashMap;
use std::sync::Arc;

use abide::{Error, Instance};
use abide_flow::{Flow, Flows, Kind, Step};
use parking_lot::Mutex;

/// Which step follows when which step gave up, by workflow and version; none of a workflow that is no
/// document. A version never changes, so what was read once holds.
#[derive(Default)]
pub(super) struct TimeoutHandlers(Mutex<HashMap<Version, Arc<Handlers>>>);

/// A document and its version.
type Version = (Arc<str>, u32);

/// By the step that waits.
pub(super) type Handlers = HashMap<Arc<str>, Arc<str>>;

impl TimeoutHandlers {
    /// The handlers of the document that an instance follows; none when it is no document.
    pub(super) async fn of(
        &self,
        flows: &Flows,
        instance: &Instance,
    ) -> Result<Arc<Handlers>, Error> {
        let key = (Arc::clone(&instance.workflow), instance.version);
        if let Some(known) = self.0.lock().get(&key) {
            return Ok(Arc::clone(known));
        }
        // One that can no longer be read was told of when it was loaded.
        let read = match flows.text(&key.0, Some(key.1)).await {
            Ok((_, text)) => abide_flow::parse(&text).map(|flow| read(&flow)).unwrap_or_default(),
            Err(Error::DefinitionNotFound { .. }) => Handlers::new(),
            Err(error) => return Err(error),
        };
        let read = Arc::new(read);
        self.0.lock().insert(key, Arc::clone(&read));
        Ok(read)
    }
}

/// The id that a step has in its document: `each[2].pay#3` is a turn of `pay`.
pub(super) fn written_id(step: &str) -> &str {
    let inner = step.rsplit_once("].").map_or(step, |(_, inner)| inner);
    inner.split_once('#').map_or(inner, |(id, _)| id)
}

fn read(flow: &Flow) -> Handlers {
    let mut handlers = Handlers::new();
    flow.steps.iter().chain(&flow.handlers).for_each(|step| collect(step, &mut handlers));
    handlers
}

fn collect(step: &Step, handlers: &mut Handlers) {
    match &step.kind {
        Kind::WaitForEvent(wait) => {
            if let Some(handler) = &wait.timeout_handler {
                handlers.insert(Arc::clone(&step.id), Arc::clone(handler));
            }
        }
        Kind::Parallel(branches) => {
            branches.iter().flatten().for_each(|step| collect(step, handlers));
        }
        Kind::Race(steps) => steps.iter().for_each(|step| collect(step, handlers)),
        Kind::ForEach(each) => each.steps.iter().for_each(|step| collect(step, handlers)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_and_branches_have_the_id_of_their_document() {
        for step in ["pay", "pay#2", "each[3].pay", "a[0].b[12].pay#7"] {
            assert_eq!(written_id(step), "pay", "{step}");
        }
    }

    #[test]
    fn handlers_are_found_wherever_a_step_waits() {
        let flow = abide_flow::parse(
            "
name: f
steps:
  - {id: a, waitForEvent: {timeout: 1s, timeoutHandlerStepId: h}}
  - id: both
    parallel:
      - [{id: b, waitForEvent: {timeout: 1s, timeoutHandlerStepId: c}}, {id: c, sleep: 1s}]
  - {id: d, waitForEvent: {timeout: 1s}}
handlers: [{id: h, sleep: 1s}]
",
        )
        .unwrap();
        let handlers = read(&flow);
        assert_eq!((&*handlers["a"], &*handlers["b"], handlers.len()), ("h", "c", 2));
    }
}
