//! Outputs that can't be there when they are read.

use crate::{check, fine, problems, steps};

#[test]
fn a_step_that_only_comes_later_is_told() {
    let text = steps("- {id: a, set: {x: '${steps.b.output}'}}\n- {id: b, sleep: 1}");
    check(&text, &["3:29: `b` can't have run before this step"]);
    fine(&steps("- {id: b, sleep: 1}\n- {id: a, set: {x: '${steps.b.output}'}}"));
}

#[test]
fn a_step_that_reads_itself_is_told_unless_it_runs_again() {
    check(
        &steps("- {id: a, set: {x: '${steps.a.output}'}}"),
        &["3:29: `a` refers to itself, and runs only once"],
    );
    fine(&steps(
        "- {id: a, set: {x: '${steps.a.output ?? 0}'}}\n- {id: b, sleep: 1, next: a, if: input.again}",
    ));
}

#[test]
fn the_other_way_of_a_switch_is_told() {
    let text = steps(
        "- {id: s, switch: [{when: input.x, next: a}, {next: b}]}\n- {id: a, sleep: 1, next: end}\n\
         - {id: b, set: {x: '${steps.a.output}'}}\n- {id: end, set: {x: '${steps.a.output ?? steps.b.output}'}}",
    );
    check(&text, &["5:29: `a` can't have run before this step"]);
}

#[test]
fn what_loops_lead_back_to_is_fine() {
    fine(&steps(
        "- {id: a, set: {x: '${steps.b.output ?? null}'}}\n- {id: b, sleep: 1}\n- {id: c, switch: [{when: input.x, next: a}]}",
    ));
}

#[test]
fn handlers_see_who_failed_and_the_rest_sees_handlers() {
    fine(&steps(
        "- {id: a, sleep: 1, onError: h}\n- {id: b, set: {x: '${steps.h.output ?? null}'}}\n\
         - {id: c, waitForEvent: {timeoutHandlerStepId: h2}}\n- {id: d, set: {x: '${steps.h3.output ?? null}'}}\n\
         handlers:\n- {id: h, set: {e: '${steps.a.error.message}'}}\n- {id: h2, sleep: 1, next: h3}\n\
         - {id: h3, set: {x: '${steps.c.error}', y: '${steps.h2.output}'}}",
    ));
    let early = steps(
        "- {id: a, sleep: 1, onError: h}\n- {id: b, sleep: 1}\nhandlers: [{id: h, set: {x: '${steps.b.output}'}}]",
    );
    check(&early, &["5:38: `b` can't have run before this step"]);
}

#[test]
fn undoing_sees_everything() {
    fine(&steps(
        "- {id: a, sleep: 1, compensate: undo}\n- {id: b, sleep: 1}\nhandlers: [{id: undo, http: {url: 'http://x/', body: '${steps.b.output ?? null}'}}]",
    ));
}

#[test]
fn branches_see_each_other_and_are_seen_afterwards() {
    fine(&steps(
        "- id: fan\n  parallel:\n  - [{id: a, set: {x: '${steps.c.output ?? null}'}}]\n  - [{id: b, sleep: 1}, {id: c, sleep: 1}]\n\
         - {id: after, set: {x: '${steps.b.output}', y: '${steps.fan.output}'}}",
    ));
    let inside = steps(
        "- id: fan\n  parallel:\n  - [{id: a, set: {x: '${steps.b.output}'}}, {id: b, set: {x: '${steps.fan.output}'}}]",
    );
    check(
        &inside,
        &[
            "5:32: `b` can't have run before this step",
            "5:72: `fan` can't have run before this step",
        ],
    );
}

#[test]
fn every_item_of_a_loop_has_its_own_steps() {
    let text = |after: &str| {
        steps(&format!(
            "- id: each\n  forEach:\n    items: [1]\n    steps:\n    - {{id: a, sleep: 1, onError: h}}\n    - {{id: b, set: {{x: '${{steps.a.output}}'}}}}\n\
             - {{id: c, set: {{x: '${{{after}}}'}}}}\nhandlers: [{{id: h, set: {{x: '${{steps.a.error}}'}}}}]\noutput: '${{{after}}}'"
        ))
    };
    fine(&text("steps.each.output"));
    let told = problems(&text("steps.b.output"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        told[0],
        "9:29: `b` runs for every item of `each`, and is known only there; the last output of each item is in `steps.each.output`"
    );
    let later = steps(
        "- id: each\n  forEach:\n    items: [1]\n    steps:\n    - {id: a, set: {x: '${steps.b.output ?? 0}'}}\n    - {id: b, sleep: 1}",
    );
    check(&later, &["7:33: `b` can't have run before this step"]);
}

#[test]
fn a_handler_of_a_parallel_sees_what_ran_before_its_failure() {
    fine(&steps(
        "- id: fan\n  parallel: [[{id: a, sleep: 1}, {id: b, fail: {code: X}}]]\n  onError: h\nhandlers: [{id: h, set: {x: '${steps.a.output}'}}]",
    ));
}

#[test]
fn the_context_is_made_before_every_step_and_the_output_after() {
    let text = "name: w\ncontext: {x: '${steps.a.output}', y: '${input.y}'}\nsteps: [{id: a, sleep: 1}]\noutput: '${steps.a.output}'\n";
    check(text, &["2:23: `a` can't have run: the context is made before the first step"]);
}

#[test]
fn many_steps_that_read_each_other_are_judged_quickly() {
    let mut text = String::from("name: w\nsteps:\n- {id: s0, sleep: 1}\n");
    for nth in 1..9_000 {
        let far = (nth * 7919) % nth;
        text += &format!("- {{id: s{nth}, set: {{x: '${{steps.s{far}.output}}'}}}}\n");
    }
    fine(&text);
    assert!(problems(&text.replace("steps.s0.output", "steps.s8999.output")).len() > 1);
}
