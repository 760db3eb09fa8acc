//! What is queued keeps its order and is used once.

use abide::Buffer;
use futures_util::future::join;

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;

fn in_order(witness: &Witness, events: usize) -> Plan {
    let waits = workflow("waits", witness, move |cx, witness| async move {
        witness.step(&cx, "before", 1).await?;
        let mut all = Vec::new();
        for _ in 0..events {
            all.push(got(cx.wait_for_event("go").await)?);
        }
        Ok(all)
    })
    .event::<serde_json::Value>("go", Buffer::Queue);
    let ids: Vec<String> = (1..=events).map(|n| format!("e{n}")).collect();
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client(ids.iter().map(|id| Ask::event("a", "go", id)).collect::<Vec<_>>());
    Plan::new([waits], script, move |ending: &Ending<'_>| {
        let all: Vec<String> = ending.result("a")?;
        ensure(all == ids, || format!("it got {all:?}"))
    })
}

/// Two events, two waits in a row.
pub(super) fn two(witness: &Witness, _: &mut Chooser) -> Plan {
    in_order(witness, 2)
}

/// Many events, many waits in a row.
pub(super) fn twelve(witness: &Witness, _: &mut Chooser) -> Plan {
    in_order(witness, 12)
}

/// Two signals from two clients to two waits at once: each is used by one of them.
pub(super) fn signals(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let one = cx.wait_for_signal("one").on("s");
        let two = cx.wait_for_signal("two").on("s");
        let (one, two) = join(one, two).await;
        Ok([got(one)?, got(two)?])
    });
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::signal("a", "s", "s1")])
        .client([Ask::signal("a", "s", "s2")]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let mut both: Vec<String> = ending.result("a")?;
        both.sort();
        ensure(both == ["s1", "s2"], || format!("they got {both:?}"))
    })
}
