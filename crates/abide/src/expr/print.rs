//! Prints a tree as source text that parses to the same tree.

use std::fmt::{self, Write};

use super::path::Path;
use super::tree::{Binary, Logic, Node, Strength, Unary};
use super::value::Value;

/// Says what to print in place of a path, when something should be.
pub(crate) type Substitute<'p> = &'p dyn Fn(&Path) -> Option<String>;

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { out: f, substitute: &|_| None };
        printer.node(self, Strength::Conditional)
    }
}

impl Node {
    /// The text with paths replaced.
    pub(crate) fn print_with(&self, substitute: Substitute<'_>) -> String {
        let mut text = String::new();
        let mut printer = Printer { out: &mut text, substitute };
        // Writing to a string does not fail.
        let _ = printer.node(self, Strength::Conditional);
        text
    }

    fn strength(&self) -> Strength {
        match self {
            Self::Const(Value::Number(number)) if number.is_negative() => Strength::Unary,
            // `5.trim` would be read as a fraction.
            Self::Const(Value::Number(_)) => Strength::Unary,
            Self::Member { .. } | Self::Index { .. } | Self::Call { .. } => Strength::Link,
            Self::Quantify { .. } => Strength::Link,
            Self::Chain(_) => Strength::Link,
            Self::Unary { .. } => Strength::Unary,
            Self::Binary { operator, .. } => operator.strength(),
            Self::Logic { operator, .. } => operator.strength(),
            Self::Conditional { .. } => Strength::Conditional,
            Self::Const(_) | Self::Path { .. } | Self::Local { .. } => Strength::Primary,
            Self::Array(_) | Self::Object(_) | Self::Function { .. } => Strength::Primary,
        }
    }
}

struct Printer<'p, W> {
    out: &'p mut W,
    substitute: Substitute<'p>,
}

