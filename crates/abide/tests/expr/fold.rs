//! Folding: what is known becomes constant.

use abide::expr::{Expr, FoldError, Folded};
use serde_json::json;

use crate::world::{World, parse};

fn world() -> World {
    World {
        context: json!({
            "orderId": "o-17", "amount": 100, "ids": [1, 2, 3], "nothing": null, "place": 2,
            "address": {"city": "Köln", "no": -4},
        }),
        input: json!({"fast": true}),
        ..World::default()
    }
}

#[test]
fn known_parts_become_constants() {
    let check = |source: &str, expect: &str| {
        let folded = parse(source).fold(&world().known()).unwrap();
        assert_eq!(folded.to_string(), expect, "{source}");
        assert_eq!(Folded::parse(expect).unwrap().expr(), folded.expr(), "{source}");
    };
    check(
        "event.payload.orderId === workflow.context.orderId && event.payload.amount >= workflow.context.amount",
        r#"event.payload.orderId === "o-17" && event.payload.amount >= 100"#,
    );
    check("event.x === workflow.id", r#"event.x === "w-1""#);
    check("event.x === workflow.context.missing", "event.x === undefined");
    check("event.x === workflow.context.nothing", "event.x === null");
    check("event.x > workflow.context.amount * 2 - 1", "event.x > 199");
    check("input.fast && event.x", "event.x");
    check("!input.fast && event.x", "false");
    check("event.x && input.fast", "event.x && true");
    check("event.x || input.fast || event.y", "event.x || true");
    check("workflow.context.missing ?? event.x", "event.x");
    check("workflow.context.amount ?? event.x", "100");
    check("input.fast ? event.x === 1 : event.y === 2", "event.x === 1");
    check("workflow.context.ids.includes(event.x)", "[1, 2, 3].includes(event.x)");
    check("event.x in [workflow.context.amount, 'a']", r#"[100, "a"].includes(event.x)"#);
    check(
        "event.x in workflow.context.ids",
        r#"event.x in {"0": true, "1": true, "2": true, "length": true}"#,
    );
    check("event.items[workflow.context.place].a === 1", "event.items[2].a === 1");
    check("event?.items?.[workflow.context.place]?.a", "event.items[2].a");
    check("event.a === workflow.context.address", r#"event.a === {"city": "Köln", "no": -4}"#);
    check(
        "event.items.some(x => x.id === workflow.context.orderId)",
        r#"event.items.some(x => x.id === "o-17")"#,
    );
    check(
        "event.items.some(x => workflow.context.ids.some(y => y > 2))",
        "event.items.some(x => true)",
    );
    check(
        "event.items.some(x => workflow.context.ids.some(y => y > x))",
        "event.items.some(x => [1, 2, 3].some(y => y > x))",
    );
    check("workflow.context.ids.some(x => x === event.x)", "[1, 2, 3].some(x => x === event.x)");
    check("!(event.x !== workflow.context.orderId)", r#"event.x === "o-17""#);
    check("!(event.x < 1)", "!(event.x < 1)");
    check("workflow.context.missing?.a.includes(event.x)", "undefined");
    check("event.x + (1 / 0) + (0 / 0) - -0", "event.x + Infinity + NaN - -0");
    check("event.a && workflow.context.missing.trim()", "event.a && undefined.trim()");
    check("Math.max(event.x, workflow.context.amount)", "Math.max(event.x, 100)");
}

#[test]
fn known_operands_that_are_missing_are_noticed() {
    let check = |source: &str, expect: &[&str]| {
        let folded = parse(source).fold(&world().known()).unwrap();
        let shown: Vec<String> = folded.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(shown, expect, "{source}");
    };
    check("event.x === workflow.context.orderId", &[]);
    check(
        "event.x === workflow.context.order",
        &[
            "workflow.context.order is undefined in event.x === workflow.context.order at line 1, column 13",
        ],
    );
    check("event.x === (workflow.context.order ?? 1)", &[]);
    check("workflow.context.order === undefined || event.x", &[]);
    check(
        "event.x in workflow.context.ids",
        &[
            "`in workflow.context.ids` tests for a position; for membership write workflow.context.ids.includes(..) at line 1, column 9",
        ],
    );
}

#[test]
fn values_too_large_or_too_deep_to_keep_are_refused() {
    let deep = (0..1_000).fold(json!(1), |inner, _| json!([inner]));
    let world = World {
        context: json!({"deep": deep, "long": "x".repeat(1_000_000), "many": vec![1; 100_000]}),
        ..World::default()
    };
    let fold = |source: &str| parse(source).fold(&world.known());
    assert!(matches!(fold("event.x === workflow.context.deep"), Err(FoldError::TooDeep { .. })));
    assert!(matches!(fold("event.x === workflow.context.long"), Err(FoldError::TooLarge { .. })));
    assert!(matches!(
        fold("workflow.context.many.includes(event.x)"),
        Err(FoldError::TooLarge { .. })
    ));
    // What is only looked at need not be kept.
    let folded = fold(
        "event.x === workflow.context.long.length && workflow.context.deep[0][0].length === 1",
    );
    assert_eq!(folded.unwrap().to_string(), "event.x === 1000000 && true");
}

#[test]
fn largest_folded_filter_reads_back() {
    let text = "\u{1}".repeat(140_000);
    let deep = (0..13).fold(json!(1), |inner, _| json!({ "x": inner }));
    let world = World { context: json!({"text": text, "deep": deep}), ..World::default() };
    let source = format!(
        "{}event.x === [workflow.context.text, workflow.context.deep]{}",
        "!(".repeat(30),
        ")".repeat(30)
    );
    let folded = parse(&source).fold(&world.known()).unwrap();
    let printed = folded.to_string();
    assert!(printed.len() > 500_000);
    assert!(printed.parse::<Expr>().is_err(), "longer than somebody may write");
    let read = move || assert_eq!(Folded::parse(&printed).unwrap().expr(), folded.expr());
    std::thread::Builder::new().stack_size(2048 * 1024).spawn(read).unwrap().join().unwrap();
}
