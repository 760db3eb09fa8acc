//! The index gives what asking every subscription would give.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod generate;

use std::collections::BTreeMap;

use abide::expr::{Env, Folded};
use abide::index::{Entry, Finding, Index, Registered, entries};
use abide::pattern;
use serde_json::{Value as Json, json};

use generate::Generator;

/// A subscription as it was registered.
struct Subscription {
    pattern: String,
    filter: Option<Folded>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Match,
    NearMiss,
    /// Of several errors, which one is told is not said.
    Failed,
}

fn ask(index: &Index, event: &Json) -> BTreeMap<i64, Outcome> {
    let mut found = BTreeMap::new();
    let scope = Env::new().with("event", event);
    index.matching(event["type"].as_str().unwrap(), &scope, |id, finding| {
        let outcome = match finding {
            Finding::Match => Outcome::Match,
            Finding::NearMiss => Outcome::NearMiss,
            Finding::Failed(_) => Outcome::Failed,
        };
        assert!(found.insert(id, outcome).is_none(), "{id} was given twice");
    });
    found
}

/// Compares with the filter itself, which knows nothing of keys, and with its entries one by one,
/// which is how a store goes about it.
fn check(seed: u64, index: &Index, subscriptions: &BTreeMap<i64, Subscription>, event: &Json) {
    let found = ask(index, event);
    let scope = Env::new().with("event", event);
    let event_type = event["type"].as_str().unwrap();
    for (id, Subscription { pattern, filter }) in subscriptions {
        let covered = pattern::matches(pattern, event_type);
        let holds = filter.as_ref().map_or(Ok(true), |filter| filter.expr().is_match(&scope));
        let outcome = found.get(id);
        let told = || {
            let filter = filter.as_ref().map(ToString::to_string);
            format!("INDEX_SEED={seed} {pattern} {filter:?} on {event}: {outcome:?} but {holds:?}")
        };
        let wanted = covered && holds == Ok(true);
        assert_eq!(outcome == Some(&Outcome::Match), wanted, "{}", told());
        match outcome {
            Some(Outcome::Failed) => assert!(holds.is_err(), "{}", told()),
            Some(Outcome::NearMiss) => assert_eq!(holds, Ok(false), "{}", told()),
            Some(Outcome::Match) | None => {}
        }
        let candidates = entries(pattern, filter.as_ref())
            .into_iter()
            .filter(|entry| covered && entry.shape.probe(&scope).as_ref() == Some(&entry.key));
        assert_eq!(outcome, best(candidates, &scope).as_ref(), "{}", told());
    }
    assert!(found.keys().all(|id| subscriptions.contains_key(id)));
}

/// What a store would find from rows.
fn best(candidates: impl Iterator<Item = Entry>, scope: &Env<'_>) -> Option<Outcome> {
    let mut best = None;
    for entry in candidates {
        let keyed = !entry.shape.paths().is_empty();
        let residue = entry.residue.as_ref();
        match residue.map_or(Ok(true), |residue| residue.is_match(scope)) {
            Ok(true) => return Some(Outcome::Match),
            Ok(false) if keyed => best = best.or(Some(Outcome::NearMiss)),
            Ok(false) => {}
            Err(_) => best = Some(Outcome::Failed),
        }
    }
    best
}

