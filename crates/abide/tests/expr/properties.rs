//! What holds for every expression.

use abide::expr::{Expr, Folded, Template};

use crate::generate::Generator;
use crate::world::{World, describe, parse, seed};

#[test]
fn every_expression_prints_to_text_that_reads_back_the_same() {
    let seed = seed();
    let mut generate = Generator::new(seed);
    for _ in 0..4_000 {
        let depth = generate.random.usize(..5);
        let expr = parse(&generate.expression(depth).ours);
        let printed = expr.to_string();
        assert_eq!(parse(&printed), expr, "EXPR_SEED={seed} {printed}");
    }
}

#[test]
fn folding_changes_no_value() {
    let seed = seed();
    let mut generate = Generator::new(seed);
    for _ in 0..200 {
        let World { context, input, .. } = generate.world();
        for _ in 0..20 {
            let depth = generate.random.usize(1..5);
            let expr = parse(&generate.expression(depth).ours);
            let mut world =
                World { context: context.clone(), input: input.clone(), ..World::default() };
            let folded = expr.fold(&world.known()).unwrap();
            let printed = folded.to_string();
            let stored = Folded::parse(&printed).unwrap();
            assert_eq!(stored.expr(), folded.expr(), "EXPR_SEED={seed} {expr}");
            assert!(
                folded
                    .expr()
                    .paths()
                    .iter()
                    .all(|path| path.root() == "event" || printed.contains("undefined")),
                "EXPR_SEED={seed} {printed}"
            );
            for _ in 0..4 {
                world.event = generate.world().event;
                let truth = expr.eval(&world.all()).map(|value| value.is_truthy());
                assert_eq!(expr.is_match(&world.all()), truth, "EXPR_SEED={seed} {expr}");
                let only_event = abide::expr::Env::new().with("event", &world.event);
                assert_eq!(
                    describe(&stored.expr().eval(&only_event)),
                    describe(&expr.eval(&world.all())),
                    "EXPR_SEED={seed} {expr}\nfolded {printed}\nevent {}\ncontext {context}\ninput {input}",
                    world.event,
                );
            }
        }
    }
}

/// Mostly a field that is there.
fn field(generate: &mut Generator) -> String {
    match generate.random.u8(..8) {
        0 => generate.path().ours,
        _ => format!("event.payload.{}", generate.choose(&["a", "b", "c", "name"])),
    }
}

/// A filter as people write them, so that keys are likely.
fn filter(generate: &mut Generator, depth: usize) -> String {
    match generate.random.u8(..12) {
        0..=3 if depth > 0 => {
            let [a, b] = [(); 2].map(|()| filter(generate, depth - 1));
            format!("({a} && {b})")
        }
        4..=5 if depth > 0 => {
            let [a, b] = [(); 2].map(|()| filter(generate, depth - 1));
            format!("({a} || {b})")
        }
        6 => format!("{} in ['a', 'paid', 2, null]", field(generate)),
        7 if depth > 0 => generate.expression(2).ours,
        8 => {
            let inner = filter(generate, 0);
            format!("!({inner})")
        }
        _ => {
            let path = field(generate);
            let sign = generate.choose(&["===", "===", "===", "!==", ">="]);
            let constant = generate.choose(&[
                "'a'",
                "'paid'",
                "2",
                "10",
                "true",
                "null",
                "workflow.context.a",
                "input.b",
            ]);
            format!("{path} {sign} {constant}")
        }
    }
}

#[test]
fn keys_and_residue_together_are_the_filter() {
    let seed = seed();
    let mut generate = Generator::new(seed);
    let (mut indexed, mut matched) = (0, 0);
    for _ in 0..3_000 {
        let mut world = generate.world();
        let source = filter(&mut generate, 3);
        let expr = parse(&source);
        let folded = expr.fold(&world.known()).unwrap();
        let alternatives = folded.keys();
        let scanned = alternatives.iter().any(|alternative| alternative.equalities.is_empty());
        assert!(!scanned || alternatives.len() == 1);
        for _ in 0..6 {
            world.event = generate.world().event;
            let env = abide::expr::Env::new().with("event", &world.event);
            let found = alternatives.iter().any(|alternative| {
                alternative
                    .equalities
                    .iter()
                    .all(|(path, key)| path.key(&env).as_ref() == Some(key))
                    && alternative
                        .residue
                        .as_ref()
                        .is_none_or(|residue| residue.is_match(&env) == Ok(true))
            });
            let expect = expr.is_match(&world.all()) == Ok(true);
            assert_eq!(
                found, expect,
                "EXPR_SEED={seed} {source}\n{alternatives:?}\n{}",
                world.event
            );
            indexed += u32::from(!scanned);
            matched += u32::from(!scanned && found);
        }
    }
    assert!(indexed > 1_000 && matched > 100, "{indexed} {matched} EXPR_SEED={seed}");
}

const PIECES: [&str; 46] = [
    "event",
    ".",
    "?.",
    "payload",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "\\u",
    "1",
    "0x",
    "1e",
    "_",
    "n",
    "===",
    "==",
    "=",
    "!",
    "&&",
    "||",
    "??",
    "?",
    ":",
    "+",
    "-",
    "*",
    "**",
    "in",
    "typeof ",
    " ",
    "\n",
    "some",
    "x",
    "=>",
    ",",
    "Math",
    "é",
    "😀",
    "${",
    "\u{0}",
    "undefined",
];

#[test]
fn random_text_never_panics() {
    let seed = seed();
    let mut generate = Generator::new(seed);
    let world = generate.world();
    let env = world.all();
    for _ in 0..40_000 {
        let mut text = String::new();
        for _ in 0..generate.random.usize(..14) {
            text += generate.choose(&PIECES);
        }
        if let Ok(expr) = text.parse::<Expr>() {
            let _ = expr.eval(&env);
            assert_eq!(
                expr.to_string().parse::<Expr>().as_ref(),
                Ok(&expr),
                "EXPR_SEED={seed} {text:?}"
            );
            let _ = expr.fold(&world.known()).map(|folded| folded.keys());
            let _ = expr.explain(&env);
        }
        if let Ok(template) = Template::parse(&text) {
            let _ = template.render(&env);
        }
        let bytes: Vec<u8> = (0..16).map(|_| generate.random.u8(..)).collect();
        let _ = String::from_utf8_lossy(&bytes).parse::<Expr>();
    }
}

/// Texts that are almost right: one character of a good one is changed.
#[test]
fn damaged_expressions_never_panic() {
    let seed = seed();
    let mut generate = Generator::new(seed);
    for _ in 0..3_000 {
        let mut text: Vec<char> = generate.expression(3).ours.chars().collect();
        let place = generate.random.usize(..text.len());
        match generate.random.u8(..3) {
            0 => drop(text.remove(place)),
            1 => text.truncate(place),
            _ => {
                text[place] = generate
                    .choose(&["(", "'", ".", "?", "\\", "é", "=", "0"])
                    .chars()
                    .next()
                    .unwrap()
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(expr) = text.parse::<Expr>() {
            assert_eq!(
                expr.to_string().parse::<Expr>().as_ref(),
                Ok(&expr),
                "EXPR_SEED={seed} {text:?}"
            );
        }
    }
}
