//! Triggers: the fields of the library, and its own check.

use abide::TriggerAction;

use crate::{check, fine, problems};

fn document(triggers: &str) -> String {
    format!("name: order\ntriggers:\n{triggers}\nsteps: [{{id: a, sleep: 1}}]\n")
}

#[test]
fn a_trigger_gets_the_name_of_the_workflow() {
    let flow = fine(&document(
        "- {eventPattern: order.placed, inputMapping: {orderId: id, at: '${event.time}'}, filterCondition: event.payload.total > 5, \
         correlationKey: event.payload.id, priority: -1, throttle: {limit: 5, period: 1m}}\n\
         - {eventPattern: order.cancelled, action: cancel, enabled: false}",
    ));
    assert_eq!(flow.triggers[0].workflow, "order");
    assert_eq!((flow.triggers[0].priority, flow.triggers[1].action), (-1, TriggerAction::Cancel));
    assert!(flow.triggers[0].throttle.is_some() && !flow.triggers[1].enabled);
}

#[test]
fn triggers_know_the_event_alone() {
    check(
        &document("- {eventPattern: a, filterCondition: input.x === 1}"),
        &["3:38: `input` is not known here; there are event"],
    );
    let told = problems(&document(
        "- {eventPattern: a, inputMapping: {x: '${evnt.payload.x}'}, correlationKey: event.paylod}",
    ));
    assert_eq!(
        told,
        [
            "3:42: `evnt` is not known here; did you mean `event`?",
            "3:83: `event` has no field `paylod`; did you mean `event.payload`?",
        ]
    );
}

#[test]
fn bad_fields_of_triggers_are_told() {
    check(
        &document("- {eventPatern: a}"),
        &[
            "3:3: `eventPattern` is missing; it is an event pattern",
            "3:4: `eventPatern` is not known here; did you mean `eventPattern`?",
        ],
    );
    check(
        &document("- {eventPattern: a.., action: stop, debounce: {period: 5}}")
            .replace("5}}", "'5'}}"),
        &[
            "3:18: bad event pattern: \"a..\" has an empty segment",
            "3:31: `stop` is not one of start, cancel",
            "3:56: \"5\" is not a duration: 5 has no unit; write for example \"5m\", \"24 hours\" or \"PT5M\"",
        ],
    );
}

#[test]
fn the_library_has_the_last_word() {
    let told = problems(&document(
        "- {eventPattern: a, debounce: {period: 1m}, throttle: {limit: 1, period: 1m}}",
    ));
    assert!(
        told[0].starts_with("3:3: ")
            && told[0].contains("only one of debounce, throttle and batch"),
        "{told:?}"
    );
    let told = problems(&document("- {eventPattern: a, throttle: {limit: 0, period: 1m}}"));
    assert!(told[0].contains("limit must be at least 1"), "{told:?}");
}

#[test]
fn two_triggers_may_hear_the_same() {
    fine(&document(
        "- {eventPattern: a, filterCondition: event.payload.x}\n- {eventPattern: a, action: cancel}",
    ));
}
