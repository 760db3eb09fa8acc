//! A real JavaScript engine judges what expressions mean.

use rquickjs::{Context, Ctx, Runtime};

use crate::generate::Generator;
use crate::world::{World, describe, parse, seed};

/// `skip` is set where a case leaves the shared subset.
const HELPERS: &str = r#"
var skip = false;
function $thing(x) { return typeof x === 'object' && x !== null; }
function $n(x) { if (typeof x === 'number' && isFinite(x) && Math.abs(x) > 2 ** 53) skip = true; return x; }
function $is(a, b) { if ($thing(a) && $thing(b)) skip = true; return a === b; }
function $like(a, b) { if ($thing(a) && $thing(b)) skip = true; return a == b; }
var $array = [];
function $items(x) { $array.push(Array.isArray(x)); return x; }
function $item(x) { if ($array[$array.length - 1] && $thing(x)) skip = true; return x; }
function $forget(x) { $array.pop(); return x; }
function $has(items, x) { if ($thing(x) && items.some($thing)) skip = true; return items.includes(x); }
function $at(o, k) { return o?.[k]; }
function $describe(x) {
    if (x === undefined) return 'undefined';
    if (x === null) return 'null';
    if (typeof x === 'number') return 'n:' + (Object.is(x, -0) ? '-0' : x);
    if (typeof x === 'string') return 's:' + x;
    if (Array.isArray(x)) return '[' + x.map($describe).join(',') + ']';
    if (typeof x === 'object') return '{' + Object.keys(x).map(k => k + '=' + $describe(x[k])).sort().join(',') + '}';
    return String(x);
}
function $run(f) {
    skip = false;
    $array = [];
    let result;
    try { result = $describe(f()); } catch (error) { result = '!'; }
    return skip ? 'skip' : result;
}
"#;

fn with_javascript(test: impl FnOnce(&Ctx<'_>)) {
    let runtime = Runtime::new().unwrap();
    let context = Context::full(&runtime).unwrap();
    context.with(|js| {
        js.eval::<(), _>(HELPERS).unwrap();
        test(&js);
    });
}

/// What JavaScript makes of it; `None` when it is not even an expression.
fn run(js: &Ctx<'_>, expression: &str) -> Option<String> {
    let result = js.eval::<String, _>(format!("$run(() => ({expression}))")).ok();
    if result.is_none() {
        js.catch();
    }
    result
}

fn enter(js: &Ctx<'_>, world: &World) {
    let World { event, context, input } = world;
    js.eval::<(), _>(format!(
        "var event = {event}; var workflow = {{id: 'w-1', context: {context}}}; var input = {input};"
    ))
    .unwrap();
}

#[test]
fn random_expressions_mean_what_javascript_means() {
    let seed = seed();
    let mut generate = Generator::new(seed);
    let mut judged = 0;
    with_javascript(|js| {
        for _ in 0..150 {
            let world = generate.world();
            enter(js, &world);
            for _ in 0..60 {
                let depth = generate.random.usize(1..5);
                let pair = generate.expression(depth);
                let expect =
                    run(js, &pair.js).unwrap_or_else(|| panic!("no JavaScript: {}", pair.js));
                if expect == "skip" || pair.ours.len() > 8 * 1024 {
                    continue;
                }
                judged += 1;
                let expr = parse(&pair.ours);
                let env = world.all();
                let ours = expr.eval(&env);
                assert_eq!(
                    describe(&ours),
                    expect,
                    "EXPR_SEED={seed}\nours: {}\njavascript: {}\nevent: {}\ncontext: {}\ninput: {}\n{ours:?}",
                    pair.ours,
                    pair.js,
                    world.event,
                    world.context,
                    world.input,
                );
            }
        }
    });
    assert!(judged > 4_000, "only {judged} cases were comparable, EXPR_SEED={seed}");
}

/// Text that would not close the parentheses that it is put into.
fn is_balanced(text: &str) -> bool {
    let mut open = 0;
    let step = |c: char| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open >= 0
    };
    text.chars().all(step) && open == 0
}

