//! Events that start and cancel instances.

use abide::prelude::{Cx, Workflow};
use abide::{Batch, Error, Instance, Trigger};
use serde_json::json;

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got};
use crate::simulator::script::Ask;

fn publish(id: &str) -> Ask {
    Ask::Publish { event_type: "go", id: id.to_owned(), knows: None }
}

fn trigger(trigger: Trigger) -> Ask {
    Ask::PutTrigger("t", Box::new(trigger))
}

/// Answers with its input.
fn echoes(witness: &Witness) -> Workflow {
    let witness = witness.clone();
    Workflow::new("echoes", move |cx: Cx, input: serde_json::Value| {
        let witness = witness.clone();
        async move {
            witness.step(&cx, "work", 1).await?;
            Ok::<_, Error>(input)
        }
    })
}

fn results(ending: &Ending<'_>) -> Result<Vec<serde_json::Value>, String> {
    let all = ending.view.instances.iter().map(|Instance { id, .. }| ending.result(id.as_str()));
    all.collect()
}

/// Those that the trigger was there for.
fn wanted(ending: &Ending<'_>) -> Vec<String> {
    let wanted = ending.view.log.iter().filter(|logged| logged.wanted);
    wanted.map(|logged| logged.verdict.event_id.to_string()).collect()
}

/// Every event starts one instance, however often it is published.
pub(super) fn once(witness: &Witness, _: &mut Chooser) -> Plan {
    let mapped =
        Trigger { input_mapping: Some(json!("${event.id}")), ..Trigger::start("echoes", "go") };
    let script = Script::default()
        .client([trigger(mapped), publish("p1"), publish("p2")])
        .client([publish("p1")])
        .client([publish("p2"), publish("p3")]);
    Plan::new([echoes(witness)], script, |ending: &Ending<'_>| {
        let mut started: Vec<String> = Vec::new();
        for result in results(ending)? {
            started.extend(result.as_str().map(str::to_owned));
        }
        let (mut wanted, mut started) = (wanted(ending), started);
        wanted.sort();
        started.sort();
        ensure(started == wanted, || format!("{started:?} were started by {wanted:?}"))
    })
}

/// Every event is in exactly one batch, wherever the line between two of them falls.
pub(super) fn batch(witness: &Witness, _: &mut Chooser) -> Plan {
    let batch = Batch { max_size: 2, period: "20 seconds".to_owned(), key: None };
    let collects = Trigger {
        input_mapping: Some(json!("${event.id}")),
        batch: Some(batch),
        ..Trigger::start("echoes", "go")
    };
    let script = Script::default()
        .client([trigger(collects), publish("p1"), publish("p2")])
        .client([publish("p3")])
        .client([publish("p4"), publish("p1")]);
    Plan::new([echoes(witness)], script, |ending: &Ending<'_>| {
        let batches = results(ending)?;
        let items = batches.iter().filter_map(serde_json::Value::as_array).flatten();
        let mut items: Vec<String> =
            items.filter_map(|it| it.as_str().map(str::to_owned)).collect();
        let mut wanted = wanted(ending);
        wanted.sort();
        items.sort();
        ensure(items == wanted, || format!("{batches:?} were started by {wanted:?}"))
    })
}

/// What an event cancels has ended with it, whatever it waited for; what it did not cancel goes on.
pub(super) fn cancel(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = {
        let witness = witness.clone();
        Workflow::new("waits", move |cx: Cx, _: serde_json::Value| {
            let witness = witness.clone();
            async move {
                witness.step(&cx, "before", 1).await?;
                got(cx.wait_for_event("go").timeout("1 minute").await)
            }
        })
    };
    let of_k =
        |trigger: Trigger| Box::new(Trigger { correlation_key: Some("'k'".to_owned()), ..trigger });
    let say = |event_type, id: &str| Ask::Publish { event_type, id: id.to_owned(), knows: None };
    let script = Script::default()
        .client([
            Ask::PutTrigger("c", of_k(Trigger::cancel("waits", "stop"))),
            Ask::PutTrigger("s", of_k(Trigger::start("waits", "begin"))),
            say("begin", "p1"),
        ])
        .client([say("go", "p2")])
        .client([say("stop", "p3")]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let cancelled = ending.view.log.iter().any(|logged| logged.verdict.cancelled_count > 0);
        for instance in &ending.view.instances {
            let id = instance.id.as_str();
            ensure(ending.is_terminated(id) == cancelled, || {
                format!("{id} is {}", instance.status())
            })?;
            if !cancelled {
                let result: String = ending.result(id)?;
                let well = ["timeout", "p2"].contains(&&*result);
                ensure(well, || format!("it got {result}"))?;
            }
        }
        Ok(())
    })
}
