//! How something failed.

use abide::{Failure, Json};
use serde::Serialize;
use utoipa::ToSchema;

/// `{code, message, details, step?}`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct FailureView {
    /// A code of the contract, or the workflow's own.
    code: String,
    /// What went wrong, for a person.
    message: String,
    /// What a program may want to know.
    #[schema(value_type = Value)]
    details: Option<Json>,
    /// The step it happened in.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
}

impl From<Failure> for FailureView {
    fn from(failure: Failure) -> Self {
        let Failure { code, message, details, step } = failure;
        Self { code: code.into_owned(), message, details, step }
    }
}
