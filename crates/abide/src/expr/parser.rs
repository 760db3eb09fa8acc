//! Reads an expression: precedence climbing over the operators, descent for the rest.
//!
//! Both the nesting of the text and the height of the tree are bounded, so nothing that walks a
//! tree can run out of stack.

use super::error::SyntaxError;
use super::function::{Function, Method};
use super::lexer::{Lexer, Token};
use super::number::Number;
use super::path::{Path, Segment};
use super::tree::{At, Binary, Logic, Node, Strength, Unary};
use super::value::Value;

/// How much an expression may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) bytes: usize,
    /// Levels of the tree.
    pub(crate) height: usize,
    /// Operators and brackets that are open at once. Each costs stack, several KiB in a debug
    /// build, and a thread may have only 2 MiB.
    pub(crate) nesting: usize,
}

/// Of an expression that somebody writes.
pub(crate) const SOURCE: Limits = Limits { bytes: 16 * 1024, height: 64, nesting: 64 };

/// How deep a constant may be nested that folding puts into a filter.
pub(crate) const CONSTANT_DEPTH: usize = 16;

/// Of a folded expression, into which the context's values were written. Printing may open a few
/// parentheses more than were written.
pub(crate) const FOLDED: Limits = Limits {
    bytes: 1024 * 1024,
    height: SOURCE.height + CONSTANT_DEPTH,
    nesting: SOURCE.nesting + CONSTANT_DEPTH + 8,
};

/// Words that mean something else in JavaScript, or in other languages.
const FOREIGN_WORDS: [(&str, &str); 17] = [
    ("and", "write &&"),
    ("or", "write ||"),
    ("not", "write !"),
    ("is", "write ==="),
    ("None", "write null"),
    ("nil", "write null"),
    ("True", "write true"),
    ("False", "write false"),
    ("new", "nothing can be created"),
    ("function", "write an arrow function in some(..) or every(..)"),
    ("this", "write event, workflow, input or steps"),
    ("instanceof", "write typeof x === 'string'"),
    ("void", "write undefined"),
    ("delete", "nothing can be changed"),
    ("let", "write one expression"),
    ("const", "write one expression"),
    ("return", "write one expression"),
];

/// Reads a whole text as one expression.
pub(crate) fn parse(source: &str, limits: Limits) -> Result<Node, SyntaxError> {
    if source.len() > limits.bytes {
        let message = format!("the expression has {} bytes", source.len());
        return Err(SyntaxError::new(source, limits.bytes, message)
            .with_hint(format!("at most {} are allowed", limits.bytes)));
    }
    let mut parser = Parser::new(source, 0, limits)?;
    if parser.token == Token::End {
        return Err(SyntaxError::new(source, 0, "the expression is empty"));
    }
    let node = parser.expression()?;
    if parser.token == Token::End { Ok(node) } else { Err(parser.unexpected("an operator")) }
}

/// Reads an expression inside a longer text, up to its `}`; also returns where that ends.
pub(crate) fn parse_embedded(source: &str, start: usize) -> Result<(Node, usize), SyntaxError> {
    let mut parser = Parser::new(source, start, SOURCE)?;
    let node = parser.expression()?;
    if parser.token != Token::Symbol("}") {
        return Err(parser.unexpected("`}`"));
    }
    if parser.start - start > SOURCE.bytes {
        let message = "an expression is too long";
        return Err(SyntaxError::new(source, start, message)
            .with_hint(format!("at most {} bytes are allowed", SOURCE.bytes)));
    }
    Ok((node, parser.lexer.position()))
}