fn seed() -> u64 {
    std::env::var("INDEX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_240_229)
}

#[test]
fn random_subscriptions_are_found_as_if_each_were_asked() {
    let seed = seed();
    let mut generate = Generator::new(seed);
    let mut outcomes = [0; 4];
    for _ in 0..60 {
        let mut index = Index::default();
        let mut subscriptions = BTreeMap::new();
        let mut scanned = BTreeMap::new();
        for round in 0..120 {
            let id = generate.random.i64(0..80);
            if generate.random.u8(..4) == 0 {
                assert_eq!(index.remove(id), subscriptions.remove(&id).is_some());
                scanned.remove(&id);
            } else {
                let subscription =
                    Subscription { pattern: generate.pattern(), filter: generate.filter() };
                let how = index.insert(id, &subscription.pattern, subscription.filter.as_ref());
                scanned.insert(id, how == Registered::Scanned);
                subscriptions.insert(id, subscription);
            }
            assert_eq!(index.len(), subscriptions.len());
            assert_eq!(index.scanned(), scanned.values().filter(|scanned| **scanned).count());
            if round % 4 == 0 {
                let event = generate.event();
                check(seed, &index, &subscriptions, &event);
                let found = ask(&index, &event);
                outcomes[3] += subscriptions.len() - found.len();
                for outcome in found.values() {
                    outcomes[match outcome {
                        Outcome::Match => 0,
                        Outcome::NearMiss => 1,
                        Outcome::Failed => 2,
                    }] += 1;
                }
            }
        }
        for id in subscriptions.keys() {
            assert!(index.remove(*id));
        }
        assert!(index.is_empty() && index.shapes() == 0 && index.scanned() == 0);
    }
    // A run that never sees one of them proves nothing about it.
    assert!(outcomes.iter().all(|count| *count > 100), "{outcomes:?}");
}

fn folded(filter: &str) -> Folded {
    Folded::parse(filter).unwrap()
}

#[test]
fn registration_tells_how_a_subscription_is_found() {
    let mut index = Index::default();
    let mut how = |filter: Option<&str>| index.insert(1, "a", filter.map(folded).as_ref());
    assert_eq!(how(None), Registered::Indexed);
    assert_eq!(how(Some("true")), Registered::Indexed);
    assert_eq!(how(Some("false")), Registered::Indexed);
    assert_eq!(how(Some("event.a === 1 && event.b > 2")), Registered::Indexed);
    assert_eq!(how(Some("event.a == 1")), Registered::Scanned);
    assert_eq!(how(Some("event.a === 1 || event.b > 2")), Registered::Scanned);
    assert_eq!((index.len(), index.scanned()), (1, 1));
    assert!(index.remove(1) && !index.remove(1));
    assert_eq!((index.len(), index.scanned()), (0, 0));
}

#[test]
fn unusual_values_are_found_by_what_they_equal() {
    let mut index = Index::default();
    let long = "x".repeat(600);
    let filters = [
        "event.v === 1".to_owned(),
        "event.v === '1'".to_owned(),
        "event.v === 18446744073709551615".to_owned(),
        "event.v === 18446744073709551614".to_owned(),
        "event.v === -0".to_owned(),
        "event.v === null".to_owned(),
        r"event.v === '\u0000'".to_owned(),
        format!("event.v === '{long}'"),
        "event.v === undefined".to_owned(),
        "event.v === 'a|s:b'".to_owned(),
    ];
    for (id, filter) in (0..).zip(&filters) {
        index.insert(id, "t", Some(&folded(filter)));
    }
    let check = |value: &str, expect: &[i64]| {
        let event: Json =
            serde_json::from_str(&format!(r#"{{"type": "t", "v": {value}}}"#)).unwrap();
        let found = ask(&index, &event);
        let matched: Vec<i64> = found
            .into_iter()
            .filter(|(_, found)| *found == Outcome::Match)
            .map(|(id, _)| id)
            .collect();
        assert_eq!(matched, expect, "{value}");
    };
    check("1", &[0]);
    check("1.0", &[0]);
    check("10e-1", &[0]);
    check("\"1\"", &[1]);
    check("18446744073709551615", &[2]);
    check("18446744073709551614", &[3]);
    check("0", &[4]);
    check("-0.0", &[4]);
    check("null", &[5]);
    check(r#""\u0000""#, &[6]);
    check(&format!("\"{long}\""), &[7]);
    check("[1]", &[]);
    check("\"a|s:b\"", &[9]);
    assert_eq!(ask(&index, &json!({"type": "t"})).get(&8), Some(&Outcome::Match));
}

#[test]
fn a_subscription_that_matches_in_several_ways_is_given_once() {
    let mut index = Index::default();
    index.insert(1, "t", Some(&folded("event.a === 1 && event.c > 5 || event.b === 2")));
    assert_eq!(ask(&index, &json!({"type": "t", "a": 1, "b": 2, "c": 1}))[&1], Outcome::Match);
    assert_eq!(ask(&index, &json!({"type": "t", "a": 1, "b": 2, "c": 9}))[&1], Outcome::Match);
    assert_eq!(ask(&index, &json!({"type": "t", "a": 1, "b": 3, "c": 1}))[&1], Outcome::NearMiss);
    assert!(ask(&index, &json!({"type": "t", "a": 2, "b": 3})).is_empty());
}

#[test]
fn an_alternative_that_errs_is_no_failure_of_a_filter_that_is_false() {
    let mut index = Index::default();
    let filter = "(event.a === 1 || event.c === 1 && event.a.includes('x')) && event.b > 5";
    index.insert(1, "t", Some(&folded(filter)));
    assert_eq!(ask(&index, &json!({"type": "t", "a": 1, "b": 1, "c": 1}))[&1], Outcome::NearMiss);
    assert_eq!(ask(&index, &json!({"type": "t", "a": 2, "b": 1, "c": 1}))[&1], Outcome::Failed);
}

#[test]
fn many_subscriptions_with_one_key_come_and_go() {
    let mut index = Index::default();
    let (paid, rich) = (folded("event.s === 'paid'"), folded("event.s === 'paid' && event.n > 5"));
    for id in 0..20_000 {
        index.insert(id, "t", Some(if id % 2 == 0 { &paid } else { &rich }));
    }
    let event = |n: u32| json!({"type": "t", "s": "paid", "n": n});
    let matches = |index: &Index, n: u32| {
        ask(index, &event(n)).values().filter(|found| **found == Outcome::Match).count()
    };
    assert_eq!((matches(&index, 9), matches(&index, 1)), (20_000, 10_000));
    for id in (0..20_000).step_by(2) {
        assert!(index.remove(id));
    }
    assert_eq!((matches(&index, 9), matches(&index, 1)), (10_000, 0));
}

#[test]
fn a_hundred_thousand_waits_take_less_than_300_bytes_each() {
    let mut index = Index::default();
    let count: i64 = 100_000;
    for id in 0..count {
        let filter =
            format!(r#"event.payload.orderId === "o-{id}" && event.payload.amount >= 100"#);
        index.insert(id, "payment.*", Some(&folded(&filter)));
    }
    let each = index.bytes() / usize::try_from(count).unwrap();
    assert!((40..300).contains(&each), "{each} bytes each");
    assert_eq!(index.shapes(), 1);
}
