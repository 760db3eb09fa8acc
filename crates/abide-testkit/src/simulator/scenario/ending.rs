//! Ends and new beginnings against what is sent.

use std::time::Duration;

use abide::prelude::*;

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;

/// It ends by the event or from outside, never both.
pub(super) fn terminate(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        let met = got(cx.wait_for_event("go").await)?;
        witness.step(&cx, "after", met).await
    });
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::event("a", "go", "e1")])
        .client([Ask::Terminate("a".to_owned())]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        if ending.is_terminated("a") {
            return Ok(());
        }
        let result: String = ending.result("a")?;
        ensure(result == "e1", || format!("it got {result}"))
    })
}

/// A whole restart forgets what came before it; what comes after it counts.
pub(super) fn restart(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let met = got(cx.wait_for_event("go").timeout(Duration::from_secs(60)).await)?;
        witness.step(&cx, "after", met).await
    });
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client(["e1", "e2"].map(|id| Ask::event("a", "go", id)))
        .client([Ask::Restart("a".to_owned(), None)]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let result: String = ending.result("a")?;
        ensure(["e1", "e2", "timeout"].contains(&&*result), || format!("it got {result}"))
    })
}

/// A restart from a later step keeps what the wait got.
pub(super) fn restart_from(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        let met = got(cx.wait_for_event("go").await)?;
        witness.step(&cx, "after", met).await
    });
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::event("a", "go", "e1"), Ask::event("a", "go", "e2")])
        .client([Ask::Restart("a".to_owned(), Some("after"))]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let result: String = ending.result("a")?;
        let first_met = ending.delivered("e1") == Some(1);
        ensure(result == "e1" || (result == "e2" && !first_met), || format!("it got {result}"))
    })
}

/// What is sent falls between no two runs.
pub(super) fn continued(witness: &Witness, _: &mut Chooser) -> Plan {
    let witness = witness.clone();
    let goes_on = Workflow::new("goes on", move |cx: Cx, before: Option<Vec<String>>| {
        let witness = witness.clone();
        async move {
            let mut all = before.unwrap_or_default();
            all.push(got(cx.wait_for_event("go").await)?);
            witness.step(&cx, "after", 1).await?;
            if all.len() == 3 { Ok::<_, Error>(all) } else { cx.continue_as_new(&all).await }
        }
    });
    let goes_on = goes_on.event::<serde_json::Value>("go", Buffer::Queue);
    let script = Script::default()
        .client([Ask::start("goes on", "a")])
        .client(["e1", "e2", "e3"].map(|id| Ask::event("a", "go", id)));
    Plan::new([goes_on], script, |ending: &Ending<'_>| {
        let all: Vec<String> = ending.result("a")?;
        ensure(all == ["e1", "e2", "e3"], || format!("it got {all:?}"))
    })
}
