//! Cuts a source text into tokens, one at a time, so that a template stops at its `}`.

use super::error::SyntaxError;
use super::number::Number;
use super::text::is_space;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'s> {
    Number(Number),
    String(String),
    Name(&'s str),
    Symbol(&'static str),
    End,
}

/// Longest first.
const SYMBOLS: [&str; 30] = [
    "===", "!==", "**", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "=>", "<", ">", "!", "?",
    ":", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", ",", ".",
];

/// What JavaScript has and expressions do not, with what to write instead. Longest first.
const FOREIGN: [(&str, &str); 20] = [
    ("...", "there is no spread; name the items"),
    ("&&=", "an expression can't assign"),
    ("||=", "an expression can't assign"),
    ("??=", "an expression can't assign"),
    ("//", "comments are not part of an expression"),
    ("/*", "comments are not part of an expression"),
    ("<>", "write !=="),
    ("++", "an expression can't assign; write + + with a space for two signs"),
    ("--", "an expression can't assign; write - - with a space for two signs"),
    ("+=", "an expression can't assign"),
    ("-=", "an expression can't assign"),
    ("<<", "there are no bit operations"),
    (">>", "there are no bit operations"),
    ("&", "write && for and"),
    ("|", "write || for or"),
    ("=", "write === to compare"),
    ("^", "write ** for powers"),
    ("~", "there are no bit operations"),
    (";", "write one expression, without a semicolon"),
    ("`", "write 'text' + value instead of a template literal"),
];

pub(crate) struct Lexer<'s> {
    source: &'s str,
    /// Where the next token is looked for.
    position: usize,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str, position: usize) -> Self {
        Self { source, position }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.position..).unwrap_or("")
    }

    fn fail<T>(
        &self,
        offset: usize,
        message: impl Into<String>,
        hint: &str,
    ) -> Result<T, SyntaxError> {
        Err(SyntaxError::new(self.source, offset, message).with_hint(hint))
    }

    /// The next token and where it starts.
    pub(crate) fn next(&mut self) -> Result<(Token<'s>, usize), SyntaxError> {
        self.position += self.rest().len() - self.rest().trim_start_matches(is_space).len();
        let start = self.position;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok((Token::End, start)) };
        let second_is_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        let token = match first {
            '\'' | '"' => Token::String(self.string(first)?),
            '0'..='9' => Token::Number(self.number()?),
            '.' if second_is_digit => Token::Number(self.number()?),
            c if is_name_start(c) => {
                let name = &rest[..rest.find(|c| !is_name_part(c)).unwrap_or(rest.len())];
                self.position += name.len();
                Token::Name(name)
            }
            _ => Token::Symbol(self.symbol(first)?),
        };
        Ok((token, start))
    }

    fn symbol(&mut self, first: char) -> Result<&'static str, SyntaxError> {
        let rest = self.rest();
        let known = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
        let foreign = FOREIGN.iter().find(|(symbol, _)| rest.starts_with(symbol));
        let length = known.map_or(0, |symbol| symbol.len());
        if let Some((symbol, hint)) = foreign
            && symbol.len() > length
        {
            return self.fail(self.position, format!("unexpected `{symbol}`"), hint);
        }
        let Some(symbol) = known else {
            return Err(SyntaxError::new(
                self.source,
                self.position,
                format!("unexpected character {first:?}"),
            ));
        };
        // `a?.5:b` is a conditional.
        let digit = rest.as_bytes().get(2).is_some_and(u8::is_ascii_digit);
        let symbol = if *symbol == "?." && digit { "?" } else { symbol };
        self.position += symbol.len();
        Ok(symbol)
    }

    fn number(&mut self) -> Result<Number, SyntaxError> {
        let start = self.position;
        let rest = self.rest();
        let radix = match rest.as_bytes() {
            [b'0', b'x' | b'X', ..] => Some(16),
            [b'0', b'o' | b'O', ..] => Some(8),
            [b'0', b'b' | b'B', ..] => Some(2),
            _ => None,
        };
        let literal = &rest[..number_length(rest, radix.is_some())];
        self.position += literal.len();
        if self.rest().starts_with('n') {
            return self.fail(
                start,
                "there is no BigInt",
                "write the integer without n, it is exact",
            );
        }
        if self.rest().starts_with(|c: char| is_name_part(c)) {
            return self.fail(
                start,
                "a number runs into a name",
                "put a space or an operator between",
            );
        }
        if !separators_are_between_digits(literal) {
            return self.fail(start, "misplaced `_` in a number", "write _ between digits only");
        }
        let digits = literal.replace('_', "");
        let leading_zero = digits.len() > 1 && digits.starts_with('0');
        if radix.is_none() && leading_zero && digits.as_bytes()[1].is_ascii_digit() {
            return self.fail(
                start,
                "a number starts with 0",
                "write 0o17 for octal, else drop the 0",
            );
        }
        let number = match radix {
            Some(radix) => Number::from_digits(&digits[2..], radix),
            None => Some(Number::from_text(&digits)).filter(|number| !number.is_nan()),
        };
        match number {
            Some(number) => Ok(number),
            None => {
                self.fail(start, format!("`{literal}` is not a number"), "write for example 1.5e3")
            }
        }
    }

    fn string(&mut self, quote: char) -> Result<String, SyntaxError> {
        let start = self.position;
        let mut text = String::new();
        self.position += quote.len_utf8();
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else {
                return self.fail(start, "a string has no end", &format!("close it with {quote}"));
            };
            self.position += c.len_utf8();
            match c {
                c if c == quote => return Ok(text),
                '\\' => self.escape(&mut text)?,
                '\n' | '\r' => {
                    return self.fail(start, "a string does not end on its line", "write \\n");
                }
                c => text.push(c),
            }
        }
    }

    /// The part after a backslash.
    fn escape(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let start = self.position - 1;
        let mut chars = self.rest().chars();
        let Some(c) = chars.next() else { return Ok(()) };
        let digit_follows = chars.next().is_some_and(|c| c.is_ascii_digit());
        self.position += c.len_utf8();
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'v' => text.push('\u{b}'),
            '0' if !digit_follows => text.push('\0'),
            '0'..='9' => return self.fail(start, "an octal escape", "write \\x or \\u"),
            'x' => {
                let code = self.hex(start, 2)?;
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            'u' => text.push(self.unicode(start)?),
            '\r' if self.rest().starts_with('\n') => self.position += 1,
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => {}
            c => text.push(c),
        }
        Ok(())
    }

    fn unicode(&mut self, start: usize) -> Result<char, SyntaxError> {
        let code = if self.rest().starts_with('{') {
            let end = self.rest().find('}').unwrap_or(1);
            let code = u32::from_str_radix(self.rest().get(1..end).unwrap_or(""), 16).ok();
            self.position += end + 1;
            code
        } else {
            let first = self.hex(start, 4)?;
            let paired = (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u");
            if paired {
                self.position += 2;
                let second = self.hex(start, 4)?;
                let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
                low.map(|low| 0x1_0000 + ((first - 0xd800) << 10) + low)
            } else {
                Some(first)
            }
        };
        match code.and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => self.fail(start, "not a Unicode character", "half a surrogate pair is no text"),
        }
    }

    fn hex(&mut self, start: usize, digits: usize) -> Result<u32, SyntaxError> {
        let text =
            self.rest().get(..digits).filter(|text| text.bytes().all(|c| c.is_ascii_hexdigit()));
        match text.and_then(|text| u32::from_str_radix(text, 16).ok()) {
            Some(code) => {
                self.position += digits;
                Ok(code)
            }
            None => self.fail(start, "bad escape", &format!("write {digits} hexadecimal digits")),
        }
    }
}

/// How many bytes of a number literal there are, right or wrong.
fn number_length(text: &str, prefixed: bool) -> usize {
    let bytes = text.as_bytes();
    let mut length = if prefixed { 2 } else { 0 };
    let mut point = false;
    let mut exponent = false;
    while let Some(byte) = bytes.get(length) {
        match byte {
            b'0'..=b'9' | b'_' => {}
            b'a'..=b'f' | b'A'..=b'F' if prefixed => {}
            b'.' if !prefixed && !point && !exponent => point = true,
            b'e' | b'E' if !prefixed && !exponent => {
                exponent = true;
                length += usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            }
            _ => break,
        }
        length += 1;
    }
    length
}

fn separators_are_between_digits(literal: &str) -> bool {
    let bytes = literal.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let digit =
            |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_hexdigit);
        digit(at.checked_sub(1)) && digit(at.checked_add(1)) && bytes.get(..at) != Some(b"0")
    })
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_numeric()
}

/// Whether a name can follow a dot when printed.
pub(crate) fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'$')
}
