//! What can be wrong with an event that somebody sends.

use crate::error::Error;

/// Why something is not an event. Nothing was stored; do not send it again as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The body can't be read at all.
    #[error("the body is not a JSON {expected}: {reason}")]
    NotJson {
        /// What it should be: object or array.
        expected: &'static str,
        /// What is wrong, and where.
        reason: String,
    },
    /// A required attribute is not there.
    #[error("{attribute} is missing")]
    Missing {
        /// Its name.
        attribute: &'static str,
    },
    /// An attribute is not acceptable.
    #[error("{attribute} {reason}")]
    Invalid {
        /// Its name.
        attribute: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// One event of a batch is wrong, so none is taken.
    #[error("event {place} of the batch: {error}")]
    InBatch {
        /// Which one, from 0.
        place: usize,
        /// What is wrong with it.
        error: Box<Malformed>,
    },
}

impl Malformed {
    pub(crate) fn invalid(attribute: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { attribute: attribute.into(), reason: reason.into() }
    }

    /// The attribute that is wrong, if it is one.
    #[must_use]
    pub fn attribute(&self) -> Option<&str> {
        match self {
            Self::NotJson { .. } => None,
            Self::Missing { attribute } => Some(attribute),
            Self::Invalid { attribute, .. } => Some(attribute),
            Self::InBatch { error, .. } => error.attribute(),
        }
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Self::Invalid { what: "event".into(), message: malformed.to_string() }
    }
}
