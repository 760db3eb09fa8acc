//! The tree of an expression, which is also what is evaluated.
//!
//! Every tree has one shape per meaning: paths are resolved to one node, `&&`, `||` and `??` hold
//! all their operands in one list, literals are ready values. Parser and folding both build
//! through the constructors here, so a folded tree prints to a text that parses to itself.

use super::function::{Function, Method};
use super::path::{Path, Segment};
use super::value::Value;

/// An offset in the source. Trees that differ only in offsets are equal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(pub(crate) u32);

impl PartialEq for At {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Const(Value<'static>),
    Path {
        path: Path,
        at: At,
    },
    /// A parameter of an enclosing arrow function, by its place on the stack of parameters.
    Local {
        name: Box<str>,
        slot: usize,
    },
    Array(Vec<Node>),
    Object(Vec<(Box<str>, Node)>),
    Member {
        object: Box<Node>,
        segment: Segment,
        optional: bool,
    },
    Index {
        object: Box<Node>,
        index: Box<Node>,
        optional: bool,
    },
    Call {
        object: Box<Node>,
        method: Method,
        argument: Option<Box<Node>>,
        optional: bool,
    },
    /// `some` and `every`.
    Quantify {
        object: Box<Node>,
        method: Method,
        parameters: Vec<Box<str>>,
        body: Box<Node>,
        optional: bool,
    },
    /// A whole chain with a `?.` in it: when that meets nothing, the chain is `undefined`.
    Chain(Box<Node>),
    Function {
        function: Function,
        arguments: Vec<Node>,
    },
    Unary {
        operator: Unary,
        operand: Box<Node>,
    },
    Binary {
        operator: Binary,
        left: Box<Node>,
        right: Box<Node>,
        at: At,
    },
    Logic {
        operator: Logic,
        operands: Vec<Node>,
    },
    Conditional {
        test: Box<Node>,
        then: Box<Node>,
        otherwise: Box<Node>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Negate,
    Plus,
    Typeof,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    StrictEqual,
    StrictUnequal,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// A test for a key. Membership in an array literal is a call of `includes`.
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Coalesce,
}

/// How strongly parts of the grammar bind, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    Conditional,
    Coalesce,
    Or,
    And,
    Equality,
    Relation,
    Sum,
    Product,
    Power,
    Unary,
    Link,
    Primary,
}

impl Strength {
    /// The next stronger one.
    pub(crate) fn above(self) -> Self {
        match self {
            Self::Conditional => Self::Coalesce,
            Self::Coalesce => Self::Or,
            Self::Or => Self::And,
            Self::And => Self::Equality,
            Self::Equality => Self::Relation,
            Self::Relation => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product => Self::Power,
            Self::Power => Self::Unary,
            Self::Unary => Self::Link,
            Self::Link | Self::Primary => Self::Primary,
        }
    }
}

impl Unary {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Negate => "-",
            Self::Plus => "+",
            Self::Typeof => "typeof ",
        }
    }
}

impl Binary {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::StrictEqual => "===",
            Self::StrictUnequal => "!==",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Power => "**",
        }
    }

    pub(crate) fn from_symbol(symbol: &str) -> Option<Self> {
        Some(match symbol {
            "===" => Self::StrictEqual,
            "!==" => Self::StrictUnequal,
            "==" => Self::Equal,
            "!=" => Self::Unequal,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "in" => Self::In,
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "%" => Self::Remainder,
            "**" => Self::Power,
            _ => return None,
        })
    }

    pub(crate) fn strength(self) -> Strength {
        match self {
            Self::StrictEqual | Self::StrictUnequal | Self::Equal | Self::Unequal => {
                Strength::Equality
            }
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual | Self::In => {
                Strength::Relation
            }
            Self::Add | Self::Subtract => Strength::Sum,
            Self::Multiply | Self::Divide | Self::Remainder => Strength::Product,
            Self::Power => Strength::Power,
        }
    }
}

impl Logic {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::And => "&&",
            Self::Or => "||",
            Self::Coalesce => "??",
        }
    }

    pub(crate) fn from_symbol(symbol: &str) -> Option<Self> {
        [Self::And, Self::Or, Self::Coalesce].into_iter().find(|logic| logic.symbol() == symbol)
    }

    pub(crate) fn strength(self) -> Strength {
        match self {
            Self::And => Strength::And,
            Self::Or => Strength::Or,
            Self::Coalesce => Strength::Coalesce,
        }
    }
}
