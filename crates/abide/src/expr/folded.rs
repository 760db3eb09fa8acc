//! A filter with the context written into it: what a wait stores, and what an index looks up.

use std::fmt;

use super::error::{SyntaxError, Warning};
use super::key::Key;
use super::path::Path;
use super::{Expr, keys, parser};

/// A folded filter. It prints as text that [`Folded::parse`] reads back.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    expr: Expr,
    warnings: Vec<Warning>,
}

/// One way for a filter to match: all keys are equal and the residue holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// Paths and the keys they must have; [`Path::key`] gives those of an event. No path twice.
    pub equalities: Vec<(Path, Key)>,
    /// What is left to be evaluated when the keys are equal.
    pub residue: Option<Expr>,
}

impl Folded {
    pub(super) fn new(expr: Expr, warnings: Vec<Warning>) -> Self {
        Self { expr, warnings }
    }

    /// Reads a folded filter back. It may be longer than one that somebody writes.
    ///
    /// # Errors
    /// When the text is not an expression.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let node = parser::parse(text, parser::FOLDED)?;
        Ok(Self::new(Expr::new(node, Some(text)), Vec::new()))
    }

    /// What remains to be evaluated.
    #[must_use]
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// What was noticed when folding: known operands that are missing. Not stored.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The alternatives of the filter.
    ///
    /// An event matches when it satisfies one of them; it may satisfy several. None at all: the
    /// filter never matches. Either every alternative has an equality, so the filter can be
    /// indexed, or there is a single one without, and the filter has to be scanned. With no
    /// residue either, everything matches.
    #[must_use]
    pub fn keys(&self) -> Vec<Alternative> {
        keys::alternatives(&self.expr.node)
    }
}

impl fmt::Display for Folded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
