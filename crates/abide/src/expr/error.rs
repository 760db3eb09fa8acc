//! What can be wrong with an expression: its text, its names, or the data it meets.

use std::fmt;

use super::function::Method;
use super::value::Kind;

/// A place in a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// In bytes from the beginning.
    pub offset: usize,
    /// From 1.
    pub line: usize,
    /// In characters from 1.
    pub column: usize,
}

impl Position {
    pub(crate) fn of(source: &str, offset: usize) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            offset: before.len(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A text that is not an expression, or names something that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub position: Position,
    /// What would be right, when there is a guess.
    pub hint: Option<String>,
}

impl SyntaxError {
    pub(crate) fn new(source: &str, offset: usize, message: impl Into<String>) -> Self {
        Self { message: message.into(), position: Position::of(source, offset), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.message, self.position)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for SyntaxError {}

/// Something that is allowed and probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What was noticed.
    pub message: String,
    /// Where in the text it was noticed.
    pub position: Position,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.message, self.position)
    }
}

/// Why an expression has no value on this data. A filter that errs does not match.
///
/// Messages name expressions and kinds, never values, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The value at hand has no such method.
    #[error("{text} is {kind} and has no method {method}{}", optional_hint(*.kind, text, *.method))]
    NoMethod {
        /// The expression before the method.
        text: Box<str>,
        /// The method that was called.
        method: Method,
        /// What the expression yielded.
        kind: Kind,
    },
    /// `in` needs an object on its right.
    #[error("{text} is {kind}, and `in` needs an object; for membership write [..].includes(..)")]
    NotAnObject {
        /// The expression on the right.
        text: Box<str>,
        /// What it yielded.
        kind: Kind,
    },
    /// A name that has no value in this place.
    #[error("{root} is not known here")]
    UnknownRoot {
        /// The name.
        root: Box<str>,
    },
    /// The data is too large for this expression.
    #[error("too much work: the expression needs more than {limit} steps on this data")]
    TooMuchWork {
        /// The number of steps that were allowed.
        limit: u32,
    },
    /// The data is nested too deeply to be compared or turned into text.
    #[error("a value nested deeper than {limit} can't be compared or turned into text")]
    TooDeep {
        /// The depth that is allowed.
        limit: usize,
    },
}

fn optional_hint(kind: Kind, text: &str, method: Method) -> String {
    match kind {
        Kind::Undefined | Kind::Null => format!("; write {text}?.{method}(..) to allow it"),
        _ => String::new(),
    }
}

/// Why an expression can't be folded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// A known value is used whole and is too large to be stored in a filter.
    #[error("{text} is too large to be kept in a filter: more than {limit} bytes")]
    TooLarge {
        /// The expression.
        text: Box<str>,
        /// The number of bytes allowed.
        limit: usize,
    },
    /// A known value is used whole and is nested too deeply to be stored in a filter.
    #[error("{text} is nested deeper than {limit} and can't be kept in a filter")]
    TooDeep {
        /// The expression.
        text: Box<str>,
        /// The depth allowed.
        limit: usize,
    },
}
