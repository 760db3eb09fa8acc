//! Patterns by what they cover.

use std::collections::HashMap;
use std::mem::size_of;

use super::arena::Arena;

/// Values filed under patterns; asked with an event type, it gives those of every pattern that
/// covers the type.
///
/// A pattern without wildcards is one lookup. The others are a trie of segments, walked with all
/// branches at once: the cost is at most segments × branches in reach, whatever the patterns, and
/// never depends on how many patterns there are elsewhere.
#[derive(Debug)]
pub struct Patterns<T> {
    exact: HashMap<Box<str>, Vec<T>>,
    nodes: Arena<Node<T>>,
    root: u32,
}

#[derive(Debug)]
struct Node<T> {
    /// Reached through `**`, which may take one segment more.
    repeats: bool,
    literal: HashMap<Box<str>, u32>,
    one: Option<u32>,
    many: Option<u32>,
    /// Of the pattern that ends here.
    values: Vec<T>,
}

impl<T> Node<T> {
    fn new(repeats: bool) -> Self {
        Self { repeats, literal: HashMap::new(), one: None, many: None, values: Vec::new() }
    }

    fn child(&self, segment: &str) -> Option<u32> {
        match segment {
            "*" => self.one,
            "**" => self.many,
            literal => self.literal.get(literal).copied(),
        }
    }

    fn attach(&mut self, segment: &str, child: Option<u32>) {
        match (segment, child) {
            ("*", child) => self.one = child,
            ("**", child) => self.many = child,
            (literal, Some(child)) => drop(self.literal.insert(literal.into(), child)),
            (literal, None) => drop(self.literal.remove(literal)),
        }
    }

    fn is_bare(&self) -> bool {
        let leaf = self.literal.is_empty() && self.one.is_none() && self.many.is_none();
        leaf && self.values.is_empty()
    }
}

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        let mut nodes = Arena::default();
        let root = nodes.insert(Node::new(false));
        Self { exact: HashMap::new(), nodes, root }
    }
}

/// Only whole segments are wildcards: `a*` is a name.
fn is_exact(pattern: &str) -> bool {
    !pattern.contains('*') || pattern.split('.').all(|segment| segment != "*" && segment != "**")
}

impl<T: Copy + PartialEq> Patterns<T> {
    /// Files a value under a pattern. The same value again is filed twice.
    pub fn insert(&mut self, pattern: &str, value: T) {
        if is_exact(pattern) {
            match self.exact.get_mut(pattern) {
                Some(values) => values.push(value),
                None => drop(self.exact.insert(pattern.into(), vec![value])),
            }
            return;
        }
        let mut at = self.root;
        for segment in pattern.split('.') {
            at = match self.nodes.at(at).child(segment) {
                Some(child) => child,
                None => {
                    let child = self.nodes.insert(Node::new(segment == "**"));
                    self.nodes.at_mut(at).attach(segment, Some(child));
                    child
                }
            };
        }
        self.nodes.at_mut(at).values.push(value);
    }

    /// Takes a value out; `false` when it was not there. A pattern without values costs nothing.
    pub fn remove(&mut self, pattern: &str, value: T) -> bool {
        if is_exact(pattern) {
            let Some(values) = self.exact.get_mut(pattern) else { return false };
            let taken = take(values, &value);
            if values.is_empty() {
                self.exact.remove(pattern);
            }
            return taken;
        }
        let mut at = self.root;
        let mut way = Vec::new();
        for segment in pattern.split('.') {
            let Some(child) = self.nodes.at(at).child(segment) else { return false };
            way.push((at, segment));
            at = child;
        }
        let taken = take(&mut self.nodes.at_mut(at).values, &value);
        while let Some((parent, segment)) = way.pop()
            && self.nodes.at(at).is_bare()
        {
            self.nodes.at_mut(parent).attach(segment, None);
            self.nodes.remove(at, Node::new(false));
            at = parent;
        }
        taken
    }

    /// Gives the values of every pattern that covers an event type.
    pub fn covering(&self, event_type: &str, mut found: impl FnMut(T)) {
        if let Some(values) = self.exact.get(event_type) {
            values.iter().copied().for_each(&mut found);
        }
        if self.nodes.at(self.root).is_bare() {
            return;
        }
        let (mut active, mut next) = (vec![self.root], Vec::new());
        for segment in event_type.split('.') {
            for &at in &active {
                let node = self.nodes.at(at);
                next.extend(node.repeats.then_some(at));
                next.extend(node.literal.get(segment));
                next.extend(node.one);
                next.extend(node.many);
            }
            // Many `**` lead to the same places in many ways; each counts once.
            next.sort_unstable();
            next.dedup();
            std::mem::swap(&mut active, &mut next);
            next.clear();
        }
        for at in active {
            self.nodes.at(at).values.iter().copied().for_each(&mut found);
        }
    }

    /// About how much memory it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // A map's bucket holds the pair and one byte; names and values are allocations of their own.
        let bucket = size_of::<(Box<str>, Vec<T>)>() + 1;
        let exact: usize = self.exact.iter().map(|(name, values)| allocated(name, values)).sum();
        self.exact.capacity() * bucket * 8 / 7 + exact + self.nodes.bytes()
    }
}

fn allocated<T>(name: &str, values: &Vec<T>) -> usize {
    const OVERHEAD: usize = 16;
    name.len() + values.capacity() * size_of::<T>() + 2 * OVERHEAD
}

fn take<T: PartialEq>(values: &mut Vec<T>, value: &T) -> bool {
    let place = values.iter().position(|known| known == value);
    place.map(|place| values.swap_remove(place)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::matches;

    fn covering(patterns: &Patterns<usize>, event_type: &str) -> Vec<usize> {
        let mut found = Vec::new();
        patterns.covering(event_type, |value| found.push(value));
        found.sort_unstable();
        found
    }

    #[test]
    fn agrees_with_asking_every_pattern_while_they_come_and_go() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut text = |words: &[&'static str]| -> String {
            let segments: Vec<_> =
                (0..random.usize(1..6)).map(|_| words[random.usize(..words.len())]).collect();
            segments.join(".")
        };
        for _ in 0..200 {
            let mut patterns = Patterns::default();
            let mut known: Vec<(usize, String)> = Vec::new();
            for value in 0..60 {
                let pattern = text(&["a", "b", "*", "**", "a*"]);
                patterns.insert(&pattern, value);
                known.push((value, pattern));
                if value % 3 == 2 {
                    let (gone, pattern) = known.swap_remove(value / 3);
                    assert!(patterns.remove(&pattern, gone));
                    assert!(!patterns.remove(&pattern, gone));
                }
                let event_type = text(&["a", "b", "c", "*", "a*"]);
                let mut expect: Vec<usize> = known
                    .iter()
                    .filter(|(_, pattern)| matches(pattern, &event_type))
                    .map(|(value, _)| *value)
                    .collect();
                expect.sort_unstable();
                assert_eq!(covering(&patterns, &event_type), expect, "{event_type} {known:?}");
            }
            for (value, pattern) in known {
                assert!(patterns.remove(&pattern, value));
            }
            assert!(patterns.exact.is_empty() && patterns.nodes.at(patterns.root).is_bare());
        }
    }

    #[test]
    fn many_double_stars_do_not_multiply() {
        let mut patterns = Patterns::default();
        let pattern = ["**"; 80].join(".");
        patterns.insert(&pattern, 1);
        assert_eq!(covering(&patterns, &["a"; 120].join(".")), [1]);
        assert!(covering(&patterns, &["a"; 79].join(".")).is_empty());
    }
}
