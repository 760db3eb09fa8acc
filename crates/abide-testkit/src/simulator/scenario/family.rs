//! Instances that have to do with each other.

use std::time::Duration;

use abide::InstanceId;

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;

/// A message to a child, one back, and the result of another child: each exactly once.
pub(super) fn messages(witness: &Witness, _: &mut Chooser) -> Plan {
    let parent = workflow("parent", witness, async |cx, witness| {
        let child = cx.child::<()>("child", ()).id("child").detached().await?;
        let told = cx.send(&child, "hello", "hello").await?;
        let reply = got(cx.receive("reply").await)?;
        let none = cx.try_receive::<String>("reply").await?;
        let helped: String = cx.child("helper", ()).id("helper").await?;
        witness.step(&cx, "after", (told.delivered <= 1, reply, none.is_none(), helped)).await
    });
    let child = workflow("child", witness, async |cx, witness| {
        let heard = got(cx.receive("hello").await)?;
        witness.step(&cx, "think", 1).await?;
        cx.send(&InstanceId::new("a")?, "reply", format!("{heard} back")).await?;
        Ok(())
    });
    let helper = workflow("helper", witness, async |cx, witness| {
        cx.sleep("nap", Duration::from_secs(7)).await?;
        witness.step(&cx, "help", "helped".to_owned()).await
    });
    let script = Script::default().client([Ask::start("parent", "a")]);
    Plan::new([parent, child, helper], script, |ending: &Ending<'_>| {
        let result: (bool, String, bool, String) = ending.result("a")?;
        let wanted = (true, "hello back".to_owned(), true, "helped".to_owned());
        ensure(result == wanted, || format!("it got {result:?}"))?;
        ending.result::<()>("child")
    })
}

/// A parent that is ended takes its child along; one that is not gets its result.
pub(super) fn end(witness: &Witness, _: &mut Chooser) -> Plan {
    let parent = workflow("parent", witness, async |cx, _| {
        cx.child::<String>("child", ()).id("child").await
    });
    let child = workflow("child", witness, async |cx, witness| {
        let met = got(cx.wait_for_event("go").await)?;
        witness.step(&cx, "after", met).await
    });
    let script = Script::default()
        .client([Ask::start("parent", "a")])
        .client([Ask::event("child", "go", "e1")])
        .client([Ask::Terminate("a".to_owned())]);
    Plan::new([parent, child], script, |ending: &Ending<'_>| {
        let wanted = |id: &str| {
            let result: String = ending.result(id)?;
            ensure(result == "e1", || format!("{id} got {result}"))
        };
        if ending.is_terminated("a") {
            return if ending.is_terminated("child") { Ok(()) } else { wanted("child") };
        }
        wanted("a")
    })
}

/// An output that is waited for by another instance, before or after it is set.
pub(super) fn outputs(witness: &Witness, _: &mut Chooser) -> Plan {
    let sets = workflow("sets", witness, async |cx, witness| {
        witness.step(&cx, "before", 1).await?;
        cx.set_output("progress", 1)?;
        witness.step(&cx, "after", 1).await?;
        cx.set_output("done", 2)?;
        Ok(())
    });
    let reads = workflow("reads", witness, async |cx, witness| {
        let of = InstanceId::new("a")?;
        let progress: u32 = cx.output_of(&of, "progress").await?;
        witness.step(&cx, "between", 1).await?;
        let done: u32 = cx.output_of(&of, "done").await?;
        Ok((progress, done))
    });
    let script =
        Script::default().client([Ask::start("sets", "a")]).client([Ask::start("reads", "b")]);
    Plan::new([sets, reads], script, |ending: &Ending<'_>| {
        let seen: (u32, u32) = ending.result("b")?;
        ensure(seen == (1, 2), || format!("it saw {seen:?}"))
    })
}
