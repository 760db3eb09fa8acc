//! Waits that race with each other and with something else.

use std::time::Duration;

use abide::Buffer;
use futures_util::future::join;

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;
use crate::simulator::witness::First;

/// One event serves both of two open waits; they never get different ones.
pub(super) fn one_event_two_waits(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let one = cx.wait_for_event("one").on("go");
        let two = cx.wait_for_event("two").on("go");
        let (one, two) = join(one, two).await;
        Ok((got(one)?, got(two)?))
    });
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::event("a", "go", "e1")])
        .client([Ask::event("a", "go", "e2")]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let (one, two): (String, String) = ending.result("a")?;
        ensure(one == two && one.starts_with('e'), || format!("they got {one} and {two}"))
    })
}

/// A race, then one more wait for the same: with the first event or with the second.
fn nothing_lost(ending: &Ending<'_>) -> Result<(), String> {
    let (first, next): (String, String) = ending.result("a")?;
    let well = matches!((&*first, &*next), ("other", "e1") | ("e1", "e2"));
    ensure(well, || format!("the race gave {first}, the next wait {next}"))
}

/// Only the latest is kept, so the second may replace the first when the race did not use it.
fn latest_not_lost(ending: &Ending<'_>) -> Result<(), String> {
    let (first, next): (String, String) = ending.result("a")?;
    let well = matches!((&*first, &*next), ("other", "e1" | "e2") | ("e1", "e2"));
    ensure(well, || format!("the race gave {first}, the next wait {next}"))
}

fn send_two(script: Script, signals: bool) -> Script {
    let send = |id| if signals { Ask::signal("a", "go", id) } else { Ask::event("a", "go", id) };
    script.client(["e1", "e2"].map(send))
}

/// The loser of a race with a step gives back what it got unseen.
pub(super) fn loser(witness: &Witness, chooser: &mut Chooser) -> Plan {
    let (signals, latest) = [(false, false), (true, false), (false, true)][chooser.below(3)];
    let races = workflow("races", witness, move |cx, witness| async move {
        let wait = || match signals {
            true => cx.wait_for_signal::<String>("wait"),
            false => cx.wait_for_event::<String>("wait"),
        };
        let raced = witness.race(wait().on("go"), witness.step(&cx, "work", 1)).await;
        let first = match raced {
            First::Left(met) => got(met)?,
            First::Right(done) => done.map(|_| "other".to_owned())?,
        };
        Ok((first, got(wait().on("go").await)?))
    });
    let races =
        races.event::<serde_json::Value>("go", if latest { Buffer::Latest } else { Buffer::Queue });
    let script = send_two(Script::default().client([Ask::start("races", "a")]), signals);
    if latest {
        Plan::new([races], script, latest_not_lost)
    } else {
        Plan::new([races], script, nothing_lost)
    }
}

/// The same against a sleep.
pub(super) fn sleep(witness: &Witness, _: &mut Chooser) -> Plan {
    let races = workflow("races", witness, async |cx, witness| {
        let wait = cx.wait_for_event::<String>("wait").on("go");
        let raced = witness.race(wait, cx.sleep("nap", Duration::from_secs(20))).await;
        let first = match raced {
            First::Left(met) => got(met)?,
            First::Right(done) => done.map(|()| "other".to_owned())?,
        };
        let next = cx.wait_for_event("next").on("go").await;
        Ok((first, got(next)?))
    })
    .event::<serde_json::Value>("go", Buffer::Queue);
    let script = send_two(Script::default().client([Ask::start("races", "a")]), false);
    Plan::new([races], script, nothing_lost)
}
