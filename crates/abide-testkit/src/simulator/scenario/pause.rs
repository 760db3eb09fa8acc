//! A pause with an event, and with a deadline, in it.

use std::time::Duration;

use super::deadline::decided;
use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;

fn pause_and_resume(script: Script) -> Script {
    script.client([Ask::Pause("a".to_owned()), Ask::Resume("a".to_owned())])
}

/// It moves on when it is resumed, with what came meanwhile.
pub(super) fn event(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let met = got(cx.wait_for_event("go").await)?;
        witness.step(&cx, "after", met).await
    });
    let script =
        Script::default().client([Ask::start("waits", "a")]).client([Ask::event("a", "go", "e1")]);
    Plan::new([waits], pause_and_resume(script), |ending: &Ending<'_>| {
        let result: String = ending.result("a")?;
        ensure(result == "e1", || format!("it got {result}"))
    })
}

/// Clocks go on under a pause: a deadline that passes is decided at its time.
pub(super) fn deadline(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        let met = got(cx.wait_for_event("go").timeout(Duration::from_secs(30)).await)?;
        witness.step(&cx, "after", met).await
    });
    let script =
        Script::default().client([Ask::start("waits", "a")]).client([Ask::event("a", "go", "e1")]);
    Plan::new([waits], pause_and_resume(script), decided)
}
