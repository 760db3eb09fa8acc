//! Answers that stand in for the functions of steps, so that a workflow can be tested without what
//! its steps call.

use crate::error::BoxError;
use crate::id::InstanceId;
use crate::json::Json;

/// An attempt of a step whose record is durable and whose function is about to be called.
#[derive(Clone, Copy, Debug)]
pub struct StepCall<'a> {
    /// The instance.
    pub instance: &'a InstanceId,
    /// Its workflow.
    pub workflow: &'a str,
    /// Its run.
    pub run: u32,
    /// The step, with scope and number: `item[3].charge#2`.
    pub step: &'a str,
    /// Which attempt, from 1. An attempt that a crash interrupted counts.
    pub attempt: u32,
}

/// Looks at every attempt of every step; what it answers takes the place of the step's function.
pub(crate) type Replace = dyn Fn(&StepCall<'_>) -> Option<Result<Json, BoxError>> + Send + Sync;
