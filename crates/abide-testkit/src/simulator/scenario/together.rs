//! Waits that stand together: any of them, so many of them, only some of what they hear.

use abide::{Buffer, Error, OneOf2};

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;

/// Both events are seen, one by the race and one by whoever waits after it.
fn both_seen(ending: &Ending<'_>) -> Result<(), String> {
    let seen: Vec<String> = ending.result("a")?;
    let mut sorted = seen.clone();
    sorted.sort();
    ensure(sorted == ["e1", "e2"], || format!("it saw {seen:?}"))
}

fn two_clients() -> Script {
    Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::event("a", "yes", "e1")])
        .client([Ask::event("a", "no", "e2")])
}

/// The loser of a race leaves its event to whoever waits next.
pub(super) fn any(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let yes = cx.wait_for_event::<String>("yes");
        let no = cx.wait_for_event::<String>("no");
        let (first, other) = match cx.any((yes, no)).await? {
            OneOf2::First(event) => (event.payload, "no"),
            OneOf2::Second(event) => (event.payload, "yes"),
        };
        let next = cx.wait_for_event("next").on(other).await;
        Ok(vec![first, got(next)?])
    });
    Plan::new([waits], two_clients(), both_seen)
}

/// All of them are seen, in whatever order they come.
pub(super) fn all(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, _| {
        let yes = cx.wait_for_event::<String>("yes");
        let no = cx.wait_for_event::<String>("no");
        let (yes, no) = cx.all((yes, no)).await?;
        Ok(vec![yes.payload, no.payload])
    });
    Plan::new([waits], two_clients(), both_seen)
}

/// What a counted wait held goes back in order when it gives up.
pub(super) fn count(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        let counted = cx.wait_for_event::<String>("both").on("go").timeout("20 seconds").count(2);
        match counted.distinct_by("event.payload").await {
            Ok(events) => Ok(events.into_iter().map(|event| event.payload).collect()),
            Err(Error::EventTimeout { .. }) => {
                witness.step(&cx, "after", 1).await?;
                let first = cx.wait_for_event("first").on("go").await;
                let next = cx.wait_for_event("next").on("go").await;
                Ok(vec![got(first)?, got(next)?])
            }
            Err(other) => Err(other),
        }
    })
    .event::<String>("go", Buffer::Queue);
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client(["e1", "e2"].map(|id| Ask::event("a", "go", id)));
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let seen: Vec<String> = ending.result("a")?;
        ensure(seen == ["e1", "e2"], || format!("it saw {seen:?}"))
    })
}

/// A filter takes the second and leaves the first to whoever waits next.
pub(super) fn filter(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let second = cx.wait_for_event("second").on("go").filter("event.payload === 'e2'").await;
        let first = cx.wait_for_event("first").on("go").await;
        Ok(vec![got(second)?, got(first)?])
    })
    .event::<String>("go", Buffer::Queue);
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client(["e1", "e2"].map(|id| Ask::event("a", "go", id)));
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let seen: Vec<String> = ending.result("a")?;
        ensure(seen == ["e2", "e1"], || format!("it saw {seen:?}"))
    })
}
