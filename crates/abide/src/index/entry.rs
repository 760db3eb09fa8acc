//! What a subscription is found by.

use super::shape::{Shape, join};
use crate::expr::{Alternative, Expr, Folded, Key, Path};

/// One way to find a subscription: events whose probe of the shape is the key are candidates, and
/// match when the residue holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The pattern and the paths.
    pub shape: Shape,
    /// The keys at the paths as one text, bytewise equal to [`Shape::probe`] of an event exactly
    /// when all keys are equal.
    pub key: String,
    /// What is left to be evaluated.
    pub residue: Option<Expr>,
}

impl Entry {
    /// Whether every event of the pattern has to be evaluated, because no key tells them apart.
    #[must_use]
    pub fn is_scanned(&self) -> bool {
        self.shape.paths().is_empty() && self.residue.is_some()
    }
}

/// What fits an index row of every database: pattern, paths and keys together stay below 2 700
/// bytes, the least that one of them allows.
const LONGEST_KEY: usize = 2048;
const LONGEST_PATHS: usize = 2048;

/// The entries of a subscription: one per alternative of its filter, no shape and key twice. None
/// at all when the filter never matches.
#[must_use]
pub fn entries(pattern: &str, filter: Option<&Folded>) -> Vec<Entry> {
    let Some(filter) = filter else {
        return vec![Entry { shape: Shape::new(pattern, []), key: String::new(), residue: None }];
    };
    let mut entries: Vec<Entry> = Vec::new();
    for alternative in filter.keys() {
        let entry = entry(pattern, filter, alternative);
        match entries.iter_mut().find(|known| known.shape == entry.shape && known.key == entry.key)
        {
            Some(known) => merge(known, entry.residue.as_ref(), filter),
            None => entries.push(entry),
        }
    }
    unite(&mut entries, filter);
    entries
}

/// Where alternatives leave different things to be evaluated, one may err while another says that
/// the filter is false. Only the whole filter knows which of the two it is, so it is asked instead.
fn unite(entries: &mut [Entry], filter: &Folded) {
    let mut residues = entries.iter().filter_map(|entry| entry.residue.as_ref());
    let first = residues.next();
    if residues.all(|residue| Some(residue) == first) {
        return;
    }
    for residue in entries.iter_mut().filter_map(|entry| entry.residue.as_mut()) {
        *residue = filter.expr().clone();
    }
}

/// One lookup answers for both: either residue may hold, which the whole filter says as well.
fn merge(known: &mut Entry, residue: Option<&Expr>, filter: &Folded) {
    if known.residue.as_ref() != residue {
        let both = known.residue.is_some() && residue.is_some();
        known.residue = both.then(|| filter.expr().clone());
    }
}

fn entry(pattern: &str, filter: &Folded, alternative: Alternative) -> Entry {
    let mut equalities = alternative.equalities;
    equalities.sort_by(|(a, _), (b, _)| a.cmp(b));
    let demanded = equalities.len();
    let kept = fitting(equalities);
    // What does not fit is not looked up, so the filter is asked as a whole.
    let residue =
        if kept.len() < demanded { Some(filter.expr().clone()) } else { alternative.residue };
    Entry {
        key: join(kept.iter().map(|(_, key)| key)),
        shape: Shape::new(pattern, kept.into_iter().map(|(path, _)| path)),
        residue,
    }
}

/// Those that fit an index row, in their order.
fn fitting(equalities: Vec<(Path, Key)>) -> Vec<(Path, Key)> {
    let (mut key_bytes, mut path_bytes) = (0, 0);
    let mut kept = Vec::with_capacity(equalities.len());
    for (path, key) in equalities {
        // At worst every byte is escaped; one more separates, three more quote.
        let key_needs = key.as_str().len() * 2 + 1;
        let path_needs = path.to_string().len() * 2 + 3;
        if key_bytes + key_needs <= LONGEST_KEY && path_bytes + path_needs <= LONGEST_PATHS {
            key_bytes += key_needs;
            path_bytes += path_needs;
            kept.push((path, key));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(filter: &str, expect: &[&str]) {
        let folded = Folded::parse(filter).unwrap();
        let found: Vec<String> = entries("a.*", Some(&folded))
            .into_iter()
            .map(|entry| {
                assert_eq!(entry.shape.pattern(), "a.*");
                let residue = entry.residue.map_or("-".to_owned(), |residue| residue.to_string());
                format!("{} {} {residue}", entry.shape.paths_text(), entry.key)
            })
            .collect();
        assert_eq!(found, expect, "{filter}");
    }

    #[test]
    fn each_alternative_is_one_entry() {
        check(
            "event.b === 'x' && event.a === 1 && event.c > 2",
            &[r#"["event.a","event.b"] n:1|s:x event.c > 2"#],
        );
        check("event.a in [1, 2]", &[r#"["event.a"] n:1 -"#, r#"["event.a"] n:2 -"#]);
        check("event.a > event.b", &["[]  event.a > event.b"]);
        check("true", &["[]  -"]);
        check("false", &[]);
        check("event.a === 1 && event.a === 2", &[]);
    }

    #[test]
    fn alternatives_with_one_key_become_one_entry() {
        check("event.a === 1 && event.b || event.a === 1", &[r#"["event.a"] n:1 -"#]);
        check(
            "event.a === 1 && event.b || event.a === 1 && event.c",
            &[r#"["event.a"] n:1 event.a === 1 && event.b || event.a === 1 && event.c"#],
        );
    }

    #[test]
    fn alternatives_that_leave_different_things_ask_the_whole_filter() {
        let whole = "event.a === 1 && event.c || event.b === 2 && event.d";
        check(
            whole,
            &[&format!(r#"["event.a"] n:1 {whole}"#), &format!(r#"["event.b"] n:2 {whole}"#)],
        );
        check(
            "event.a === 1 || event.b === 2 && event.d",
            &[r#"["event.a"] n:1 -"#, r#"["event.b"] n:2 event.d"#],
        );
        check(
            "event.a in [1, 2] && event.d",
            &[r#"["event.a"] n:1 event.d"#, r#"["event.a"] n:2 event.d"#],
        );
    }

    #[test]
    fn without_a_filter_everything_of_the_pattern_is_wanted() {
        let all = entries("a.*", None);
        assert!(all.len() == 1 && all[0].residue.is_none() && !all[0].is_scanned(), "{all:?}");
    }

    #[test]
    fn what_does_not_fit_an_index_row_is_left_to_the_filter() {
        let long = "x".repeat(500);
        let filter: Vec<String> =
            (0..100).map(|n| format!("event.field{n} === '{long}'")).collect();
        let folded = Folded::parse(&filter.join(" && ")).unwrap();
        let found = entries("a.*", Some(&folded));
        assert_eq!(found.len(), 1);
        assert!(!found[0].shape.paths().is_empty());
        assert!(found[0].key.len() <= LONGEST_KEY);
        assert!(found[0].shape.paths_text().len() <= LONGEST_PATHS);
        assert_eq!(found[0].residue.as_ref(), Some(folded.expr()));

        let endless = Folded::parse(&format!("event.{} === 1", "n".repeat(20_000))).unwrap();
        let found = entries("a.*", Some(&endless));
        assert!(found.len() == 1 && found[0].is_scanned(), "{found:?}");
    }
}
