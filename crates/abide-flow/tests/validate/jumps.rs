//! Steps that name others, and steps that nobody gets to.

use crate::{check, fine, problems, steps};

#[test]
fn names_of_steps_are_known() {
    let text = steps(
        "- {id: reserve, sleep: 1, next: shp, onError: resrve, compensate: zzz}\n\
         - {id: ship, waitForEvent: {timeoutHandlerStepId: remind}}\n\
         - {id: choose, switch: [{when: input.x, next: shipp}]}",
    );
    check(
        &text,
        &[
            "3:33: there is no step `shp`; did you mean `ship`?",
            "3:47: there is no step `resrve`; did you mean `reserve`?",
            "3:67: there is no step `zzz`",
            "4:51: there is no step `remind`",
            "5:47: there is no step `shipp`; did you mean `ship`?",
        ],
    );
}

#[test]
fn the_loop_of_a_reminder_is_fine() {
    fine(
        "name: order\nsteps:\n- id: wait_for_payment\n  waitForEvent: {eventPattern: payment.received, timeout: 24 hours, \
         timeoutHandlerStepId: send_reminder}\n- {id: ship, sleep: 1}\nhandlers:\n- {id: send_reminder, sleep: 1, next: wait_for_payment}",
    );
}

#[test]
fn a_branch_is_neither_entered_nor_left() {
    let branch = "- {id: first, sleep: 1, onError: inner}\n- id: fan\n  parallel:\n  - - {id: inner, sleep: 1, onError: last}\n  \
                  - - {id: other, sleep: 1, onError: inner}\n- {id: last, sleep: 1}\n";
    check(
        &steps(branch),
        &[
            "3:34: `inner` is inside of `fan`, and a branch can't be entered; a step may name steps of its own list, and handlers",
            "6:38: `last` is outside of `fan`, and a branch can't be left; a step may name steps of its own list, and handlers",
            "7:38: `inner` is inside of `fan`, and a branch can't be entered; a step may name steps of its own list, and handlers",
        ],
    );
    let own = "- id: each\n  forEach:\n    items: [1]\n    steps:\n    - {id: try, waitForEvent: {timeoutHandlerStepId: note}}\n    \
               - {id: then, sleep: 1, if: input.again, next: try}\nhandlers: [{id: note, sleep: 1}]";
    fine(&steps(own));
}

#[test]
fn a_handler_goes_where_those_who_name_it_may_go() {
    let text = |user: &str| {
        steps(&format!(
            "- {{id: a, sleep: 1{user}}}\n- id: fan\n  parallel: [[{{id: wait, waitForEvent: {{timeoutHandlerStepId: note}}}}]]\n\
             handlers:\n- {{id: note, sleep: 1, next: again}}\n- {{id: again, sleep: 1, next: wait}}"
        ))
    };
    fine(&text(""));
    let told = problems(&text(", onError: note"));
    assert!(
        told[0].starts_with(
            "8:31: `again` is named from several lists of steps, so it can't go on at `wait`"
        ),
        "{told:?}"
    );
    let out = steps(
        "- {id: a, sleep: 1}\n- {id: r, race: [{id: x, sleep: 1, onError: note}]}\nhandlers: [{id: note, sleep: 1, next: a}]",
    );
    assert!(problems(&out)[0].contains("`a` is outside of `r`, and a branch can't be left"));
}

#[test]
fn steps_after_an_end_that_nobody_names_are_told_once() {
    for end in ["return: 1", "fail: {code: X}", "sleep: 1, next: a", "switch: [{next: a}]"] {
        let text = steps(&format!(
            "- {{id: a, sleep: 1}}\n- {{id: end, {end}}}\n- {{id: b, sleep: 1}}\n- {{id: c, sleep: 1}}"
        ));
        check(
            &text,
            &[
                "5:8: `b` is never reached: `end` always goes elsewhere, and no step that runs names it",
            ],
        );
    }
}

#[test]
fn steps_that_a_condition_a_case_or_an_error_leads_to_are_reached() {
    for end in [
        "return: 1, if: input.x",
        "switch: [{when: input.x, next: a}]",
        "switch: [{next: b}]",
        "sleep: 1, next: b",
        "fail: {code: X}, onError: note",
        "sleep: 1, next: a, onError: note",
    ] {
        let text = steps(&format!(
            "- {{id: a, sleep: 1, onError: note}}\n- {{id: end, {end}}}\n- {{id: b, sleep: 1}}\nhandlers: [{{id: note, sleep: 1}}]"
        ));
        fine(&text);
    }
}

#[test]
fn unreached_steps_in_branches_are_told_too() {
    let text = steps("- {id: fan, parallel: [[{id: a, return: 1}, {id: b, sleep: 1}]]}");
    check(
        &text,
        &["3:50: `b` is never reached: `a` always goes elsewhere, and no step that runs names it"],
    );
}

#[test]
fn a_handler_that_nobody_names_is_told() {
    let text = steps(
        "- {id: a, sleep: 1, compensate: undo}\nhandlers:\n- {id: undo, call: {action: x}}\n- {id: odd, sleep: 1, next: odd}",
    );
    let told = problems(&text);
    assert!(told[0].starts_with("6:8: no step names the handler `odd`"), "{told:?}");
    assert_eq!(told.len(), 1);
}

#[test]
fn what_undoes_a_step_runs_apart_from_the_others() {
    let text = steps(
        "- {id: a, sleep: 1, compensate: undo}\n- {id: p, parallel: [[{id: b, sleep: 1, compensate: c}, {id: c, call: {action: x}}]]}\n\
         - {id: d, sleep: 1, compensate: nap}\nhandlers: [{id: undo, call: {action: x}}, {id: nap, sleep: 1}]",
    );
    check(
        &text,
        &[
            "4:53: `c` is inside of `p`, and can't undo a step; make it one of the `handlers`",
            "5:33: `nap` can't undo a step; a step that undoes another does `http`, `tool` or `call`",
        ],
    );
}
