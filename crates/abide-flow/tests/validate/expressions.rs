//! Expressions: syntax, names, and where they stand.

use crate::{check, fine, problems, steps};

#[test]
fn every_known_name_is_known_where_it_should_be() {
    fine(
        "name: w\ncontext: {a: '${input.a} ${workflow.id} ${workflow.run} ${workflow.name}'}\ndefaults: {timeout: '${input.t}'}\n\
         steps:\n- id: wait\n  if: workflow.context.a && input.b\n  waitForEvent:\n    filterCondition: event.payload.x === workflow.context.a\n    \
         eventPayloadMapping: {a: b.c, d: '${event.payload.d + input.e}', f: 5}\n    count: 2\n    distinctBy: event.payload.user\n\
         - {id: call, http: {url: 'http://x/', headers: {a: 'Bearer ${secret.KEY}'}}}\n- {id: t, tool: {server: '${secret.URL}'}}\n\
         - {id: f, call: {action: x, input: '${secret.A}'}}\n\
         - id: each\n  forEach:\n    items: '${steps.wait.output}'\n    as: order\n    steps:\n    - id: inner\n      forEach: {items: '${order.lines}', \
         steps: [{id: one, set: {x: '${order.id} ${item} ${index}'}, onError: note}]}\n\
         handlers: [{id: note, set: {x: '${item} ${order} ${index}'}}]\noutput: '${steps.each.output}'\n",
    );
}

#[test]
fn names_are_told_that_are_not_known_in_their_place() {
    let one = |field: &str| problems(&steps(&format!("- {{id: a, {field}}}")));
    assert_eq!(
        one("if: inptu.x, sleep: 1"),
        ["3:15: `inptu` is not known here; did you mean `input`?"]
    );
    assert!(one("set: {x: '${event.payload}'}")[0].contains("known in filterCondition"));
    assert!(
        one("set: {x: '${secret.KEY}'}")[0].contains("known in the fields of http, tool and call")
    );
    assert!(
        one("http: {url: 'http://x'}, timeout: '${secret.T}'")[0]
            .contains("`secret` is not known here")
    );
    assert!(one("set: {x: '${item.y}'}")[0].contains("known in the steps of forEach"));
    assert!(one("set: {x: '${context.y}'}")[0].contains("did you mean `workflow.context`?"));
    assert!(one("set: {x: '${frobnicate}'}")[0].contains("there are input, workflow, steps"));
    assert!(
        one("forEach: {items: '${item}', steps: [{id: b, sleep: 1}]}")[0]
            .contains("`item` is not known")
    );
    assert!(
        one("forEach: {items: [1], as: o, steps: [{id: b, set: {x: '${item}'}}]}")[0]
            .contains("`item` is not known")
    );
    assert!(
        one("waitForEvent: {eventPattern: '${event.type}'}")[0].contains("`event` is not known")
    );
}

#[test]
fn fields_that_can_not_be_there_are_told() {
    let one =
        |field: &str| problems(&steps(&format!("- {{id: z, sleep: 1}}\n- {{id: a, {field}}}")));
    assert_eq!(
        one("if: workflow.ctx.x, sleep: 1"),
        ["4:24: `workflow` has no field `ctx`; there are id, run, context, name"]
    );
    assert_eq!(
        one("waitForEvent: {filterCondition: event.paylod.x}"),
        ["4:49: `event` has no field `paylod`; did you mean `event.payload`?"]
    );
    assert_eq!(
        one("if: steps.z.body.x, sleep: 1"),
        ["4:21: a step has `output` and `error`, not `body`; did you mean `steps.z.output.body`?"]
    );
    assert_eq!(
        one("if: steps.zz.output, sleep: 1"),
        ["4:21: there is no step `zz`; did you mean `z`?"]
    );
    assert_eq!(one("if: 'steps[\"q-r\"].output', sleep: 1")[0], "4:23: there is no step `q-r`");
    assert!(
        one("if: 'steps[input.which].output', sleep: 1").is_empty(),
        "not known before it runs"
    );
}

#[test]
fn syntax_errors_stand_where_they_are_in_the_document() {
    let text = steps("- {id: a, set: {x: 'order ${input.}'}}");
    check(&text, &["3:35: unexpected `}`; expected a field name"]);
    let text = steps("- id: a\n  set:\n    x: |\n      first\n      second ${input.a +} end\n");
    check(&text, &["7:25: unexpected `}`; expected a value"]);
    let text = steps("- id: a\n  sleep: 1\n  if: >\n    input.a &&\n    inptu.b\n");
    check(&text, &["7:5: `inptu` is not known here; did you mean `input`?"]);
    let text = steps("- {id: a, sleep: 1, if: \"input.a === \\\"é\\\" && inptu.b\"}");
    check(&text, &["3:47: `inptu` is not known here; did you mean `input`?"]);
}

#[test]
fn a_condition_in_a_template_is_explained() {
    let told = problems(&steps("- {id: a, sleep: 1, if: '${input.x}'}"));
    assert!(told[0].contains("write the expression alone, without `${` and `}`"), "{told:?}");
}

#[test]
fn conditions_may_be_plain_booleans() {
    fine(&steps("- {id: a, sleep: 1, if: true}"));
    assert_eq!(
        problems(&steps("- {id: a, sleep: 1, if: [1]}")),
        ["3:25: an expression was expected, not a list"]
    );
}
