//! Paths into the roots: `event.payload.orderId`, in one spelling however it was written.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::error::SyntaxError;
use super::key::Key;
use super::lexer::is_plain_name;
use super::parser;
use super::print::write_string;
use super::scope::Scope;
use super::tree::Node;
use super::value::Value;

/// A path from a root. Cloning it copies a pointer.
///
/// `event.items[0]`, `event["items"]["0"]` and `event?.items?.[0]` are one path. It prints as
/// source text and reads back from it, so it can name a column or a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Arc<Parts>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Parts {
    root: Box<str>,
    segments: Box<[Segment]>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment {
    name: Box<str>,
    /// The name as a position, parsed once: arrays are asked by position, objects by name.
    index: Option<usize>,
}

impl Segment {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into(), index: parse_index(name) }
    }

    /// The name of the field, or the digits of the position.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The position in an array, if it can be one.
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        self.index
    }
}

/// A position as JavaScript spells it: no sign, no leading zero.
fn parse_index(name: &str) -> Option<usize> {
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || name.len() > 10 || (name.len() > 1 && name.starts_with('0')) {
        return None;
    }
    name.parse().ok()
}

impl Path {
    pub(crate) fn new(root: &str, segments: Vec<Segment>) -> Self {
        Self(Arc::new(Parts { root: root.into(), segments: segments.into() }))
    }

    pub(crate) fn join(&self, segment: Segment) -> Self {
        let mut segments = self.0.segments.to_vec();
        segments.push(segment);
        Self::new(&self.0.root, segments)
    }

    /// The name it starts from, such as `event`.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.0.root
    }

    /// The steps below the root.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0.segments
    }

    /// What is there, exactly as an expression would see it. `None` when the root is not known.
    #[inline]
    pub fn find<'a>(&self, scope: &'a impl Scope) -> Option<Value<'a>> {
        let root = scope.root(&self.0.root)?;
        Some(root.descend(&self.0.segments))
    }

    /// The key of what is there, to be looked up among the keys of filters.
    pub fn key(&self, scope: &impl Scope) -> Option<Key> {
        Key::of(&self.find(scope)?)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain_name(&self.name) {
            write!(f, ".{}", self.name)
        } else if let Some(index) = self.index {
            write!(f, "[{index}]")
        } else {
            f.write_str("[")?;
            write_string(f, &self.name)?;
            f.write_str("]")
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.root)?;
        self.0.segments.iter().try_for_each(|segment| write!(f, "{segment}"))
    }
}

impl FromStr for Path {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        match parser::parse(text, parser::SOURCE)? {
            Node::Path { path, .. } => Ok(path),
            _ => Err(SyntaxError::new(text, 0, format!("{text:?} is not a path"))
                .with_hint("write a path such as event.payload.orderId")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_has_one_spelling() {
        let check = |text: &str, expect: &str| {
            let path: Path = text.parse().unwrap();
            assert_eq!(path.to_string(), expect);
            assert_eq!(expect.parse::<Path>().unwrap(), path);
        };
        check("event", "event");
        check("event.payload.orderId", "event.payload.orderId");
        check("event?.payload?.['orderId']", "event.payload.orderId");
        check("event.items['0']", "event.items[0]");
        check("event.items[1e0].a", "event.items[1].a");
        check("event['a.b']['01']", r#"event["a.b"]["01"]"#);
        check("event['é\"']", r#"event["é\""]"#);
        check("event.in.typeof", "event.in.typeof");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        assert!("event.a + 1".parse::<Path>().is_err());
        assert!("'text'".parse::<Path>().is_err());
        assert!("event[event.a]".parse::<Path>().is_err());
    }
}
