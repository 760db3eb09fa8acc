//! What expressions yield, where JavaScript does not decide or an example says more.

use abide::expr::{EvalError, Outcome};
use serde_json::json;

use crate::world::{World, describe, parse};

fn order() -> World {
    World {
        event: json!({
            "type": "payment.received",
            "payload": {
                "orderId": "o-17", "documentId": 7, "invoiceId": "i-1", "status": "paid",
                "amount": 120, "tags": ["vip", "new"], "big": 9007199254740993_u64,
                "method": {"type": "card"}, "lines": [{"sku": "a", "n": 2}, {"sku": "b", "n": 0}],
            },
        }),
        context: json!({
            "orderId": "o-17", "expectedAmount": 100, "contractId": 7.0, "invoiceId": "i-1",
            "big": 9007199254740992_u64,
        }),
        input: json!({"limit": 3}),
    }
}

fn check(source: &str, expect: &str) {
    assert_eq!(describe(&parse(source).eval(&order().all())), expect, "{source}");
}

#[test]
fn filters_of_the_handbook_match() {
    for source in [
        "event.payload.orderId === workflow.context.orderId && event.payload.amount >= workflow.context.expectedAmount",
        "event.payload.documentId === workflow.context.contractId",
        "event.payload.invoiceId === workflow.context.invoiceId && event.payload.status === 'paid'",
    ] {
        assert_eq!(parse(source).is_match(&order().all()), Ok(true), "{source}");
        let other = World { event: json!({"payload": {"orderId": "o-18"}}), ..order() };
        assert_eq!(parse(source).is_match(&other.all()), Ok(false), "{source}");
    }
}

#[test]
fn missing_fields_are_undefined_at_any_depth() {
    check("event.nothing", "undefined");
    check("event.nothing.at.all[0]", "undefined");
    check("event.payload.orderId.x.y", "undefined");
    check("null.x", "undefined");
    check("event.payload.nothing === undefined", "true");
    check("event.payload.nothing === null", "false");
    check("event.payload.nothing == null", "true");
    check("event.payload.nothing > 1", "false");
    check("event.payload.nothing ?? 'none'", "s:none");
}

#[test]
fn integers_are_exact_beyond_doubles() {
    check("event.payload.big === workflow.context.big", "false");
    check("event.payload.big > workflow.context.big", "true");
    check("event.payload.big - 1 === workflow.context.big", "true");
    check("event.payload.big === 9007199254740993", "true");
    check("'9007199254740993' == event.payload.big", "true");
    check("18446744073709551615 > 18446744073709551614", "true");
    check("18446744073709551615 + 1", "n:18446744073709552000");
    check("-9223372036854775808 === -9223372036854775807", "false");
}

#[test]
fn arrays_and_objects_are_equal_by_content() {
    check("event.payload.tags === ['vip', 'new']", "true");
    check("event.payload.tags === ['new', 'vip']", "false");
    check("event.payload.method === {type: 'card'}", "true");
    check("event.payload.method == {type: 'card', x: 1}", "false");
    check("event.payload.lines.includes({n: 2, sku: 'a'})", "true");
    check("[1.0] === [1]", "true");
}

#[test]
fn in_means_membership_for_literals_and_keys_otherwise() {
    check("event.payload.status in ['paid', 'sent']", "true");
    check("event.payload.status in ['open']", "false");
    check("'type' in event.payload.method", "true");
    check("'card' in event.payload.method", "false");
    check("0 in event.payload.tags", "true");
    check("'vip' in event.payload.tags", "false");
    check("'a' in {a: 1}", "true");
    check("'a' in event.payload.status", "!");
}

#[test]
fn names_are_own_fields_only() {
    check("event.payload.constructor", "undefined");
    check("event.payload.tags.map", "undefined");
    check("'toString' in {}", "false");
    check("{__proto__: 1}.__proto__", "n:1");
}

#[test]
fn quantifiers_see_items_and_positions() {
    check("event.payload.lines.some(line => line.n > 1)", "true");
    check("event.payload.lines.every(line => line.n > 0)", "false");
    check("event.payload.lines.some((line, i) => i === 1 && line.sku === 'b')", "true");
    check("event.payload.lines.some(a => event.payload.lines.every(b => a.n >= b.n))", "true");
    check("[].every(x => false)", "true");
    check("[[1], [2, 3]].some(x => x.some(x => x === 3))", "true");
    check("event.payload.lines.some(event => event.sku === 'b')", "true");
}

