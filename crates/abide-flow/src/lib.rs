//! Workflows as documents: YAML or JSON, read, checked and run by one interpreter that is itself an
//! ordinary workflow.
//!
//! ```text
//!   text ──parse──▶ Tree (with positions) ──read + check──▶ Flow ──interpret──▶ steps of a Cx
//! ```

mod action;
mod equipment;
mod field;
mod flow;
mod interpret;

pub use action::Actions;
pub use equipment::Equipment;

pub use field::{Field, Unresolved};
pub use flow::{
    Branch, Call, Case, Defaults, Emit, EventTaken, Fail, Flow, ForEach, GetOutput, Http, Kind,
    Mapped, Publish, Receive, RetryRule, Send, SendEvent, SetOutput, StartChild, Step, Tool,
    WaitForEvent, WaitForSignal,
};
