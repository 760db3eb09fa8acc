//! The kinds of subscriptions: what has to be equal, without the values.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::expr::{Key, Path, Scope};

/// A pattern, and the paths whose keys have to be equal. Cloning it copies pointers.
///
/// It is stored as two columns, [`Shape::pattern`] and [`Shape::paths_text`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    pattern: Arc<str>,
    /// Sorted, each once, so that clauses in another order make the same shape.
    paths: Arc<[Path]>,
}

impl Shape {
    /// A shape of these paths, in whatever order they come.
    #[must_use]
    pub fn new(pattern: &str, paths: impl IntoIterator<Item = Path>) -> Self {
        let mut paths: Vec<Path> = paths.into_iter().collect();
        paths.sort();
        paths.dedup();
        Self { pattern: pattern.into(), paths: paths.into() }
    }

    /// Reads a stored shape back.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the paths are not a JSON array of paths.
    pub fn from_stored(pattern: &str, paths: &str) -> Result<Self> {
        let corrupt = |reason: String| Error::corrupt(format!("paths of a shape: {reason}"));
        let texts: Vec<String> =
            serde_json::from_str(paths).map_err(|refused| corrupt(refused.to_string()))?;
        let paths: Result<Vec<Path>> = texts
            .iter()
            .map(|text| text.parse().map_err(|refused| corrupt(format!("{refused}"))))
            .collect();
        Ok(Self::new(pattern, paths?))
    }

    /// Which event types it covers.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The paths, sorted. None at all: every event of the pattern is a candidate.
    #[must_use]
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The paths as text to be stored: a JSON array, the same for equal shapes.
    #[must_use]
    pub fn paths_text(&self) -> String {
        let paths = self.paths.iter().map(|path| path.to_string().into()).collect();
        serde_json::Value::Array(paths).to_string()
    }

    /// The key text of an event, to be looked up among those of entries; `None` when a path leads
    /// to what has no key, so that no entry of this shape can want the event.
    #[must_use]
    pub fn probe(&self, event: &impl Scope) -> Option<String> {
        let mut text = String::new();
        self.probe_into(event, &mut text).then_some(text)
    }

    /// As [`Shape::probe`], into a text that is used again for the next shape.
    pub(super) fn probe_into(&self, event: &impl Scope, text: &mut String) -> bool {
        text.clear();
        for (place, path) in self.paths.iter().enumerate() {
            let Some(key) = path.key(event) else { return false };
            if place > 0 {
                text.push(SEPARATOR);
            }
            push_escaped(text, &key);
        }
        true
    }
}

/// Between the keys of several paths. Not a NUL, which not every database can store.
const SEPARATOR: char = '|';
const ESCAPE: char = '\\';

/// Joins keys, in the order of the shape's paths. Different keys give different texts, because a
/// separator inside a key is escaped.
pub(super) fn join<'k>(keys: impl IntoIterator<Item = &'k Key>) -> String {
    let mut text = String::new();
    for (place, key) in keys.into_iter().enumerate() {
        if place > 0 {
            text.push(SEPARATOR);
        }
        push_escaped(&mut text, key);
    }
    text
}

fn push_escaped(text: &mut String, key: &Key) {
    let mut rest = key.as_str();
    while let Some(place) = rest.find([SEPARATOR, ESCAPE]) {
        let (plain, special) = rest.split_at(place);
        text.push_str(plain);
        text.push(ESCAPE);
        // Both are one byte long.
        let (special, after) = special.split_at(1);
        text.push_str(special);
        rest = after;
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::expr::{Env, key_of};

    fn shape(paths: &[&str]) -> Shape {
        Shape::new("a.*", paths.iter().map(|path| path.parse().unwrap()))
    }

    fn probe(shape: &Shape, event: &serde_json::Value) -> Option<String> {
        shape.probe(&Env::new().with("event", event))
    }

    #[test]
    fn paths_are_sorted_and_each_once() {
        let one = shape(&["event.b", "event.a", "event['b']"]);
        assert_eq!(one, shape(&["event.a", "event.b"]));
        assert_eq!(one.paths_text(), r#"["event.a","event.b"]"#);
    }

    #[test]
    fn a_stored_shape_reads_back_equal() {
        for paths in [&[][..], &["event.a"], &[r#"event["a\"\n|"].b[0]"#, "event.é"]] {
            let one = shape(paths);
            assert_eq!(Shape::from_stored(one.pattern(), &one.paths_text()).unwrap(), one);
        }
        for text in ["", "{}", "[1]", r#"["1 + 1"]"#, r#"["event."]"#] {
            assert!(matches!(Shape::from_stored("a", text), Err(Error::Corrupt { .. })), "{text}");
        }
    }

    #[test]
    fn an_event_has_a_probe_when_every_path_has_a_key() {
        let both = shape(&["event.a", "event.b"]);
        assert_eq!(probe(&both, &json!({"a": "x", "b": 1.0})).as_deref(), Some("s:x|n:1"));
        assert_eq!(probe(&both, &json!({"a": "x"})), None);
        assert_eq!(probe(&both, &json!({"a": "x", "b": [1]})), None);
        assert_eq!(probe(&both, &json!({"a": "\0", "b": 1})), None);
        assert_eq!(probe(&both, &json!({"a": "x".repeat(513), "b": 1})), None);
        assert_eq!(probe(&shape(&[]), &json!({})).as_deref(), Some(""));
        assert_eq!(
            probe(&both, &json!({"a": u64::MAX, "b": null})).as_deref(),
            Some("n:18446744073709551615|z")
        );
    }

    #[test]
    fn joined_keys_are_equal_only_when_all_keys_are() {
        let words = ["", "|", "\\", "a", "a|s:b", "a\\|s:b", "\\|", "||", "é|\\"];
        let mut random = fastrand::Rng::with_seed(3);
        let mut word = || key_of(&words[random.usize(..words.len())].into()).unwrap();
        for _ in 0..20_000 {
            let (one, other) = ([word(), word(), word()], [word(), word(), word()]);
            assert_eq!(join(&one) == join(&other), one == other, "{one:?} {other:?}");
        }
    }
}
