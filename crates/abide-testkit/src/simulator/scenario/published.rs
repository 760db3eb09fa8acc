//! Several events that are published, and several who wait for them.

use std::time::Duration;

use abide::prelude::{Cx, Event, Workflow};
use abide::{Error, OneOf2};

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;
use crate::simulator::witness::First;

/// Each is seen once, in the order of the log.
fn as_published(ending: &Ending<'_>) -> Result<(), String> {
    let seen: Vec<String> = ending.result("a")?;
    let log = ending.published();
    ensure(seen == log, || format!("it saw {seen:?} of {log:?}"))
}

fn two_clients(workflow: &'static str) -> Script {
    Script::default()
        .client([Ask::start(workflow, "a")])
        .client([Ask::publish("a", "go", "p1")])
        .client([Ask::publish("a", "go", "p2")])
}

/// Two publishers, two waits in a row.
pub(super) fn two_publishers(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let first = got(cx.wait_for_event("first").on("go").await)?;
        witness.step(&cx, "between", 1).await?;
        Ok(vec![first, got(cx.wait_for_event("next").on("go").await)?])
    });
    Plan::new([waits], two_clients("waits"), as_published)
}

/// The same event from two clients, and perhaps again after a crash, is one event.
pub(super) fn twice(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, _| {
        let first = got(cx.wait_for_event("first").on("go").await)?;
        let next = cx.wait_for_event("next").on("go").timeout(Duration::from_secs(60)).await;
        Ok([first, got(next)?])
    });
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::publish("a", "go", "p1")])
        .client([Ask::publish("a", "go", "p1")]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let seen: [String; 2] = ending.result("a")?;
        ensure(seen == ["p1", "timeout"], || format!("it saw {seen:?}"))?;
        ensure(ending.published() == ["p1"], || "it is in the log twice".to_owned())
    })
}

/// One event serves whoever waits, wherever.
pub(super) fn two_instances(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        got(cx.wait_for_event("go").await)
    });
    let script = Script::default()
        .client([Ask::start("waits", "a"), Ask::start("waits", "b")])
        .client([Ask::publish("b", "go", "p1")]);
    Plan::new([waits], script, |ending: &Ending<'_>| {
        let both: (String, String) = (ending.result("a")?, ending.result("b")?);
        ensure(both == ("p1".to_owned(), "p1".to_owned()), || format!("they got {both:?}"))
    })
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
    });
    Plan::new([waits], two_clients("waits"), as_published)
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
    let script = Script::default()
        .client([Ask::start("waits", "a")])
        .client([Ask::publish("a", "yes", "p1")])
        .client([Ask::publish("a", "no", "p2")]);
    Plan::new([waits], script, as_published)
}

/// The loser of a race with a step gives back what it got unseen.
pub(super) fn loser(witness: &Witness, _: &mut Chooser) -> Plan {
    let races = workflow("races", witness, async |cx, witness| {
        let wait = cx.wait_for_event::<String>("wait").on("go");
        let raced = witness.race(wait, witness.step(&cx, "work", 1)).await;
        let mut seen = match raced {
            First::Left(met) => vec![got(met)?],
            First::Right(done) => done.map(|_| vec![])?,
        };
        while seen.len() < 2 {
            seen.push(got(cx.wait_for_event("next").on("go").await)?);
        }
        Ok(seen)
    });
    Plan::new([races], two_clients("races"), as_published)
}

/// What one run did not take, the next one finds.
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
    let script = two_clients("goes on").client([Ask::publish("a", "go", "p3")]);
    Plan::new([goes_on], script, as_published)
}

/// A workflow publishes once however often it is tried, and its answer is what the log says.
pub(super) fn by_a_workflow(witness: &Witness, _: &mut Chooser) -> Plan {
    let waits = workflow("waits", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let first = got(cx.wait_for_event("first").on("go").await)?;
        let next = cx.wait_for_event("next").on("go").timeout(Duration::from_secs(60)).await;
        Ok([first, got(next)?])
    });
    let tells = workflow("tells", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        let verdict = cx.publish(Event::new("go", "told")).await?;
        witness.step(&cx, "after", 1).await?;
        Ok((verdict.seq, verdict.matched_count))
    });
    let script = Script::default().client([Ask::start("waits", "a"), Ask::start("tells", "b")]);
    Plan::new([waits, tells], script, |ending: &Ending<'_>| {
        let seen: [String; 2] = ending.result("a")?;
        ensure(seen == ["told", "timeout"], || format!("it saw {seen:?}"))?;
        let told: (Option<i64>, u64) = ending.result("b")?;
        let log: Vec<(Option<i64>, u64)> = ending
            .view
            .log
            .iter()
            .map(|logged| (Some(logged.published.seq), logged.verdict.matched_count))
            .collect();
        ensure(log == [told], || format!("it was told {told:?}, and the log says {log:?}"))
    })
}
