//! Streaming steps: what is shown is what is stored, whatever dies in between.

use abide::Error;
use futures_util::stream;

use super::{Chooser, Ending, Plan, Script, Witness, ensure, workflow};
use crate::simulator::script::Ask;

/// What two streaming steps come to when nothing goes wrong, and when everything does.
fn streams(witness: &Witness, script: Script) -> Plan {
    let talks = workflow("talks", witness, async |cx, witness| {
        let mut whole = String::new();
        for (step, after) in [("one", "after one"), ("two", "after two")] {
            let pieces = [step, " and ", step].map(Ok::<_, Error>);
            let source = || async { Ok::<_, Error>(stream::iter(pieces.clone())) };
            whole += &cx.stream_step(step, source).await?;
            witness.step(&cx, after, 1).await?;
        }
        Ok(whole)
    });
    Plan::new([talks], script, |ending: &Ending<'_>| {
        let whole: String = ending.result("a")?;
        ensure(whole == "one and onetwo and two", || format!("it got {whole:?}"))?;
        let (_, chunks) = &ending.view.chunks[0];
        for step in ["one", "two"] {
            let of_step = chunks.iter().filter(|chunk| *chunk.step == *step);
            let shown: Vec<u8> = of_step.flat_map(|chunk| chunk.bytes.to_vec()).collect();
            let shown = String::from_utf8_lossy(&shown).into_owned();
            let expected = format!("{step} and {step}");
            ensure(shown == expected, || format!("readers of {step} got {shown:?}"))?;
        }
        Ok(())
    })
}

/// Nothing but what always goes wrong.
pub(super) fn crash(witness: &Witness, _: &mut Chooser) -> Plan {
    streams(witness, Script::default().client([Ask::start("talks", "a")]))
}

/// A whole restart, at any moment.
pub(super) fn restart(witness: &Witness, _: &mut Chooser) -> Plan {
    let script = Script::default()
        .client([Ask::start("talks", "a")])
        .client([Ask::Restart("a".to_owned(), None)]);
    streams(witness, script)
}

/// A restart that keeps the first of the two.
pub(super) fn restart_from(witness: &Witness, _: &mut Chooser) -> Plan {
    let script = Script::default()
        .client([Ask::start("talks", "a")])
        .client([Ask::Restart("a".to_owned(), Some("two"))]);
    streams(witness, script)
}
