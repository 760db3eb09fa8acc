//! Equality keys: what an index can look up.

use abide::expr::Folded;

use crate::world::parse;

/// Alternatives as `path=key, path=key | residue`.
fn alternatives(source: &str) -> Vec<String> {
    let folded = Folded::parse(source).unwrap();
    folded
        .keys()
        .into_iter()
        .map(|alternative| {
            let keys: Vec<String> =
                alternative.equalities.iter().map(|(path, key)| format!("{path}={key}")).collect();
            let residue = alternative.residue.map_or("-".to_owned(), |residue| residue.to_string());
            format!("{} | {residue}", keys.join(", "))
        })
        .collect()
}

#[test]
fn equalities_become_keys_and_the_rest_residue() {
    let check =
        |source: &str, expect: &[&str]| assert_eq!(alternatives(source), expect, "{source}");
    check("event.a === 'x'", &["event.a=s:x | -"]);
    check("'x' === event.a", &["event.a=s:x | -"]);
    check("event.a === 1 && event.b >= 2", &["event.a=n:1 | event.b >= 2"]);
    check(
        "event.a === 1.0 && event.b === true && event.c === null",
        &["event.a=n:1, event.b=b:true, event.c=z | -"],
    );
    check("event.a in ['x', 'y', 'x']", &["event.a=s:x | -", "event.a=s:y | -"]);
    check(
        "[1, 2].includes(event.a) && event.b === 3",
        &["event.a=n:1, event.b=n:3 | -", "event.a=n:2, event.b=n:3 | -"],
    );
    check(
        "event.a === 1 || event.b === 2 && event.c",
        &["event.a=n:1 | -", "event.b=n:2 | event.c"],
    );
    check("(event.a === 1 || event.a === 2) && event.a === 2", &["event.a=n:2 | -"]);
    check("event.a === 1 && event.a === 2", &[]);
    check("event.a === 1 && true", &["event.a=n:1 | -"]);
    check("event.a === 1 || false", &["event.a=n:1 | -"]);
    check("event.items.length === 2", &["event.items.length=n:2 | -"]);
}

#[test]
fn what_javascript_would_convert_is_never_a_key() {
    let scanned = |source: &str| {
        let folded = Folded::parse(source).unwrap();
        assert_eq!(alternatives(source), [format!(" | {folded}")]);
    };
    scanned("event.a == 'x'");
    scanned("event.a == null");
    scanned("event.a === undefined");
    scanned("event.a === NaN");
    scanned("event.a === [1]");
    scanned("event.a !== 1");
    scanned("event.a === event.b");
    scanned("event.a");
    scanned("event.a in [1, undefined]");
    scanned("event.a === 1 || event.b > 2");
    scanned("event.a.trim() === 'x'");
    scanned("event.items.some(x => x === 1)");
}

#[test]
fn decided_filters_match_always_or_never() {
    assert_eq!(alternatives("true"), [" | -"]);
    assert_eq!(alternatives("'text'"), [" | -"]);
    assert!(alternatives("false").is_empty());
    assert!(alternatives("undefined").is_empty());
    assert!(alternatives("event.a === 1 && false").is_empty());
}

#[test]
fn what_would_make_too_many_alternatives_is_residue() {
    let many = |count: usize| {
        let items: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        alternatives(&format!("event.a in [{}]", items.join(", ")))
    };
    assert_eq!(many(16).len(), 16);
    assert_eq!(many(17).len(), 1);
    let product =
        ["a", "b", "c", "d", "e"].map(|name| format!("(event.{name} === 1 || event.{name} === 2)"));
    assert_eq!(alternatives(&product[..4].join(" && ")).len(), 16);
    assert_eq!(alternatives(&product.join(" && ")).len(), 16);
    // What is scanned beside a key is residue, not a reason to scan everything.
    let items: Vec<String> = (0..17).map(|n| n.to_string()).collect();
    let mixed = alternatives(&format!("event.b === 1 && event.a in [{}]", items.join(", ")));
    assert!(mixed[0].starts_with("event.b=n:1 | "), "{mixed:?}");
    assert_eq!(
        alternatives("(event.a === 1 || event.b > 2) && event.c === 3"),
        ["event.c=n:3 | event.a === 1 || event.b > 2"]
    );
}

#[test]
fn alternative_after_one_that_may_err_asks_the_whole_filter() {
    assert_eq!(
        alternatives("event.a === 1 && event.b.trim() === '' || event.c === 2"),
        [
            r#"event.a=n:1 | event.b.trim() === """#,
            r#"event.c=n:2 | event.a === 1 && event.b.trim() === "" || event.c === 2"#,
        ]
    );
}

#[test]
fn keys_of_an_event_are_found_by_path() {
    let event = serde_json::json!({"a": {"b": [5, "x"]}, "n": 1.0});
    let env = abide::expr::Env::new().with("event", &event);
    let key = |path: &str| {
        let path: abide::expr::Path = path.parse().unwrap();
        path.key(&env).map(|key| key.to_string())
    };
    assert_eq!(key("event.a.b[1]").as_deref(), Some("s:x"));
    assert_eq!(key("event.a.b.length").as_deref(), Some("n:2"));
    assert_eq!(key("event.n").as_deref(), Some("n:1"));
    assert_eq!(key("event.a"), None);
    assert_eq!(key("event.nothing"), None);
    assert_eq!(key("input.nothing"), None);
    assert_eq!(parse("event.a.b[0] === 5").is_match(&env), Ok(true));
}