impl<W: Write> Printer<'_, W> {
    /// Prints a part, in parentheses when it binds more weakly than its place needs.
    fn node(&mut self, node: &Node, needed: Strength) -> fmt::Result {
        if node.strength() >= needed {
            return self.bare(node);
        }
        self.out.write_char('(')?;
        self.bare(node)?;
        self.out.write_char(')')
    }

    fn bare(&mut self, node: &Node) -> fmt::Result {
        match node {
            Node::Const(value) => write_value(self.out, value),
            Node::Path { path, .. } => match (self.substitute)(path) {
                Some(text) => self.out.write_str(&text),
                None => write!(self.out, "{path}"),
            },
            Node::Local { name, .. } => self.out.write_str(name),
            Node::Array(items) => {
                self.out.write_char('[')?;
                self.list(items)?;
                self.out.write_char(']')
            }
            Node::Object(fields) => self.object(fields),
            Node::Chain(inner) => self.bare(inner),
            Node::Function { function, arguments } => {
                write!(self.out, "{function}(")?;
                self.list(arguments)?;
                self.out.write_char(')')
            }
            Node::Unary { operator, operand } => self.unary(*operator, operand),
            Node::Binary { operator, left, right, .. } => self.binary(*operator, left, right),
            Node::Logic { operator, operands } => self.logic(*operator, operands),
            Node::Conditional { test, then, otherwise } => {
                self.node(test, Strength::Coalesce)?;
                self.out.write_str(" ? ")?;
                self.node(then, Strength::Conditional)?;
                self.out.write_str(" : ")?;
                self.node(otherwise, Strength::Conditional)
            }
            link => self.link(link),
        }
    }

    fn link(&mut self, link: &Node) -> fmt::Result {
        match link {
            Node::Member { object, segment, optional } => {
                self.before_link(object)?;
                let text = segment.to_string();
                let dot = if text.starts_with('[') { "?." } else { "?" };
                self.out.write_str(if *optional { dot } else { "" })?;
                self.out.write_str(&text)
            }
            Node::Index { object, index, optional } => {
                self.before_link(object)?;
                self.out.write_str(if *optional { "?.[" } else { "[" })?;
                self.node(index, Strength::Conditional)?;
                self.out.write_char(']')
            }
            Node::Call { object, method, argument, optional } => {
                self.before_link(object)?;
                write!(self.out, "{}{method}(", if *optional { "?." } else { "." })?;
                if let Some(argument) = argument {
                    self.node(argument, Strength::Conditional)?;
                }
                self.out.write_char(')')
            }
            Node::Quantify { object, method, parameters, body, optional } => {
                self.before_link(object)?;
                let dot = if *optional { "?." } else { "." };
                match parameters.as_slice() {
                    [one] => write!(self.out, "{dot}{method}({one} => ")?,
                    many => write!(self.out, "{dot}{method}(({}) => ", many.join(", "))?,
                }
                let text = body.print_with(self.substitute);
                if text.starts_with('{') {
                    write!(self.out, "({text})")?;
                } else {
                    self.out.write_str(&text)?;
                }
                self.out.write_char(')')
            }
            _ => Ok(()),
        }
    }

    /// What a link hangs on. A finished chain in parentheses is not continued.
    fn before_link(&mut self, object: &Node) -> fmt::Result {
        match object {
            Node::Chain(_) => {
                self.out.write_char('(')?;
                self.bare(object)?;
                self.out.write_char(')')
            }
            object => self.node(object, Strength::Link),
        }
    }

    fn unary(&mut self, operator: Unary, operand: &Node) -> fmt::Result {
        self.out.write_str(operator.symbol())?;
        // `--x` would be another operator.
        let sign = match operand {
            Node::Unary { operator: inner, .. } => *inner == operator,
            Node::Const(Value::Number(_)) => true,
            _ => false,
        };
        let signed = matches!(operator, Unary::Negate | Unary::Plus) && sign;
        self.node(operand, if signed { Strength::Link } else { Strength::Unary })
    }

    fn binary(&mut self, operator: Binary, left: &Node, right: &Node) -> fmt::Result {
        let strength = operator.strength();
        let (left_needs, right_needs) = match operator {
            // To the right, and without a sign on the left.
            Binary::Power => (Strength::Link, Strength::Power),
            _ => (strength, strength.above()),
        };
        match left {
            Node::Const(Value::Number(number)) if !number.is_negative() => self.bare(left)?,
            left => self.node(left, left_needs)?,
        }
        write!(self.out, " {} ", operator.symbol())?;
        self.node(right, right_needs)
    }

    fn logic(&mut self, operator: Logic, operands: &[Node]) -> fmt::Result {
        // `??` does not mix with the others, so it needs parentheses around them.
        let needed = match operator {
            Logic::Coalesce => Strength::Equality,
            _ => operator.strength().above(),
        };
        for (place, operand) in operands.iter().enumerate() {
            if place > 0 {
                write!(self.out, " {} ", operator.symbol())?;
            }
            self.node(operand, needed)?;
        }
        Ok(())
    }

    fn list(&mut self, items: &[Node]) -> fmt::Result {
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.out.write_str(", ")?;
            }
            self.node(item, Strength::Conditional)?;
        }
        Ok(())
    }

    fn object(&mut self, fields: &[(Box<str>, Node)]) -> fmt::Result {
        self.out.write_char('{')?;
        for (place, (name, value)) in fields.iter().enumerate() {
            if place > 0 {
                self.out.write_str(", ")?;
            }
            write_string(self.out, name)?;
            self.out.write_str(": ")?;
            self.node(value, Strength::Conditional)?;
        }
        self.out.write_char('}')
    }
}

/// A value as a literal.
pub(crate) fn write_value(out: &mut impl Write, value: &Value<'_>) -> fmt::Result {
    match value {
        Value::Undefined => out.write_str("undefined"),
        Value::Null => out.write_str("null"),
        Value::Bool(bool) => write!(out, "{bool}"),
        Value::Number(number) if number.is_negative() && !number.is_truthy() => out.write_str("-0"),
        Value::Number(number) => write!(out, "{number}"),
        Value::String(text) => write_string(out, text),
        Value::Array(array) => {
            out.write_char('[')?;
            for (place, item) in array.iter().enumerate() {
                out.write_str(if place > 0 { ", " } else { "" })?;
                write_value(out, &item)?;
            }
            out.write_char(']')
        }
        Value::Object(object) => {
            out.write_char('{')?;
            for (place, (name, item)) in object.iter().enumerate() {
                out.write_str(if place > 0 { ", " } else { "" })?;
                write_string(out, &name)?;
                out.write_str(": ")?;
                write_value(out, &item)?;
            }
            out.write_char('}')
        }
    }
}

/// A text as a JSON string, which is also a JavaScript string.
pub(crate) fn write_string(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

/// A value as a literal, cut to a length that fits a message.
pub(crate) fn shorten(value: &Value<'_>) -> String {
    const LIMIT: usize = 80;
    struct Cut(String);
    impl Write for Cut {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for c in text.chars() {
                if self.0.len() > LIMIT {
                    return Err(fmt::Error);
                }
                self.0.push(c);
            }
            Ok(())
        }
    }
    let mut cut = Cut(String::new());
    match write_value(&mut cut, value) {
        Ok(()) => cut.0,
        Err(_) => format!("{}…", cut.0),
    }
}
