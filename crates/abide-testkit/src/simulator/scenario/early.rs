//! What comes before, while or after its wait is reached.

use std::time::Duration;

use abide::Buffer;
use futures_util::future::join;

use super::deadline::decided;
use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;

fn gets_e1(ending: &Ending<'_>) -> Result<(), String> {
    let result: String = ending.result("a")?;
    ensure(result == "e1", || format!("it got {result}"))
}

/// Early or late, the wait is met.
pub(super) fn event(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let met = got(cx.wait_for_event("go").await)?;
        witness.step(&cx, "after", met).await
    });
    let script =
        Script::default().client([Ask::start("waits", "a")]).client([Ask::event("a", "go", "e1")]);
    Plan::new([waits], script, gets_e1)
}

/// What is heard in the commit that creates it has nobody else run it.
pub(super) fn at_once(witness: &Witness, _: &mut Chooser) -> Plan {
    let looks = workflow("looks", witness, async |cx, witness| {
        let look = cx.try_signal::<String>("go");
        let (found, worked) = join(look, witness.step(&cx, "work", "worked".to_owned())).await;
        Ok((found?.map(|signal| signal.payload), worked?))
    });
    let script =
        Script::default().client([Ask::start("looks", "a")]).client([Ask::signal("a", "go", "s1")]);
    Plan::new([looks], script, |ending: &Ending<'_>| {
        let (found, worked): (Option<String>, String) = ending.result("a")?;
        // Nothing can be there before it is.
        ensure((&found, &*worked) == (&None, "worked"), || format!("it got {found:?}, {worked}"))
    })
}

/// The instance may be on its way out of memory, or back into it.
pub(super) fn eviction(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        cx.sleep("nap", Duration::from_secs(7)).await?;
        let met = got(cx.wait_for_event("go").await)?;
        cx.sleep("nap", Duration::from_secs(4)).await?;
        witness.step(&cx, "after", met).await
    });
    let script =
        Script::default().client([Ask::start("waits", "a")]).client([Ask::event("a", "go", "e1")]);
    Plan::new([waits], script, gets_e1)
}

/// Of two events only the latest is kept; one that met a wait is not replaced.
pub(super) fn two_latest(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        got(cx.wait_for_event("go").await)
    });
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client(["e1", "e2"].map(|id| Ask::event("a", "go", id)));
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let result: String = ending.result("a")?;
        let first_met = ending.delivered("e1") == Some(1);
        let well = match result.as_str() {
            "e1" => ending.accepted("e1"),
            "e2" => ending.accepted("e2") && !first_met,
            _ => false,
        };
        ensure(well, || format!("it got {result}; the first met a wait: {first_met}"))
    })
}

/// An event that is not kept meets a wait that is open, or nobody.
pub(super) fn dropped(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        got(cx.wait_for_event("wait").on("dropped").timeout(Duration::from_secs(60)).await)
    });
    let waits = waits.event::<serde_json::Value>("dropped", Buffer::None);
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::event("a", "dropped", "e1")]);
    Plan::new([waits], script, decided)
}
