//! What is refused before there is data, and what is only noticed.

use abide::expr::{Expr, Roots, Shape};

fn refuse(source: &str, expect: &str) {
    let error = source.parse::<Expr>().map(|expr| expr.to_string());
    assert_eq!(error.map_err(|error| error.to_string()), Err(expect.to_owned()), "{source}");
}

#[test]
fn syntax_errors_have_a_position_and_a_hint() {
    refuse("event.a = 1", "unexpected `=` at line 1, column 9; write === to compare");
    refuse("event.a & event.b", "unexpected `&` at line 1, column 9; write && for and");
    refuse("event.a and event.b", "unexpected `and` at line 1, column 9; write &&");
    refuse("event.a ===", "the expression ends too early at line 1, column 12; expected a value");
    refuse("event.a ===\n  'x", "a string has no end at line 2, column 3; close it with '");
    refuse("(event.a", "the expression ends too early at line 1, column 9; expected `)`");
    refuse("event.a)", "unexpected `)` at line 1, column 8; expected an operator");
    refuse("event.", "the expression ends too early at line 1, column 7; expected a field name");
    refuse("", "the expression is empty at line 1, column 1");
    refuse("event.a ~ 1", "unexpected `~` at line 1, column 9; there are no bit operations");
    refuse("event.a # 1", "unexpected character '#' at line 1, column 9");
    refuse(
        "x => x",
        "an arrow function stands alone at line 1, column 3; it can only be the argument of some(..) or every(..)",
    );
    refuse(
        "a ?? b || c",
        "`??` and `||` are mixed at line 1, column 8; say by parentheses which comes first",
    );
    refuse(
        "-2 ** 2",
        "`**` after a sign is ambiguous at line 1, column 4; write (-x) ** y or -(x ** y)",
    );
    refuse(
        "10n",
        "there is no BigInt at line 1, column 1; write the integer without n, it is exact",
    );
    refuse(
        "010",
        "a number starts with 0 at line 1, column 1; write 0o17 for octal, else drop the 0",
    );
    refuse(
        "`a`",
        "unexpected ``` at line 1, column 1; write 'text' + value instead of a template literal",
    );
    refuse("new Date()", "unexpected `new` at line 1, column 1; nothing can be created");
}

#[test]
fn unknown_functions_and_bad_literals_are_refused_with_a_hint() {
    refuse(
        "event.x.contains('a')",
        "there is no method contains at line 1, column 9; did you mean includes?",
    );
    refuse(
        "event.x.startWith('a')",
        "there is no method startWith at line 1, column 9; did you mean startsWith?",
    );
    refuse(
        "event.x.length()",
        "there is no method length at line 1, column 9; length is not called; write .length",
    );
    refuse("event.x.includes()", "includes takes one argument at line 1, column 9");
    refuse("event.x.trim(1)", "trim takes no arguments at line 1, column 9");
    refuse(
        "event.x.some(1)",
        "unexpected number 1 at line 1, column 14; write an arrow function: some(x => ..)",
    );
    refuse(
        "event.x.some(x => {})",
        "the body of an arrow function is a block at line 1, column 19; write an expression after =>",
    );
    refuse(
        "Math.flor(1)",
        "there is no function Math.flor at line 1, column 1; did you mean Math.floor?",
    );
    refuse(
        "Date.now()",
        "there is no function Date.now at line 1, column 1; an expression has no clock; there is Date.parse",
    );
    refuse("Math.abs()", "Math.abs takes 1 argument at line 1, column 1");
    refuse(
        "alert(1)",
        "there is no function alert at line 1, column 1; there are Number, String, Boolean, Date.parse, Math.abs, Math.ceil, Math.floor, Math.round, Math.max, Math.min, Math.sign, Math.trunc, Math.sqrt, Math.pow",
    );
    refuse(
        r"'\ud800'",
        "not a Unicode character at line 1, column 2; half a surrogate pair is no text",
    );
    refuse(
        r"'\u{110000}'",
        "not a Unicode character at line 1, column 2; half a surrogate pair is no text",
    );
    refuse("1_000_", "misplaced `_` in a number at line 1, column 1; write _ between digits only");
    refuse(
        "3px",
        "a number runs into a name at line 1, column 1; put a space or an operator between",
    );
}

#[test]
fn unknown_roots_are_refused_and_odd_fields_noticed() {
    let roots = Roots::filter();
    let refused = |source: &str, expect: &str| {
        let error = source.parse::<Expr>().unwrap().check(&roots).unwrap_err().to_string();
        assert_eq!(error, expect);
    };
    refused("1 === evnt.x", "evnt is not known here at line 1, column 7; did you mean event?");
    refused(
        "payload.x",
        "payload is not known here at line 1, column 1; there are event, input, steps, workflow",
    );

    let noticed = |source: &str, expect: &[&str]| {
        let warnings = source.parse::<Expr>().unwrap().check(&roots).unwrap();
        let shown: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expect, "{source}");
    };
    noticed("event.payload.x === workflow.context.y && steps.a.output.b === input.c", &[]);
    noticed(
        "event.paylod.x === 1",
        &["event has no field paylod; did you mean payload? at line 1, column 1"],
    );
    noticed(
        "steps.a.outptu.b",
        &["steps.a has no field outptu; did you mean output? at line 1, column 1"],
    );
    noticed(
        "event.payload.x == 'a'",
        &["`==` converts its operands and is never indexed; write === at line 1, column 17"],
    );
    noticed("event.payload.x == null", &[]);
    noticed(
        "1 < event.payload.x < 3",
        &["a comparison is compared again; join two comparisons by && at line 1, column 21"],
    );
    let more = roots.clone().with("secret", Shape::Any);
    assert_eq!("secret.TOKEN".parse::<Expr>().unwrap().check(&more), Ok(vec![]));
}

#[test]
fn deep_and_huge_texts_are_refused_on_a_small_stack() {
    let refuse_all = || {
        for source in [
            "(".repeat(9_000),
            "[".repeat(9_000),
            "!".repeat(9_000),
            "- ".repeat(8_000),
            "{a:".repeat(5_000),
            "a.".repeat(8_000) + "a",
            "a?.".repeat(5_000) + "a",
            "a[".repeat(8_000),
            "a ? ".repeat(4_000),
            "a ? b : ".repeat(2_000) + "c",
            "1 + ".repeat(4_000) + "1",
            "2 ** ".repeat(3_000) + "1",
            "a || b && ".repeat(10).repeat(100) + &"(a || b && c == d < e + f * g ** ".repeat(200),
            "x.some(x => ".repeat(1_000),
            "''".to_owned() + &".trim()".repeat(2_000),
            format!("{}1{}", "[".repeat(65), "]".repeat(65)),
            "a".repeat(16 * 1024 + 1),
        ] {
            assert!(source.parse::<Expr>().is_err(), "{}", &source[..20]);
        }
        let wide = "a && ".repeat(3_000) + "a";
        let expr: Expr = wide.parse().unwrap();
        assert_eq!(expr.to_string().parse::<Expr>().unwrap(), expr);
        let deepest = format!("{}1{}", "!(a + ".repeat(20), ")".repeat(20));
        assert!(deepest.parse::<Expr>().is_ok());
    };
    std::thread::Builder::new().stack_size(2048 * 1024).spawn(refuse_all).unwrap().join().unwrap();
}
