//! Deadlines against what is waited for.

use std::time::Duration;

use abide::history::EntryKind;
use abide::{Buffer, Outgoing};

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;

const MINUTE: Duration = Duration::from_secs(60);

/// One event, one wait with a deadline: exactly one of the two decides, and the sender was told
/// the truth.
pub(super) fn event(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, _| {
        got(cx.wait_for_event("go").timeout(MINUTE).await)
    });
    let script =
        Script::default().client([Ask::start("waits", "a")]).client([Ask::event("a", "go", "e1")]);
    Plan::new([waits], script, decided)
}

/// Either the event, as its sender was told, or the timeout.
pub(super) fn decided(ending: &Ending<'_>) -> Result<(), String> {
    let result: String = ending.result("a")?;
    let sender = ending.delivered("e1");
    let agrees = match result.as_str() {
        "e1" => sender.is_some(),
        "timeout" => sender.is_none_or(|delivered| delivered == 0),
        _ => false,
    };
    ensure(agrees, || format!("it got {result}, and the sender was told {sender:?}"))
}

/// An event that is not to be seen for a while: it counts from then on.
pub(super) fn delayed(witness: &Witness, _: &mut Chooser) -> Plan {
    const DELAY: Duration = Duration::from_secs(30);
    let waits = workflow("waits", witness, async |cx, _| {
        got(cx.wait_for_event("go").timeout(MINUTE).await)
    });
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::event("a", "go", "e1").delayed(DELAY)]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let result: String = ending.result("a")?;
        let deadline = ending.view.waits.first().and_then(|wait| wait.timeout_at);
        let received = ending.view.histories.iter().flat_map(|(_, history)| history);
        let received = received.filter(|it| it.entry.entry == EntryKind::EventReceived);
        // Its delay counts from the call, which was no later than this.
        let visible = received.map(|it| it.at.after(DELAY)).next();
        let in_time = visible.is_some_and(|at| deadline.is_some_and(|deadline| at < deadline));
        ensure(result == "e1" || (result == "timeout" && !in_time), || {
            format!("it got {result}; visible at {visible:?}, deadline {deadline:?}")
        })
    })
}

/// An event that is not to be seen for a while, and a wait that has all the time in the world.
pub(super) fn patient(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, _| got(cx.wait_for_event("go").await));
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::event("a", "go", "e1").delayed(MINUTE)]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let result: String = ending.result("a")?;
        ensure(result == "e1", || format!("it got {result}"))
    })
}

/// A deadline that is moved while the event is on its way.
pub(super) fn moved(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, _| {
        got(cx.wait_for_event("go").timeout(MINUTE).await)
    });
    let moves = [2 * MINUTE, MINUTE / 6].map(|by| Ask::EditWait("a".to_owned(), by));
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client(moves)
        .client([Ask::event("a", "go", "e1")]);
    Plan::new([waits], script, decided)
}

/// A signal that wakes nobody is still looked at before the wait gives up.
pub(super) fn quiet(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, _| {
        got(cx.wait_for_signal("go").timeout(MINUTE).await)
    });
    let signal = Outgoing::signal("go").without_waking();
    let script =
        Script::default().client([Ask::start("waits", "a")]).client([Ask::send("a", "s1", signal)]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let result: String = ending.result("a")?;
        let deadline = ending.view.waits.first().and_then(|wait| wait.timeout_at);
        let mut entries = ending.view.histories.iter().flat_map(|(_, history)| history);
        let received = entries.find(|it| it.entry.entry == EntryKind::EventReceived);
        let in_time = received.is_some_and(|it| deadline.is_some_and(|deadline| it.at < deadline));
        let wanted = if in_time { "s1" } else { "timeout" };
        ensure(result == wanted, || format!("it got {result}; the signal was in time: {in_time}"))
    })
}

/// A timeout that is handled leaves the next wait healthy.
pub(super) fn caught(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, _| {
        let first = got(cx.wait_for_event("first").on("go").timeout(MINUTE).await)?;
        let second = got(cx.wait_for_event("second").on("go").await)?;
        Ok((first, second))
    })
    .event::<serde_json::Value>("go", Buffer::Queue);
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client(["e1", "e2"].map(|id| Ask::event("a", "go", id)));
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let (first, second): (String, String) = ending.result("a")?;
        let well = matches!((&*first, &*second), ("e1", "e2") | ("timeout", "e1"));
        ensure(well, || format!("it got {first}, then {second}"))
    })
}