pub(super) struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    pub(super) token: Token<'s>,
    /// Where the token starts.
    pub(super) start: usize,
    /// Operators and brackets that are open right now.
    nesting: usize,
    /// Parameters of the arrow functions around.
    pub(super) locals: Vec<&'s str>,
    limits: Limits,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, start: usize, limits: Limits) -> Result<Self, SyntaxError> {
        let mut lexer = Lexer::new(source, start);
        let (token, start) = lexer.next()?;
        Ok(Self { source, lexer, token, start, nesting: 0, locals: Vec::new(), limits })
    }

    pub(super) fn advance(&mut self) -> Result<Token<'s>, SyntaxError> {
        let (token, start) = self.lexer.next()?;
        self.start = start;
        Ok(std::mem::replace(&mut self.token, token))
    }

    pub(super) fn at(&self, symbol: &'static str) -> bool {
        self.token == Token::Symbol(symbol)
    }

    /// Takes the symbol if it is there.
    pub(super) fn take(&mut self, symbol: &'static str) -> Result<bool, SyntaxError> {
        let there = self.at(symbol);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    pub(super) fn expect(&mut self, symbol: &'static str) -> Result<(), SyntaxError> {
        if self.take(symbol)? { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    pub(super) fn fail(&self, offset: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.source, offset, message)
    }

    pub(super) fn unexpected(&self, wanted: &str) -> SyntaxError {
        let hint = format!("expected {wanted}");
        match &self.token {
            Token::End => self.fail(self.start, "the expression ends too early").with_hint(hint),
            Token::Name(name) => {
                let word = FOREIGN_WORDS.iter().find(|(word, _)| word == name);
                let hint = word.map_or(hint, |(_, hint)| (*hint).to_owned());
                self.fail(self.start, format!("unexpected `{name}`")).with_hint(hint)
            }
            Token::Symbol("=>") => self
                .fail(self.start, "an arrow function stands alone")
                .with_hint("it can only be the argument of some(..) or every(..)"),
            Token::Symbol(symbol) => {
                self.fail(self.start, format!("unexpected `{symbol}`")).with_hint(hint)
            }
            Token::Number(number) => {
                self.fail(self.start, format!("unexpected number {number}")).with_hint(hint)
            }
            Token::String(_) => self.fail(self.start, "unexpected string").with_hint(hint),
        }
    }

    fn enter(&mut self) -> Result<(), SyntaxError> {
        self.nesting += 1;
        if self.nesting > self.limits.nesting { Err(self.too_deep()) } else { Ok(()) }
    }

    fn too_deep(&self) -> SyntaxError {
        self.fail(self.start, "the expression is nested too deeply")
            .with_hint(format!("at most {} levels are allowed", self.limits.height))
    }

    fn bounded(&self, node: Node) -> Result<Node, SyntaxError> {
        if node.height() > self.limits.height { Err(self.too_deep()) } else { Ok(node) }
    }

    pub(super) fn expression(&mut self) -> Result<Node, SyntaxError> {
        let test = self.binary(Strength::Coalesce)?;
        if !self.take("?")? {
            return Ok(test);
        }
        self.enter()?;
        let then = self.expression()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        self.nesting -= 1;
        self.bounded(Node::Conditional {
            test: Box::new(test),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        })
    }

    fn binary(&mut self, weakest: Strength) -> Result<Node, SyntaxError> {
        self.enter()?;
        let mut left = self.unary()?;
        let mut mixed: Option<Logic> = None;
        loop {
            let at = self.start;
            let symbol = match &self.token {
                Token::Symbol(symbol) => *symbol,
                Token::Name("in") => "in",
                _ => break,
            };
            if let Some(operator) = Logic::from_symbol(symbol) {
                if operator.strength() < weakest {
                    break;
                }
                self.refuse_mixing(mixed, operator)?;
                mixed = Some(operator);
                self.advance()?;
                left = self.logic(operator, left)?;
            } else if let Some(operator) = Binary::from_symbol(symbol) {
                if operator.strength() < weakest {
                    break;
                }
                self.advance()?;
                let strength = operator.strength();
                let to_the_right = operator == Binary::Power;
                let right = self.binary(if to_the_right { strength } else { strength.above() })?;
                left = Node::binary(operator, left, right, At(at as u32));
            } else {
                break;
            }
            left = self.bounded(left)?;
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// All operands of a row of the same operator, the first being there already.
    fn logic(&mut self, operator: Logic, first: Node) -> Result<Node, SyntaxError> {
        // `??` takes neither `&&` nor `||` as a bare operand.
        let needed = match operator {
            Logic::Coalesce => Strength::Equality,
            _ => operator.strength().above(),
        };
        let mut operands = vec![first, self.binary(needed)?];
        while self.take(operator.symbol())? {
            operands.push(self.binary(needed)?);
        }
        Ok(Node::logic(operator, operands))
    }

    fn refuse_mixing(&self, before: Option<Logic>, now: Logic) -> Result<(), SyntaxError> {
        let coalesce = |logic: Logic| logic == Logic::Coalesce;
        match before {
            Some(before) if coalesce(before) != coalesce(now) => {
                let (a, b) = (before.symbol(), now.symbol());
                Err(self
                    .fail(self.start, format!("`{a}` and `{b}` are mixed"))
                    .with_hint("say by parentheses which comes first"))
            }
            _ => Ok(()),
        }
    }

    fn unary(&mut self) -> Result<Node, SyntaxError> {
        let operator = match &self.token {
            Token::Symbol("!") => Unary::Not,
            Token::Symbol("-") => Unary::Negate,
            Token::Symbol("+") => Unary::Plus,
            Token::Name("typeof") => Unary::Typeof,
            _ => return self.links(),
        };
        self.advance()?;
        self.enter()?;
        let operand = self.unary()?;
        self.nesting -= 1;
        if self.at("**") {
            return Err(self
                .fail(self.start, "`**` after a sign is ambiguous")
                .with_hint("write (-x) ** y or -(x ** y)"));
        }
        self.bounded(Node::unary(operator, operand))
    }

    pub(super) fn primary(&mut self) -> Result<Node, SyntaxError> {
        match &self.token {
            Token::Name(_) => self.name(),
            Token::Number(_) | Token::String(_) => Ok(Node::Const(match self.advance()? {
                Token::Number(number) => Value::Number(number),
                Token::String(text) => Value::text(text),
                _ => Value::Undefined,
            })),
            Token::Symbol("(") => {
                self.advance()?;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Symbol("[") => {
                self.advance()?;
                let items = self.list("]")?;
                self.bounded(Node::array(items))
            }
            Token::Symbol("{") => {
                self.advance()?;
                self.object()
            }
            _ => Err(self.unexpected("a value")),
        }
    }

    /// Expressions up to a closing symbol; a comma may follow the last.
    pub(super) fn list(&mut self, close: &'static str) -> Result<Vec<Node>, SyntaxError> {
        let mut items = Vec::new();
        while !self.take(close)? {
            items.push(self.expression()?);
            if !self.at(close) {
                self.expect(",")?;
            }
        }
        Ok(items)
    }

    fn object(&mut self) -> Result<Node, SyntaxError> {
        let mut fields: Vec<(Box<str>, Node)> = Vec::new();
        while !self.take("}")? {
            let name: Box<str> = match &self.token {
                Token::Name(name) => (*name).into(),
                Token::String(text) => text.as_str().into(),
                Token::Number(number) => number.to_string().into(),
                _ => return Err(self.unexpected("a field name")),
            };
            self.advance()?;
            self.expect(":")?;
            let value = self.expression()?;
            fields.push((name, value));
            if !self.at("}") {
                self.expect(",")?;
            }
        }
        self.bounded(Node::object(fields))
    }

    fn name(&mut self) -> Result<Node, SyntaxError> {
        let at = self.start;
        let Token::Name(name) = self.token else { return Err(self.unexpected("a name")) };
        let constant = match name {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            "undefined" => Some(Value::Undefined),
            "NaN" => Some(Value::Number(Number::NAN)),
            "Infinity" => Some(Value::Number(f64::INFINITY.into())),
            _ => None,
        };
        if let Some(constant) = constant {
            self.advance()?;
            return Ok(Node::Const(constant));
        }
        if let Some(slot) = self.locals.iter().rposition(|local| *local == name) {
            self.advance()?;
            return Ok(Node::Local { name: name.into(), slot });
        }
        if name == "in" || FOREIGN_WORDS.iter().any(|(word, _)| *word == name) {
            return Err(self.unexpected("a value"));
        }
        self.advance()?;
        if Function::is_namespace(name) || self.at("(") {
            return self.function(name, at);
        }
        Ok(Node::Path { path: Path::new(name, Vec::new()), at: At(at as u32) })
    }

    /// `Number(..)` or `Math.max(..)`, the first name being taken.
    fn function(&mut self, name: &str, at: usize) -> Result<Node, SyntaxError> {
        let mut full = name.to_owned();
        if self.take(".")? {
            let Token::Name(part) = self.token else { return Err(self.unexpected("a function")) };
            self.advance()?;
            full = format!("{name}.{part}");
        }
        let Some(function) = Function::named(&full) else {
            let message = format!("there is no function {full}");
            return Err(self.fail(at, message).with_hint(Function::hint(&full)));
        };
        self.expect("(")?;
        let arguments = self.list(")")?;
        match function.arity() {
            Some(arity) if arity != arguments.len() => {
                let plural = if arity == 1 { "" } else { "s" };
                Err(self.fail(at, format!("{full} takes {arity} argument{plural}")))
            }
            _ => self.bounded(Node::function(function, arguments)),
        }
    }

    pub(super) fn segment(&mut self) -> Result<Option<&'s str>, SyntaxError> {
        match self.token {
            Token::Name(name) => {
                self.advance()?;
                Ok(Some(name))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn method(&self, name: &str, at: usize) -> Result<Method, SyntaxError> {
        Method::named(name).ok_or_else(|| {
            self.fail(at, format!("there is no method {name}")).with_hint(Method::hint(name))
        })
    }

    /// The links after a value: `.name`, `[index]`, `.method(..)` and their `?.` forms.
    fn links(&mut self) -> Result<Node, SyntaxError> {
        let mut node = self.primary()?;
        let mut count = 0;
        loop {
            let optional = self.at("?.");
            let plain = self.at(".");
            if !(optional || plain || self.at("[")) {
                break;
            }
            count += 1;
            if count > self.limits.height {
                return Err(self.too_deep());
            }
            if optional || plain {
                self.advance()?;
            }
            node = if !plain && self.take("[")? {
                let index = self.expression()?;
                self.expect("]")?;
                Node::index(node, index, optional)
            } else {
                self.named_link(node, optional)?
            };
        }
        if count == 0 { Ok(node) } else { self.bounded(Node::chain(node)) }
    }

    fn named_link(&mut self, object: Node, optional: bool) -> Result<Node, SyntaxError> {
        let at = self.start;
        let Some(name) = self.segment()? else { return Err(self.unexpected("a field name")) };
        if !self.at("(") {
            return Ok(Node::member(object, Segment::new(name), optional));
        }
        let method = self.method(name, at)?;
        self.call(object, method, optional, at)
    }
}
