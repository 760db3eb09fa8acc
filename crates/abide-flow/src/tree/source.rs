//! Places in the text of a document.

use crate::problem::Position;

/// A part of the text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// How a text is written, which decides where its characters stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Without quotes, or as a block.
    Bare,
    Single,
    Double,
}

/// Where the lines of a text begin.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after).collect() }
    }

    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = floor(self.text, offset);
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or("");
        // A mark of the byte order at the beginning is no character that anybody sees.
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        Position { line, column: before.chars().count() + 1 }
    }
}

/// The nearest border of characters that is not after it.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Finds where the bytes of a value stand in the text of the document. What is written and what it means
/// differ by quotes, escapes, folding and indentation; the two are walked side by side, once for places
/// that are asked for in order.
pub(crate) struct Places<'t> {
    start: usize,
    value: &'t str,
    /// How much of the value has been walked.
    passed: usize,
    walk: Walk<'t>,
}

impl<'t> Places<'t> {
    pub(crate) fn new(text: &'t str, span: Span, style: Style, value: &'t str) -> Self {
        let raw = text.get(span.start..span.end).unwrap_or("");
        Self { start: span.start, value, passed: 0, walk: Walk::new(raw, style) }
    }

    /// Where the byte `offset` of the value stands.
    pub(crate) fn find(&mut self, offset: usize) -> usize {
        let offset = floor(self.value, offset);
        if offset < self.passed {
            (self.passed, self.walk) = (0, Walk::new(self.walk.raw, self.walk.style));
        }
        let value = self.value;
        value[self.passed..offset].chars().for_each(|c| self.walk.pass(c));
        self.passed = offset;
        if value[offset..].chars().next().is_some_and(|c| !c.is_whitespace()) {
            self.walk.skip_space();
        }
        self.start + floor(self.walk.raw, self.walk.at)
    }
}

struct Walk<'t> {
    raw: &'t str,
    at: usize,
    style: Style,
}

impl<'t> Walk<'t> {
    fn new(raw: &'t str, style: Style) -> Self {
        Self { raw, at: usize::from(style != Style::Bare && !raw.is_empty()), style }
    }

    fn next(&self) -> Option<char> {
        self.raw.get(self.at..)?.chars().next()
    }

    fn skip_space(&mut self) {
        while let Some(c) = self.next().filter(|c| c.is_whitespace()) {
            self.at += c.len_utf8();
        }
        if self.style == Style::Double && self.raw.get(self.at..).unwrap_or("").starts_with("\\\n")
        {
            self.at += 2;
            self.skip_space();
        }
    }

    /// Goes past what stands for one character of the value.
    fn pass(&mut self, c: char) {
        if !c.is_whitespace() {
            self.skip_space();
        }
        let Some(next) = self.next() else { return };
        self.at += match (self.style, next) {
            (Style::Double, '\\') => self.escape(),
            (Style::Single, '\'') => 2,
            // Space that the value has and the text has not, as after folding, is not written.
            _ if c.is_whitespace() && !next.is_whitespace() => 0,
            _ => next.len_utf8(),
        };
    }

    fn escape(&self) -> usize {
        let rest = self.raw.get(self.at..).unwrap_or("");
        let digits = match rest.as_bytes().get(1) {
            Some(b'x') => 2,
            // What is beyond the first plane is written as two in JSON.
            Some(b'u') if is_surrogate(rest) => 10,
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => 0,
        };
        2 + digits
    }
}

fn is_surrogate(escape: &str) -> bool {
    let code = escape.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    code.is_some_and(|code| (0xd800..0xdc00).contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, raw: &str, style: Style, value: &str, part: &str) -> Position {
        let start = text.find(raw).unwrap();
        let span = Span { start, end: start + raw.len() };
        let offset = value.find(part).unwrap();
        let mut places = Places::new(text, span, style, value);
        places.find(value.len());
        Lines::new(text).position(places.find(offset))
    }

    #[test]
    fn a_place_in_a_value_is_found_in_its_text() {
        let check = |text: &str, raw: &str, style, value: &str, line: usize, column: usize| {
            let expect = Position { line, column };
            assert_eq!(found(text, raw, style, value, "X"), expect, "{text}");
        };
        check("a: b X", "b X", Style::Bare, "b X", 1, 6);
        check("a: 'b''X'", "'b''X'", Style::Single, "b'X", 1, 8);
        check(r#"a: "é\n\u0041X""#, r#""é\n\u0041X""#, Style::Double, "é\nAX", 1, 14);
        check(r#"a: "\ud83d\ude00X""#, r#""\ud83d\ude00X""#, Style::Double, "😀X", 1, 17);
        check("a: b\n   c X", "b\n   c X", Style::Bare, "b c X", 2, 6);
        check("a: |\n  b\n    X\n", "b\n    X\n", Style::Bare, "b\n  X\n", 3, 5);
        check("a: >\n  b\n\n  c\n  X\n", "b\n\n  c\n  X\n", Style::Bare, "b\nc X\n", 5, 3);
        check("a: \"b \\\n  X\"", "\"b \\\n  X\"", Style::Double, "b X", 2, 3);
    }

    #[test]
    fn positions_are_lines_and_characters() {
        let lines = Lines::new("\u{feff}ab\né x\n");
        assert_eq!(lines.position(3), Position { line: 1, column: 1 });
        assert_eq!(lines.position(9), Position { line: 2, column: 3 });
        assert_eq!(lines.position(7), Position { line: 2, column: 1 }, "within a character");
        assert_eq!(lines.position(99), Position { line: 3, column: 1 });
    }
}