#[test]
fn texts_are_counted_in_utf16_units() {
    check("'a😀'.length", "n:3");
    check("'😀'[0]", "s:\u{fffd}");
    check("'😀' < '\u{ffee}'", "true");
    check(r"'\u{1F600}' === '\uD83D\uDE00'", "true");
    check(r"'\x41\n\'\q\0'", "s:A\n'q\0");
}

#[test]
fn optional_chains_end_as_a_whole() {
    check("event.payload.nothing?.trim().toLowerCase().length", "undefined");
    check("event.nothing?.a.trim()", "undefined");
    check("(event.nothing?.a).trim()", "!");
    check("event.nothing?.[event.payload.x.trim()]", "undefined");
    check("event.payload.status?.includes('pa')", "true");
}

#[test]
fn failures_say_what_was_wrong() {
    let check = |source: &str, expect: &str| {
        let error = parse(source).eval(&order().all()).unwrap_err().to_string();
        assert_eq!(error, expect, "{source}");
    };
    check(
        "event.payload.notes.includes('x')",
        "event.payload.notes is undefined and has no method includes; \
         write event.payload.notes?.includes(..) to allow it",
    );
    check("event.payload.amount.trim()", "event.payload.amount is a number and has no method trim");
    check(
        "'a' in event.payload.status",
        "event.payload.status is a string, and `in` needs an object; \
         for membership write [..].includes(..)",
    );
    check("item.x", "item is not known here");
}

#[test]
fn huge_and_deep_data_is_refused_and_harmless() {
    let many: Vec<u32> = (0..2_000).collect();
    let world = World::event(&json!({"many": many}));
    let loops = parse("event.payload.many.every(a => event.payload.many.every(b => a + b >= 0))");
    assert_eq!(loops.eval(&world.all()).unwrap_err(), EvalError::TooMuchWork { limit: 1_000_000 });

    let deep = (0..1_000).fold(json!(1), |inner, _| json!([inner]));
    let object = (0..1_000).fold(json!(1), |inner, _| json!({ "x": inner }));
    let world = World::event(&json!({"deep": deep, "object": object}));
    let check = |source: &str, expect: &str| {
        assert_eq!(describe(&parse(source).eval(&world.all())), expect, "{source}");
    };
    check("event.payload.deep[0][0][0].length", "n:1");
    check("event.payload.object.x.x.x.y", "undefined");
    check("event.payload.deep === event.payload.deep", "!");
    check("event.payload.object === event.payload.object", "!");
    check("event.payload.deep + ''", "!");
    check("event.payload.deep == 1", "!");
    check("!event.payload.deep", "false");
    assert_eq!(parse("event.payload.deep === 1").explain(&world.all()).len(), 1);
}

#[test]
fn explain_names_the_clause_that_failed_and_its_values() {
    let filter = parse(
        "event.payload.orderId === workflow.context.orderId && event.payload.amount >= 200 \
         && event.payload.notes.includes('x') && (event.payload.status === 'open' || event.payload.tags.includes('old'))",
    );
    let clauses = filter.explain(&order().all());
    let shown: Vec<String> = clauses.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            r#"event.payload.orderId === workflow.context.orderId: "o-17" === "o-17" is true"#,
            "event.payload.amount >= 200: 120 >= 200 is false",
            r#"event.payload.notes.includes("x"): event.payload.notes is undefined and has no method includes; write event.payload.notes?.includes(..) to allow it"#,
            r#"event.payload.status === "open" || event.payload.tags.includes("old"): "paid" === "open" || ["vip", "new"].includes("old") is false"#,
        ]
    );
    assert_eq!(clauses[0].outcome, Outcome::True);
    assert_eq!(clauses[1].values, "120 >= 200");
    let long = World::event(&json!({"text": "x".repeat(500)}));
    assert!(parse("event.payload.text === ''").explain(&long.all())[0].values.len() < 120);
}

#[test]
fn paths_tell_what_has_to_be_loaded() {
    let paths =
        parse("steps.pay.output.id === event['payload'].x && event.payload.x && input.y[input.z]")
            .paths();
    let shown: Vec<String> = paths.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["event.payload.x", "input.y", "input.z", "steps.pay.output.id"]);
}
