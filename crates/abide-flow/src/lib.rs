//! Workflows as documents: YAML or JSON, read, checked and run by one interpreter that is itself an
//! ordinary workflow.
//!
//! ```text
//!   text ──parse──▶ Tree (with positions) ──read + check──▶ Flow ──interpret──▶ steps of a Cx
//! ```

mod check;
mod declared;
mod field;
mod finding;
mod flow;
mod format_schema;
mod limits;
mod problem;
mod read;
#[cfg(test)]
mod reference;
mod tree;

pub use field::{Field, Unresolved};
pub use flow::{
    Branch, Call, Case, Defaults, Emit, EventTaken, Fail, Flow, ForEach, GetOutput, Http, Kind,
    Mapped, Publish, Receive, RetryRule, Send, SendEvent, Sending, SetOutput, StartChild, Step,
    Tool, WaitForEvent, WaitForSignal,
};
pub use format_schema::format_schema;
pub use limits::Limits;
pub use problem::{Position, Problem, report};
pub use read::{parse, parse_within};
