//! What a document comes to.

use abide::Buffer;
use abide_flow::{Kind, Mapped};

use crate::{fine, problems, steps};

const ORDER: &str = include_str!("order.yaml");

#[test]
fn the_document_of_the_readme_is_read_as_it_is_meant() {
    let flow = fine(ORDER);
    assert_eq!(flow.name, "order");
    assert_eq!(
        flow.steps.iter().map(|step| &*step.id).collect::<Vec<_>>(),
        ["reserve", "wait_for_payment", "cool_off", "ship"]
    );
    assert_eq!(flow.events[0].buffer, Buffer::Latest);
    assert_eq!(flow.triggers[0].event_pattern, "order.placed");
    let Kind::WaitForEvent(wait) = &flow.steps[1].kind else { panic!() };
    assert_eq!(wait.timeout_handler.as_deref(), Some("send_reminder"));
    assert!(
        matches!(&wait.mapping[2], (name, Mapped::Path(path)) if name == "paymentMethod" && path == "method.type")
    );
    assert_eq!(flow.handlers[0].next.as_deref(), Some("wait_for_payment"));
    assert!(flow.steps[0].retry.as_ref().unwrap().backoff.is_some());
}

#[test]
fn phases_are_parallel_steps_with_an_id() {
    let flow = fine(
        "name: w\nsteps:\n- - {id: a, sleep: 1}\n  - {id: b, sleep: 1}\n- {id: c, set: {x: '${steps[\"phase-1\"].output}'}}\n- [{id: d, sleep: 1}]\n",
    );
    let ids: Vec<&str> = flow.steps.iter().map(|step| &*step.id).collect();
    assert_eq!(ids, ["phase-1", "c", "phase-2"]);
    let Kind::Parallel(branches) = &flow.steps[0].kind else { panic!() };
    assert_eq!(branches.iter().map(|branch| &*branch[0].id).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(problems("{name: w, steps: [[]]}"), ["1:19: there is no step in this phase"]);
    let told = problems("{name: w, steps: [[{id: phase-1, sleep: 1}]]}");
    assert!(told[0].contains("the id `phase-1` is taken"), "{told:?}");
}

#[test]
fn mappings_are_paths_templates_or_values() {
    let flow = fine(&steps(
        "- {id: a, waitForEvent: {eventPayloadMapping: {p: a.b, t: '${event.id}', v: 5}}}",
    ));
    let Kind::WaitForEvent(wait) = &flow.steps[0].kind else { panic!() };
    let kinds: Vec<bool> =
        wait.mapping.iter().map(|(_, mapped)| matches!(mapped, Mapped::Path(_))).collect();
    assert_eq!(kinds, [true, false, false]);
}
