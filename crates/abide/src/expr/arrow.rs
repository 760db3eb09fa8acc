//! The calls of methods, and the arrow functions that only `some` and `every` take.

use super::error::SyntaxError;
use super::function::{Function, Method};
use super::lexer::Token;
use super::parser::Parser;
use super::tree::Node;

/// Names that can't be those of parameters.
const RESERVED: [&str; 8] =
    ["true", "false", "null", "undefined", "NaN", "Infinity", "typeof", "in"];

impl<'s> Parser<'s> {
    /// A call, from its opening parenthesis.
    pub(super) fn call(
        &mut self,
        object: Node,
        method: Method,
        optional: bool,
        at: usize,
    ) -> Result<Node, SyntaxError> {
        self.expect("(")?;
        let object = Box::new(object);
        if method.takes_arrow() {
            let (parameters, body) = self.arrow(method)?;
            let body = Box::new(body);
            return Ok(Node::Quantify { object, method, parameters, body, optional });
        }
        let mut arguments = self.list(")")?;
        if arguments.len() != usize::from(method.takes_argument()) {
            let wanted = if method.takes_argument() { "one argument" } else { "no arguments" };
            return Err(self.fail(at, format!("{method} takes {wanted}")));
        }
        let argument = arguments.pop().map(Box::new);
        Ok(Node::Call { object, method, argument, optional })
    }

    /// `x => test)` or `(x, place) => test)`.
    fn arrow(&mut self, method: Method) -> Result<(Vec<Box<str>>, Node), SyntaxError> {
        let names = if self.take("(")? {
            let mut names = Vec::new();
            while !self.take(")")? {
                names.push(self.parameter(method)?);
                if !self.at(")") {
                    self.expect(",")?;
                }
            }
            names
        } else {
            vec![self.parameter(method)?]
        };
        if names.is_empty() || names.len() > 2 {
            return Err(self
                .fail(self.start, format!("{method} takes a function of one or two parameters"))
                .with_hint("the first is the item, the second its position"));
        }
        self.expect("=>")?;
        if self.at("{") {
            return Err(self
                .fail(self.start, "the body of an arrow function is a block")
                .with_hint("write an expression after =>"));
        }
        self.locals.extend(&names);
        let body = self.expression()?;
        self.locals.truncate(self.locals.len() - names.len());
        self.take(",")?;
        self.expect(")")?;
        Ok((names.into_iter().map(Box::from).collect(), body))
    }

    fn parameter(&mut self, method: Method) -> Result<&'s str, SyntaxError> {
        match self.token {
            Token::Name(name) if !RESERVED.contains(&name) && !Function::is_namespace(name) => {
                self.advance()?;
                Ok(name)
            }
            _ => Err(self
                .unexpected("a parameter")
                .with_hint(format!("write an arrow function: {method}(x => ..)"))),
        }
    }
}
