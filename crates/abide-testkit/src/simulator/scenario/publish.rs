//! One event that is published, against everything that may happen to who waits for it. Each of them
//! is published once the instance is there, so it counts.

use std::time::Duration;

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;

const MINUTE: Duration = Duration::from_secs(60);

fn gets_p1(ending: &Ending<'_>) -> Result<(), String> {
    let result: String = ending.result("a")?;
    ensure(result == "p1", || format!("it got {result}"))
}

fn one_event() -> Script {
    let publish = [Ask::publish("a", "go", "p1")];
    Script::default().client([Ask::start("waits", "a")]).client(publish)
}

/// Early or late, the wait is met.
pub(super) fn reaching(witness: &Witness, chooser: &mut Chooser) -> Plan {
    let filter = [None, Some("event.payload === 'p1'"), Some("event.payload > 'p'")];
    let filter = filter[chooser.below(3)];
    let waits = workflow("waits", witness, move |cx, witness| async move {
        witness.step(&cx, "before", 1).await?;
        let wait = cx.wait_for_event("go");
        let wait = match filter {
            Some(filter) => wait.filter(filter),
            None => wait,
        };
        let met = got(wait.await)?;
        witness.step(&cx, "after", met).await
    });
    Plan::new([waits], one_event(), gets_p1)
}

/// The instance may be on its way out of memory, or back into it.
pub(super) fn eviction(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        cx.sleep("nap", Duration::from_secs(7)).await?;
        let met = got(cx.wait_for_event("go").await)?;
        cx.sleep("nap", Duration::from_secs(4)).await?;
        witness.step(&cx, "after", met).await
    });
    Plan::new([waits], one_event(), gets_p1)
}

/// What was accepted in time, or nothing.
fn first_in_time(ending: &Ending<'_>) -> Result<(), String> {
    let result: String = ending.result("a")?;
    let wanted = ending.first_published("a");
    ensure(wanted.contains(&result), || format!("it got {result} in place of {wanted:?}"))
}

/// Exactly one of event and deadline decides.
pub(super) fn deadline(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        got(cx.wait_for_event("go").timeout(MINUTE).await)
    });
    Plan::new([waits], one_event(), first_in_time)
}

/// It ends by the event or from outside, never both.
pub(super) fn terminate(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        let met = got(cx.wait_for_event("go").await)?;
        witness.step(&cx, "after", met).await
    });
    let script = one_event().client([Ask::Terminate("a".to_owned())]);
    Plan::new(
        [waits],
        script,
        |ending: &Ending<'_>| {
            if ending.is_terminated("a") { Ok(()) } else { gets_p1(ending) }
        },
    )
}

/// A whole restart looks back to itself; what comes after it counts.
pub(super) fn restart(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let met = got(cx.wait_for_event("go").timeout(MINUTE).await)?;
        witness.step(&cx, "after", met).await
    });
    let script = one_event()
        .client([Ask::publish("a", "go", "p2")])
        .client([Ask::Restart("a".to_owned(), None)]);
    Plan::new([waits], script, first_in_time)
}

/// A restart from a later step keeps what the wait got, and what it got is used up.
pub(super) fn restart_from(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        let first = got(cx.wait_for_event("go").await)?;
        witness.step(&cx, "between", 1).await?;
        let next = got(cx.wait_for_event("next").on("go").await)?;
        Ok((first, next))
    });
    let script = one_event()
        .client([Ask::publish("a", "go", "p2")])
        .client([Ask::Restart("a".to_owned(), Some("between"))]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        // Where it was met before the restart, the second is used up and never comes again.
        let Ok((first, next)) = ending.result::<(String, String)>("a") else { return Ok(()) };
        let both = [first, next];
        ensure(both[..] == ending.published(), || format!("it got {both:?}"))
    })
}

/// What is paused hears it underneath.
pub(super) fn pause(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        got(cx.wait_for_event("go").timeout(MINUTE).await)
    });
    let script = one_event().client([Ask::Pause("a".to_owned()), Ask::Resume("a".to_owned())]);
    Plan::new([waits], script, first_in_time)
}

/// One is addressed and one is published: each is used once.
pub(super) fn addressed(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let first = got(cx.wait_for_event("go").await)?;
        witness.step(&cx, "between", 1).await?;
        Ok([first, got(cx.wait_for_event("next").on("go").await)?])
    });
    let script = one_event().client([Ask::event("a", "go", "e1")]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let mut both: [String; 2] = ending.result("a")?;
        both.sort();
        ensure(both == ["e1", "p1"], || format!("it got {both:?}"))
    })
}