/// Mostly without parentheses, to be judged on precedence and on what is refused.
#[test]
fn random_operator_sequences_are_grouped_and_refused_as_in_javascript() {
    const OPERANDS: [&str; 12] =
        ["1", "2", "3", "0.5", "'a'", "'2'", "true", "false", "null", "undefined", "o.x", "o?.y"];
    const OPERATORS: [&str; 18] = [
        "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "===", "!==", "&&", "||", "??",
        "?", ":",
    ];
    let seed = seed();
    let mut generate = Generator::new(seed);
    let object = serde_json::json!({"x": 3, "y": "b"});
    let env = abide::expr::Env::new().with("o", &object);
    with_javascript(|js| {
        js.eval::<(), _>(format!("var o = {object};")).unwrap();
        for _ in 0..6_000 {
            let mut text = String::new();
            let power = generate.random.usize(..6);
            for place in 0..generate.random.usize(1..6) {
                if place > 0 {
                    let operator = if place == power { "**" } else { generate.choose(&OPERATORS) };
                    text += &format!(" {operator} ");
                }
                text += generate.choose(&["", "", "", "", "!", "-", "typeof ", "+", "("]);
                text += generate.choose(&OPERANDS);
                text += generate.choose(&["", "", "", "", "", ")"]);
            }
            if !is_balanced(&text) {
                continue;
            }
            let theirs = run(js, &text);
            let ours = text.parse::<abide::expr::Expr>();
            match (theirs, ours) {
                (None, Err(_)) => {}
                (Some(theirs), Ok(ours)) => {
                    let ours = describe(&ours.eval(&env));
                    assert_eq!(ours, theirs, "EXPR_SEED={seed} {text}");
                }
                (theirs, ours) => panic!("EXPR_SEED={seed} {text}: {theirs:?} but {ours:?}"),
            }
        }
    });
}

const AWKWARD: [&str; 40] = [
    "0",
    "-0",
    "1",
    "-1",
    "0.1",
    "1e21",
    "1e-7",
    "123456789.125",
    "5e-324",
    "NaN",
    "Infinity",
    "-Infinity",
    "''",
    "' '",
    "'0'",
    "'-0'",
    "'1'",
    "'01'",
    "'1e3'",
    "'0x1f'",
    "'Infinity'",
    "'1,2'",
    "'a'",
    "'\\u00e9'",
    "'\\ufeff1'",
    "true",
    "false",
    "null",
    "undefined",
    "[]",
    "[0]",
    "[1, 2]",
    "[null]",
    "[[1], [2, [3]]]",
    "[undefined, 1]",
    "{}",
    "{a: 1}",
    "'[object Object]'",
    "'.5'",
    "'5.'",
];
const FORMS: [&str; 24] = [
    "A + B",
    "A - B",
    "A * B",
    "A / B",
    "A % B",
    "A ** B",
    "A < B",
    "A <= B",
    "A > B",
    "A >= B",
    "A == B",
    "A != B",
    "A && B",
    "A || B",
    "A ?? B",
    "Math.max(A, B)",
    "Math.min(A, B)",
    "Math.pow(A, B)",
    "Math.round(A)",
    "Math.sign(A)",
    "-A",
    "String(A)",
    "Number(A)",
    "typeof A",
];

#[test]
fn conversions_agree_with_javascript_on_awkward_values() {
    let env = abide::expr::Env::new();
    with_javascript(|js| {
        for a in AWKWARD {
            for b in AWKWARD {
                for form in FORMS {
                    let things = |text: &str| text.starts_with(['[', '{']);
                    if form.contains('=') && things(a) && things(b) {
                        continue;
                    }
                    let text = form.replace('A', &format!("({a})")).replace('B', &format!("({b})"));
                    let theirs = run(js, &text).unwrap();
                    assert_eq!(describe(&parse(&text).eval(&env)), theirs, "{text}");
                }
            }
        }
    });
}

#[test]
fn dates_are_parsed_as_in_javascript() {
    let env = abide::expr::Env::new();
    with_javascript(|js| {
        for date in [
            "2024-02-29",
            "2024",
            "2024-02",
            "1969-12-31T23:59:59.999Z",
            "2000-01-01T00:00:00+05:30",
            "2024-02-29T10:20:30.5Z",
            "2024-02-29T10:20Z",
            "0001-01-01",
            "2024-12-31T24:00:00Z",
            "2024-13-01",
            "nonsense",
            "",
        ] {
            let text = format!("Date.parse('{date}')");
            assert_eq!(describe(&parse(&text).eval(&env)), run(js, &text).unwrap(), "{date}");
        }
    });
}
