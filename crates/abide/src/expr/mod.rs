//! The expression language of filters, conditions and templates.
//!
//! It looks like JavaScript and means what JavaScript means, but it is safe and total: no loops,
//! bounded size and work, a missing field is `undefined` and never an error. `docs/expressions.md`
//! has the grammar and every difference from JavaScript.
//!
//! ```text
//!   text ──parse──▶ Expr ──eval──▶ Value           on an event and a context
//!                     │
//!                   fold (the context is known)
//!                     ▼
//!                   Folded ──keys──▶ Alternatives   looked up by key, residue evaluated
//! ```
//!
//! Nothing here does I/O or knows about events: a [`Scope`] says what the names mean.

mod arrow;
mod build;
mod call;
mod check;
mod coerce;
mod date;
mod error;
mod eval;
mod explain;
mod fold;
mod folded;
mod function;
mod key;
mod keys;
mod lexer;
mod number;
mod parser;
mod path;
mod print;
mod scope;
mod template;
mod text;
mod tree;
mod value;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use error::{EvalError, FoldError, Position, SyntaxError, Warning};
pub use explain::{Clause, Outcome};
pub use folded::{Alternative, Folded};
pub use function::{Method, nearest};
pub use key::{Key, key_of};
pub use number::Number;
pub use path::{Path, Segment};
pub use scope::{Env, Roots, Scope, Shape};
pub use template::{Template, TemplateError};
pub use text::Text;
pub use value::{Array, Field, Kind, Object, Value};

use tree::Node;

/// An expression, ready to be evaluated. Cloning it copies a pointer.
///
/// It prints in one spelling that reads back as the same expression; two expressions are equal
/// when they are the same apart from spelling.
#[derive(Clone, Debug)]
pub struct Expr {
    node: Arc<Node>,
    /// As it was written, when somebody wrote it: positions refer to it.
    source: Option<Arc<str>>,
}

impl Expr {
    pub(crate) fn new(node: Node, source: Option<&str>) -> Self {
        Self { node: Arc::new(node), source: source.map(Arc::from) }
    }

    fn source_text(&self) -> &str {
        self.source.as_deref().unwrap_or("")
    }

    /// The text as somebody wrote it.
    #[must_use]
    pub fn written(&self) -> String {
        self.source.as_ref().map_or_else(|| self.to_string(), |source| source.to_string())
    }

    /// Reads an expression of at most 16 KiB and 64 levels.
    ///
    /// # Errors
    /// When the text is not an expression, or uses a function or method that does not exist.
    pub fn parse(source: &str) -> Result<Self, SyntaxError> {
        Ok(Self::new(parser::parse(source, parser::SOURCE)?, Some(source)))
    }

    /// Checks that every root exists, before there is data. Fields that can't be there, and
    /// comparisons that are probably not meant, are warnings.
    ///
    /// # Errors
    /// When a root does not exist; the hint names the nearest that does.
    pub fn check(&self, roots: &Roots) -> Result<Vec<Warning>, SyntaxError> {
        check::check(&self.node, self.source_text(), roots)
    }

    /// The paths that it reads, each once: what has to be loaded before it is evaluated.
    #[must_use]
    pub fn paths(&self) -> Vec<Path> {
        let mut paths: Vec<Path> =
            self.node.paths().into_iter().map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The paths that it reads, as often as they are written, each with the byte at which it begins in
    /// the text that was read. For an expression of a [`Template`] that is the whole template.
    pub fn mentions(&self) -> impl Iterator<Item = (&Path, usize)> {
        self.node.paths().into_iter().map(|(path, at)| (path, at.0 as usize))
    }

    /// Its value on this data. Nothing is copied.
    ///
    /// # Errors
    /// When a method is called on what does not have it, a root is not known, or the data is too
    /// large or too deep.
    pub fn eval<'a, S: Scope>(&'a self, scope: &'a S) -> Result<Value<'a>, EvalError> {
        eval::eval(&self.node, scope)
    }

    /// Whether it holds as a filter.
    ///
    /// # Errors
    /// As [`Expr::eval`]; a filter that errs does not match, and the error is to be reported.
    pub fn is_match<S: Scope>(&self, scope: &S) -> Result<bool, EvalError> {
        eval::holds(&self.node, scope)
    }

    /// Writes into it what the scope knows. What the scope does not know stays for later.
    ///
    /// # Errors
    /// When a known value that is used whole is too large or too deep to be kept.
    pub fn fold<S: Scope>(&self, scope: &S) -> Result<Folded, FoldError> {
        let warnings = fold::warnings(&self.node, scope, self.source_text());
        Ok(Folded::new(Self::new(fold::fold(&self.node, scope)?, None), warnings))
    }

    /// What each clause of its top-level `&&` yields, with the values it saw.
    #[must_use]
    pub fn explain<S: Scope>(&self, scope: &S) -> Vec<Clause> {
        explain::explain(&self.node, scope)
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

impl FromStr for Expr {
    type Err = SyntaxError;

    fn from_str(source: &str) -> Result<Self, SyntaxError> {
        Self::parse(source)
    }
}
