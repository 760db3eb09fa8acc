//! Text with JavaScript's view on it: white space, order and length by UTF-16 units.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

/// A text, borrowed from the data or the expression where possible.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Part of something that lives longer.
    Borrowed(&'a str),
    /// Made while evaluating.
    Shared(Arc<str>),
}

impl Text<'_> {
    /// The same text, borrowed for as long as this one.
    #[must_use]
    pub fn reborrow(&self) -> Text<'_> {
        Text::Borrowed(self)
    }

    pub(crate) fn into_owned(self) -> Text<'static> {
        match self {
            Text::Borrowed(text) => Text::Shared(text.into()),
            Text::Shared(text) => Text::Shared(text),
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Borrowed(text)
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text::Shared(text.into())
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// White space and line ends as JavaScript defines them.
pub(crate) fn is_space(c: char) -> bool {
    // U+0085 is white space to Unicode but not to JavaScript; the byte order mark is the reverse.
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Length in UTF-16 units, which is what `length` means.
pub(crate) fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// Order by UTF-16 units, which is what `<` means.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// The text at a UTF-16 position. Half of a surrogate pair is not a text; it reads as U+FFFD.
pub(crate) fn at(text: &str, index: usize) -> Option<Text<'_>> {
    if text.is_ascii() {
        return text.get(index..index.checked_add(1)?).map(Text::Borrowed);
    }
    let mut unit = 0;
    for (start, c) in text.char_indices() {
        if unit == index && c.len_utf16() == 1 {
            return text.get(start..start + c.len_utf8()).map(Text::Borrowed);
        }
        if unit + c.len_utf16() > index {
            return Some(Text::Borrowed("\u{fffd}"));
        }
        unit += c.len_utf16();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_lengths_count_utf16_units() {
        assert_eq!(length("a😀é"), 4);
        assert_eq!(at("a😀é", 3).as_deref(), Some("é"));
        assert_eq!(at("a😀é", 1).as_deref(), Some("\u{fffd}"));
        assert_eq!(at("a😀é", 4).as_deref(), None);
        assert_eq!(at("abc", usize::MAX).as_deref(), None);
    }

    #[test]
    fn order_is_by_utf16_units() {
        assert_eq!(compare("😀", "\u{ffee}"), Ordering::Less);
        assert_eq!(compare("a", "b"), Ordering::Less);
    }

    #[test]
    fn trim_knows_javascript_white_space() {
        assert_eq!(trim("\u{feff} a\u{2028}"), "a");
        assert_eq!(trim("\u{85}a"), "\u{85}a");
    }
}
