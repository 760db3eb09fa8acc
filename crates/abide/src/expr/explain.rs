//! Says which clause of a filter did not hold, and with which values.

use std::fmt;

use super::error::EvalError;
use super::eval::eval;
use super::print::shorten;
use super::scope::Scope;
use super::tree::Node;

/// One of the clauses that a filter joins by `&&`.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// As it is written: `event.payload.amount >= 100`.
    pub text: String,
    /// With the values in place of the paths: `90 >= 100`. Long values are cut.
    pub values: String,
    /// What came out.
    pub outcome: Outcome,
}

/// What came out of a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It has no value on this data.
    Failed(EvalError),
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.text)?;
        match &self.outcome {
            Outcome::True => write!(f, "{} is true", self.values),
            Outcome::False => write!(f, "{} is false", self.values),
            Outcome::Failed(error) => write!(f, "{error}"),
        }
    }
}

/// Every clause is asked, also those after one that does not hold.
pub(crate) fn explain<S: Scope>(filter: &Node, scope: &S) -> Vec<Clause> {
    let value_of = |path: &super::path::Path| path.find(scope).map(|value| shorten(&value));
    filter
        .clauses()
        .iter()
        .map(|clause| Clause {
            text: clause.to_string(),
            values: clause.print_with(&value_of),
            outcome: match eval(clause, scope) {
                Ok(value) if value.is_truthy() => Outcome::True,
                Ok(_) => Outcome::False,
                Err(error) => Outcome::Failed(error),
            },
        })
        .collect()
}
